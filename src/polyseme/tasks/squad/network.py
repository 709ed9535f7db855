"""Reading comprehension: bidirectional attention flow with self-attention (Clark and Gardner, 2017).

    encode          BiGRU over the paragraph and over the question          ELMo at the output joins here
    attend          paragraph → question and question → paragraph           (Seo et al., 2017)
    self-attend     BiGRU, then each token looks at the others of the paragraph, as a residual
    point           BiGRU → where the answer starts; BiGRU → where it ends

Among all spans up to a maximum length, the answer is the one with the largest p(start) · p(end). If answers may begin
or end inside a token, two more heads predict how many characters of the first and the last token do not belong to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from polyseme.tasks.definition import TaskNetwork
from polyseme.tasks.inputs import TokenBatch, TokenInputs, TokenVectors
from polyseme.tasks.parts.attention import TrilinearSimilarity, masked_softmax
from polyseme.tasks.parts.encoders import BiGRU, VariationalDropout, start_for_relu
from polyseme.tasks.parts.paragraphs import TextBatch, text_vectors

#: An answer cuts fewer than this many characters from its first token, and from its last.
LONGEST_CUT = 24
NOT_COUNTED = -100  # target for longer cuts


@dataclass(frozen=True, slots=True)
class BidafSizes:
    """Sizes of the network, and limits on answers and paragraphs."""

    hidden: int = 90
    dropout: float = 0.2
    longest_answer: int = 17  #: most tokens in a predicted answer
    longest_paragraph: int = 400  #: most tokens in a training paragraph
    paragraphs: float = 1.0  #: share of the paragraphs to train on, each with all its questions


@dataclass(frozen=True, slots=True)
class QuestionBatch:
    """Questions and their paragraphs; a paragraph is there once, however many questions it has."""

    paragraphs: TextBatch
    questions: TokenBatch
    which: Tensor  # [B] paragraph of each question
    starts: Tensor | None  # [B] first token of the answer
    ends: Tensor | None  # [B] last token of the answer
    cuts: Tensor | None = None  # [2, B] characters cut from the first and from the last token
    letters: Tensor | None = None  # [B, N] characters of each token; None if answers are whole tokens


class Bidaf(TaskNetwork):
    """Paragraph and question → the tokens of the paragraph that answer it."""

    def __init__(self, sizes: BidafSizes, tokens: TokenInputs, *, by_character: bool = False) -> None:
        super().__init__(tokens)
        hidden = sizes.hidden
        self.longest_answer = sizes.longest_answer
        self.dropout = VariationalDropout(sizes.dropout)
        self.encoder = BiGRU(tokens.input_width, hidden)
        encoded = 2 * hidden + tokens.output_width
        self.similarity = TrilinearSimilarity(encoded)
        self.merged = nn.Linear(4 * encoded, 2 * hidden).apply(start_for_relu)
        self.reader = BiGRU(2 * hidden, hidden)
        self.self_similarity = TrilinearSimilarity(2 * hidden)
        self.self_merged = nn.Linear(6 * hidden, 2 * hidden).apply(start_for_relu)
        self.start_reader = BiGRU(2 * hidden, hidden)
        self.start = nn.Linear(2 * hidden, 1, bias=False)  # a bias would not change a softmax over the tokens
        self.end_reader = BiGRU(4 * hidden, hidden)
        self.end = nn.Linear(2 * hidden, 1, bias=False)
        heads = (nn.Linear(2 * hidden, LONGEST_CUT) for _ in range(2)) if by_character else ()
        self.cuts = nn.ModuleList(heads)  # of the first token, and of the last

    def forward(self, batch: QuestionBatch) -> Tensor:
        assert batch.starts is not None and batch.ends is not None, "a loss needs answers"
        starts, ends, read = self._point(batch)
        rows = torch.arange(len(batch.which), device=starts.device)
        loss = -(starts[rows, batch.starts] + ends[rows, batch.ends]).mean()
        if batch.cuts is None:
            return loss
        wanted = batch.cuts.masked_fill(batch.cuts >= LONGEST_CUT, NOT_COUNTED)
        logits = self._cut_logits(read, batch.starts, batch.ends)  # [2, B, LONGEST_CUT]
        each = functional.cross_entropy(
            logits.flatten(0, 1), wanted.flatten(), ignore_index=NOT_COUNTED, reduction="none"
        )  # [2 B]
        return loss + each.sum() / len(rows)

    def predict(self, batch: QuestionBatch) -> list[Any]:
        starts, ends, read = self._point(batch)
        first, last, score = best_spans(starts, ends, self.longest_answer)
        cuts: list[Any] = [None] * len(first)
        if self.cuts and batch.letters is not None:
            cut, cut_score = best_cuts(self._cut_logits(read, first, last), first, last, batch.letters)
            cuts, score = cut.tolist(), score + cut_score
        answers = zip(first.tolist(), (last + 1).tolist(), score.exp().tolist(), cuts, strict=True)
        return [
            {"span": [start, end], "share": round(share, 4)} | ({} if cut is None else {"cut": cut})
            for start, end, share, cut in answers
        ]

    def _cut_logits(self, read: tuple[Tensor, Tensor], first: Tensor, last: Tensor) -> Tensor:
        """Logits of how many characters are cut from these tokens. [2, B, LONGEST_CUT]"""
        rows = torch.arange(len(first), device=first.device)
        ends = zip(self.cuts, read, (first, last), strict=True)
        return torch.stack([head(vectors[rows, places]) for head, vectors, places in ends])

    def log_shares(self, batch: QuestionBatch) -> tuple[Tensor, Tensor]:
        """log p(start), log p(end) [B, N]; for padding, the lowest possible number."""
        starts, ends, _ = self._point(batch)
        return starts, ends

    def _point(self, batch: QuestionBatch) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
        """``log_shares``, and the encodings that start and end are predicted from, [B, N, 2 hidden] each."""
        c, q = self._encode(text_vectors(self.tokens, batch.paragraphs)), self._encode(self.tokens(batch.questions))
        c, c_mask = c[batch.which], batch.paragraphs.mask[batch.which]  # [B, N, E], [B, N]
        lengths = batch.paragraphs.lengths[batch.which]
        q_mask = batch.questions.mask
        x = torch.relu(self.merged(self._attend(c, c_mask, q, q_mask)))  # [B, N, 2 hidden]
        x = self.dropout(x + self._self_attend(self.reader(self.dropout(x), lengths), c_mask))
        s = self.start_reader(x, lengths)
        e = self.end_reader(torch.cat([s, x], dim=2), lengths)
        lowest = torch.finfo(x.dtype).min
        logits = [head(y).squeeze(2).masked_fill(~c_mask, lowest) for head, y in ((self.start, s), (self.end, e))]
        starts, ends = (torch.log_softmax(side, dim=1) for side in logits)
        return starts, ends, (s, e)

    def _encode(self, vectors: TokenVectors) -> Tensor:
        encoded = self.dropout(self.encoder(self.dropout(vectors.input), vectors.lengths))
        return torch.cat([encoded, vectors.output], dim=2)  # ELMo has its own dropout

    def _attend(self, c: Tensor, c_mask: Tensor, q: Tensor, q_mask: Tensor) -> Tensor:
        """[c; c̃; c∘c̃; c∘q̃]: the question as each token sees it, the paragraph as the question sees it. [B, N, 4E]"""
        similarity = self.similarity(c, q)  # [B, N, M]
        to_question = torch.bmm(masked_softmax(similarity, q_mask[:, None, :]), q)  # [B, N, E]
        largest = similarity.masked_fill(~q_mask[:, None, :], torch.finfo(c.dtype).min).amax(dim=2)  # [B, N]
        to_paragraph = torch.bmm(masked_softmax(largest, c_mask)[:, None, :], c)  # [B, 1, E]
        return torch.cat([c, to_question, c * to_question, c * to_paragraph], dim=2)

    def _self_attend(self, x: Tensor, mask: Tensor) -> Tensor:
        """Each token's attention to the others. [B, N, 2 hidden]"""
        x = self.dropout(x)
        others = ~torch.eye(x.shape[1], dtype=torch.bool, device=x.device)[None] & mask[:, None, :]
        read = torch.bmm(masked_softmax(self.self_similarity(x, x), others), x)
        return torch.relu(self.self_merged(torch.cat([x, read, x * read], dim=2)))


