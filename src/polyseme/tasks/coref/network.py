"""Coreference by ranking spans, end to end (Lee et al., 2017).

    span           g = [h_first; h_last; Σ attention · x; width]          h = BiLSTM of the sentence, ELMo at the output
    mention        s_m(i) = FFNN(g_i); only the best spans are kept
    antecedent     s(i, j) = s_m(i) + s_m(j) + FFNN([g_i; g_j; g_i ∘ g_j; distance; speaker; genre]), and s(i, none) = 0

Training raises the total probability of a span's true antecedents, and that of being a mention (Zhang et al., 2018).
The first layer of each FFNN is applied to the parts of its input, token by token and span by span, and the results
are added up for the pairs: the same numbers with less work.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from polyseme.nn.dropout import Dropout
from polyseme.tasks.coref.candidates import candidate_spans, distance_buckets, head_vectors, keep_spans
from polyseme.tasks.definition import TaskNetwork
from polyseme.tasks.inputs import TokenInputs
from polyseme.tasks.parts.encoders import BiLSTM, VariationalDropout, start_for_relu
from polyseme.tasks.parts.paragraphs import TextBatch, join_sentences

DISTANCES = 10
#: Pairs of spans scored together: the vectors of all pairs of a long document would not fit into memory.
PAIRS_TOGETHER = 16_384


@dataclass(frozen=True, slots=True)
class CorefSizes:
    """Sizes of the network, and limits on the spans that it considers."""

    hidden: int = 200
    depth: int = 1
    scorer: int = 150  #: size of the two hidden layers of both scorers
    feature: int = 20  #: size of the vectors for width, distance, speaker and genre
    widest: int = 10  #: most tokens in a span
    kept: float = 0.4  #: spans kept per token
    antecedents: int = 250
    training_sentences: int = 50  #: longer documents are cut into pieces for training
    input_dropout: float = 0.5
    dropout: float = 0.2
    speakers: bool = True
    genres: bool = True


@dataclass(frozen=True, slots=True)
class DocumentBatch:
    """One document; positions count over all its sentences."""

    text: TextBatch  # of one text
    sentences: Tensor  # [K] lengths
    speakers: Tensor  # [N] a number for each speaker, 0 if unknown
    genre: Tensor  # [] 0 if unknown
    mentions: Tensor | None  # [M, 3] first token, last token, chain from 1


@dataclass(frozen=True, slots=True)
class Ranking:
    """The kept spans of a document, in order, and the scores of their antecedents."""

    starts: Tensor  # [M]
    lasts: Tensor  # [M]
    chains: Tensor  # [M] the true chain of each, 0 if it is not a mention or there is no gold
    scores: Tensor  # [M, 1 + A]: no antecedent, the span before, the one before that, …
    candidates: Tensor  # [S] mention scores of all candidate spans
    mentions: Tensor  # [S] whether each is a true mention


class SpanRanker(TaskNetwork):
    """Documents → chains of spans."""

    def __init__(self, sizes: CorefSizes, genres: list[str], tokens: TokenInputs) -> None:
        super().__init__(tokens)
        self.sizes = sizes
        self.input_dropout = VariationalDropout(sizes.input_dropout)
        self.dropout = VariationalDropout(sizes.dropout)
        self.encoder = BiLSTM(tokens.input_width, sizes.hidden, layers=sizes.depth, dropout=sizes.dropout)
        encoded = self.encoder.width + tokens.output_width
        self.head = nn.Sequential(nn.Linear(encoded, sizes.scorer), nn.ReLU(), nn.Linear(sizes.scorer, 1))
        self.width = nn.Embedding(sizes.widest, sizes.feature)
        span = 2 * encoded + tokens.input_width + sizes.feature
        self.mention = nn.Linear(span, sizes.scorer)
        self.mention_score = scorer(sizes.scorer, sizes.dropout)
        self.distance = nn.Embedding(DISTANCES, sizes.feature)
        self.speaker = nn.Embedding(2, sizes.feature) if sizes.speakers else None
        self.genre = nn.Embedding(1 + len(genres), sizes.feature) if sizes.genres else None
        features = sizes.feature * (1 + (self.speaker is not None) + (self.genre is not None))
        self.anaphor, self.antecedent = (nn.Linear(span, sizes.scorer, bias=False) for _ in range(2))
        self.product = nn.Linear(span, sizes.scorer)
        self.pair = nn.Linear(features, sizes.scorer, bias=False)
        self.pair_score = scorer(sizes.scorer, sizes.dropout)
        # With PyTorch's own initialisation of the three layers, all spans score the same: after 48 steps on three
        # documents no link was found, while with this initialisation a quarter of them were.
        for part in (self.head, self.mention, self.anaphor, self.antecedent, self.product, self.pair):
            part.apply(start_for_relu)

    def forward(self, batch: list[DocumentBatch]) -> Tensor:
        return torch.stack([self._loss(document) for document in batch]).mean()

    def predict(self, batch: list[DocumentBatch]) -> list[Any]:
        """For each document, its chains; each is a list of [start, end) in the document's tokens."""
        return [self._chains(document) for document in batch]

    def rank(self, document: DocumentBatch) -> Ranking:
        """Find the spans that may be mentions, and score the earlier ones as antecedents of each.

        In training, true mentions are kept in addition to the best spans. A new network's scores would keep hardly any
        of them, and it would learn nothing about links for thousands of steps.
        """
        x, h = self._read(document)
        starts, lasts = candidate_spans(document.sentences, self.sizes.widest)
        attention = self.head(h).squeeze(1)  # [N]
        scores = self._mention_scores(x, h, attention, starts, lasts)  # [S]
        chains = chain_of_spans(starts, lasts, document.mentions, len(x), self.sizes.widest)  # [S]
        order = torch.argsort(scores.detach(), descending=True, stable=True).tolist()
        most = math.ceil(self.sizes.kept * len(x))
        keep = torch.zeros_like(starts, dtype=torch.bool)  # [S]; candidates are already in order
        keep[keep_spans(starts.tolist(), lasts.tolist(), order, most)] = True
        kept = (keep | (chains > 0) if self.training else keep).nonzero().squeeze(1)  # [M]
        starts, lasts = starts[kept], lasts[kept]
        spans = self._span_vectors(x, h, attention, starts, lasts)  # [M, G]
        ranked = self._antecedent_scores(document, starts, spans, scores[kept])
        return Ranking(starts, lasts, chains[kept], ranked, scores, chains > 0)

    def _read(self, document: DocumentBatch) -> tuple[Tensor, Tensor]:
        """The vectors of the words [N, F], and their encodings in their sentences [N, E]."""
        inputs, encoded = list[Tensor](), list[Tensor]()
        for group in document.text.groups:
            vectors = self.tokens(group)
            x = self.input_dropout(vectors.input)
            h = self.dropout(self.encoder(x, vectors.lengths))
            inputs.append(x)
            encoded.append(torch.cat([h, vectors.output], dim=2))
        return join_sentences(inputs, document.text)[0], join_sentences(encoded, document.text)[0]

    def _mention_scores(self, x: Tensor, h: Tensor, attention: Tensor, starts: Tensor, lasts: Tensor) -> Tensor:
        """The mention score of each candidate; there are too many to build their span vectors. [S]"""
        ends = [h.shape[1], 2 * h.shape[1], 2 * h.shape[1] + x.shape[1]]
        first, last, head, width = self.mention.weight.T.tensor_split(ends, dim=0)
        hidden = (h @ first)[starts] + (h @ last)[lasts] + head_vectors(attention, x @ head, starts, lasts)
        hidden = hidden + (self.width.weight @ width + self.mention.bias)[lasts - starts]  # [S, scorer]
        scores: Tensor = self.mention_score(hidden).squeeze(1)
        return scores

    def _span_vectors(self, x: Tensor, h: Tensor, attention: Tensor, starts: Tensor, lasts: Tensor) -> Tensor:
        heads = head_vectors(attention, x, starts, lasts)  # [M, F]
        return torch.cat([h[starts], h[lasts], heads, self.width(lasts - starts)], dim=1)

    def _antecedent_scores(self, document: DocumentBatch, starts: Tensor, spans: Tensor, mentions: Tensor) -> Tensor:
        """[M, 1 + A]; antecedents that would lie before the first span get the lowest possible score."""
        count = len(starts)
        distance = torch.arange(1, min(self.sizes.antecedents, max(count - 1, 1)) + 1, device=starts.device)  # [A]
        before = torch.arange(count, device=starts.device)[:, None] - distance  # [M, A]
        exists, which = before >= 0, before.clamp(min=0)
        features = self._pair_features(document, starts, which, distance)  # [M, A, f]
        anaphor, antecedent = self.anaphor(spans), self.antecedent(spans)  # [M, scorer]
        blocks, together = [], max(1, PAIRS_TOGETHER // len(distance))
        for rows in (slice(start, start + together) for start in range(0, count, together)):
            others = which[rows]
            hidden = self.product(spans[rows, None] * spans[others]) + self.pair(features[rows])  # [rows, A, scorer]
            blocks.append(self.pair_score(hidden + anaphor[rows, None] + antecedent[others]).squeeze(2))
        scores = torch.cat(blocks) + mentions[:, None] + mentions[which]
        scores = scores.masked_fill(~exists, torch.finfo(scores.dtype).min)
        return torch.cat([scores.new_zeros(count, 1), scores], dim=1)

    def _pair_features(self, document: DocumentBatch, starts: Tensor, which: Tensor, distance: Tensor) -> Tensor:
        parts = [self.distance(distance_buckets(distance)).expand(*which.shape, -1)]
        if self.speaker is not None:
            speakers = document.speakers[starts]  # [M]
            same = (speakers[:, None] == speakers[which]) & (speakers[:, None] > 0)
            parts.append(self.speaker(same.long()))
        if self.genre is not None:
            parts.append(self.genre(document.genre).expand(*which.shape, -1))
        return torch.cat(parts, dim=2)

    def _loss(self, document: DocumentBatch) -> Tensor:
        """The loss of links (−log p of all true antecedents of a kept span, or of none), and that of mentions.

        Links alone teach little about which spans to keep (Zhang et al., 2018): trained on them for 430 steps on half
        of OntoGUM, the ranker linked what it kept, but kept only 37 of 483 true mentions.
        """
        assert document.mentions is not None, "a loss needs chains"
        ranking = self.rank(document)
        chains = ranking.chains
        count = ranking.scores.shape[1] - 1
        before = torch.arange(len(chains), device=chains.device)[:, None] - torch.arange(1, count + 1).to(chains)
        same = (chains[:, None] == chains[before.clamp(min=0)]) & (before >= 0) & (chains[:, None] > 0)  # [M, A]
        right = torch.cat([~same.any(dim=1, keepdim=True), same], dim=1)  # [M, 1 + A]
        scores = ranking.scores
        lowest = torch.finfo(scores.dtype).min
        losses = scores.logsumexp(dim=1) - scores.masked_fill(~right, lowest).logsumexp(dim=1)
        detection = functional.binary_cross_entropy_with_logits(
            ranking.candidates, ranking.mentions.to(scores), reduction="sum"
        )
        return losses.mean() + detection / len(losses)

    def _chains(self, document: DocumentBatch) -> list[list[list[int]]]:
        if len(document.speakers) == 0:
            return []
        ranking = self.rank(document)
        chosen = ranking.scores.argmax(dim=1).tolist()  # 0: none, a: the a-th span before
        chain, chains = dict[int, list[int]](), list[list[int]]()
        for number, back in enumerate(chosen):
            if back:
                before = number - back
                if before not in chain:
                    chains.append([before])
                    chain[before] = chains[-1]
                chain[before].append(number)
                chain[number] = chain[before]
        starts, lasts = ranking.starts.tolist(), ranking.lasts.tolist()
        return [[[starts[number], lasts[number] + 1] for number in numbers] for numbers in chains]


def scorer(hidden: int, dropout: float) -> nn.Sequential:
    """The rest of a scorer after its first layer: ReLU, a second layer, one number."""
    drop = Dropout(dropout)
    layers = nn.Sequential(nn.ReLU(), drop, nn.Linear(hidden, hidden), nn.ReLU(), drop, nn.Linear(hidden, 1))
    return layers.apply(start_for_relu)


def chain_of_spans(starts: Tensor, lasts: Tensor, mentions: Tensor | None, count: int, widest: int) -> Tensor:
    """The chain of each span in a document of ``count`` tokens, 0 if it is not a mention. [S]"""
    if mentions is None:
        return torch.zeros_like(starts)
    table = torch.zeros(count, widest, dtype=torch.int64, device=mentions.device)
    narrow = mentions[mentions[:, 1] - mentions[:, 0] < widest]
    table[narrow[:, 0], narrow[:, 1] - narrow[:, 0]] = narrow[:, 2]
    return table[starts, lasts - starts]
