"""Semantic roles: a deep tagger that reads the sentence once for each predicate (He et al., 2017).

    roles        tags = softmax(W [AlternatingHighwayLSTM([tokens; is this the predicate?]); ELMo at the output])
    predicates   p(predicate) = σ(w · [BiLSTM(tokens); ELMo at the output]), for sentences without marked ones

Both are trained together. Tags are decoded so that they form spans, with a V on the predicate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from polyseme.nn.dropout import Dropout
from polyseme.tasks.definition import TaskNetwork
from polyseme.tasks.inputs import TokenBatch, TokenInputs, TokenVectors
from polyseme.tasks.parts.crf import CRF, FORBIDDEN
from polyseme.tasks.parts.encoders import BiLSTM
from polyseme.tasks.parts.highway_lstm import AlternatingHighwayLSTM
from polyseme.tasks.spans import FoundSpan, spans_of, split_tag
from polyseme.tasks.srl.data import VERB

#: Frames whose tags are computed together when predicting.
FRAMES_TOGETHER = 128


@dataclass(frozen=True, slots=True)
class SrlSizes:
    """Sizes of the network."""

    hidden: int = 300
    depth: int = 8
    predicate_dim: int = 100
    detector: int = 100  #: hidden size of the predicate detector
    dropout: float = 0.1  #: of the state, between steps
    input_dropout: float = 0.0


@dataclass(frozen=True, slots=True)
class FrameBatch:
    """Sentences and their predicates: known ones as (sentence, position), or None if they are to be predicted."""

    tokens: TokenBatch
    given: list[list[int] | None]  # for each sentence
    sentences: Tensor  # [F] the sentence of each known predicate, in the order of ``given``
    places: Tensor  # [F]
    tags: Tensor | None  # [F, N], if roles are known


class RoleTagger(TaskNetwork):
    """Sentences → frames."""

    def __init__(self, sizes: SrlSizes, tags: list[str], tokens: TokenInputs) -> None:
        super().__init__(tokens)
        self.tags = tags
        self.decoder = CRF.of(tags, "IOB2").requires_grad_(False)  # it has no learned scores and only forbids
        self.predicate = nn.Embedding(2, sizes.predicate_dim)
        self.dropout = Dropout(sizes.input_dropout)
        self.encoder = AlternatingHighwayLSTM(
            tokens.input_width + sizes.predicate_dim, sizes.hidden, sizes.depth, sizes.dropout
        )
        self.tag = nn.Linear(sizes.hidden + tokens.output_width, len(tags))
        self.detector = BiLSTM(tokens.input_width, sizes.detector)
        self.is_predicate = nn.Linear(self.detector.width + tokens.output_width, 1)

    def forward(self, batch: FrameBatch) -> Tensor:
        assert batch.tags is not None, "a loss needs roles"
        vectors = self._vectors(batch.tokens)
        wanted = torch.zeros_like(vectors.mask)
        wanted[batch.sentences, batch.places] = True
        found = self._predicate_logits(vectors)[vectors.mask]
        loss = functional.binary_cross_entropy_with_logits(found, wanted[vectors.mask].to(found))
        if len(batch.places):
            logits = self._tag_logits(vectors, batch.sentences, batch.places)  # [F, N, tags]
            here = vectors.mask[batch.sentences]
            loss = loss + functional.cross_entropy(logits[here], batch.tags[here])
        return loss

    def predict(self, batch: FrameBatch) -> list[Any]:
        """For each sentence: its frames, and the predicates that the detector finds."""
        vectors = self._vectors(batch.tokens)
        likely = (self._predicate_logits(vectors) > 0) & vectors.mask  # [B, N]
        detected = [row.nonzero().flatten().tolist() for row in likely]
        chosen = [found if given is None else given for given, found in zip(batch.given, detected, strict=True)]
        pairs = [(sentence, place) for sentence, places in enumerate(chosen) for place in places]
        answers: list[Any] = [{"frames": [], "detected": found} for found in detected]
        for start in range(0, len(pairs), FRAMES_TOGETHER):
            some = pairs[start : start + FRAMES_TOGETHER]
            for (sentence, place), (tags, certain) in zip(some, self._decode(vectors, some), strict=True):
                spans = [FoundSpan.of(span, certain) for span in spans_of([self.tags[tag] for tag in tags])]
                answers[sentence]["frames"].append({"predicate": place, "spans": spans})
        return answers

    def _vectors(self, batch: TokenBatch) -> TokenVectors:
        vectors = self.tokens(batch)
        return TokenVectors(self.dropout(vectors.input), vectors.output, vectors.mask, vectors.lengths)

    def _predicate_logits(self, vectors: TokenVectors) -> Tensor:
        """[B, N]"""
        read = torch.cat([self.detector(vectors.input, vectors.lengths), vectors.output], dim=2)
        logits: Tensor = self.is_predicate(read).squeeze(2)
        return logits

    def _tag_logits(self, vectors: TokenVectors, sentences: Tensor, places: Tensor) -> Tensor:
        """[F, N, tags]"""
        numbers = torch.arange(vectors.mask.shape[1], device=places.device)
        marked = self.predicate((numbers[None, :] == places[:, None]).long())  # [F, N, P]
        encoded = self.encoder(torch.cat([vectors.input[sentences], marked], dim=2), vectors.lengths[sentences])
        logits: Tensor = self.tag(torch.cat([encoded, vectors.output[sentences]], dim=2))
        return logits

    def _decode(self, vectors: TokenVectors, pairs: list[tuple[int, int]]) -> list[tuple[list[int], list[float]]]:
        """The tags of each frame, and the probability of each tag."""
        sentences, places = torch.tensor(pairs, device=vectors.lengths.device).unbind(1)
        scores = torch.log_softmax(self._tag_logits(vectors, sentences, places), dim=2)
        is_verb = torch.tensor([split_tag(tag)[1] == VERB for tag in self.tags], device=scores.device)  # not C-V
        rows = torch.arange(len(pairs), device=scores.device)
        scores[rows, places] = scores[rows, places].masked_fill(~is_verb, FORBIDDEN)
        paths = self.decoder.best(scores, vectors.mask[sentences])
        likely = torch.softmax(scores, dim=2)  # [F, N, tags]
        return [
            (path, [float(row[place, tag]) for place, tag in enumerate(path)])
            for path, row in zip(paths, likely, strict=True)
        ]