def best_cuts(logits: Tensor, first: Tensor, last: Tensor, letters: Tensor) -> tuple[Tensor, Tensor]:
    """[2, B, C], tokens [B], characters [B, N] → characters to cut [B, 2], log p [B]; one character always stays."""
    rows, counts = torch.arange(len(first), device=first.device), torch.arange(logits.shape[2], device=first.device)
    front, back = torch.log_softmax(logits, dim=2)  # [B, C] each
    room = torch.stack([letters[rows, first], letters[rows, last]])[:, :, None]  # [2, B, 1]
    front_fits, back_fits = counts < room
    within = counts[:, None] + counts[None, :] < room[0, :, :, None]  # [B, C, C]
    allowed = front_fits[:, :, None] & back_fits[:, None, :] & (within | (first != last)[:, None, None])
    sums = (front[:, :, None] + back[:, None, :]).masked_fill(~allowed, -torch.inf)
    score, place = sums.flatten(1).max(dim=1)
    return torch.stack([place // len(counts), place % len(counts)], dim=1), score


def best_spans(starts: Tensor, ends: Tensor, longest: int) -> tuple[Tensor, Tensor, Tensor]:
    """log p(start), log p(end) [B, N] → first and last token of the best span, and its log p, [B] each."""
    count = starts.shape[1]
    sums = starts[:, :, None] + ends[:, None, :]  # [B, N, N]
    allowed = torch.ones(count, count, dtype=torch.bool, device=starts.device).triu().tril(longest - 1)
    flat = sums.masked_fill(~allowed, -torch.inf).flatten(1)
    score, place = flat.max(dim=1)
    return place // count, place % count, score
