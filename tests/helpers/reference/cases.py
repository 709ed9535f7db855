"""Small models, one for each way in which a biLM can be built, and sentences that bring out the differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from helpers.reference.characters import Ids, byte_ids, unicode_ids
from helpers.reference.models import options_for, random_weights
from helpers.reference.network import ReferenceBiLM
from helpers.reference.port import ids_of

Batch = Sequence[Sequence[str]]

#: Three calls: padding, an empty and a one-token sentence, bytes cut inside a character; then fewer rows, then more.
BATCHES: tuple[Batch, ...] = (
    (("The", "cat", "sat", "."), (), ("x",), ("naïve", "日本語", "Donaudampfschifffahrtsgesellschaft", "😀")),
    (("again", "the", "cat"), ("",)),
    (("a",), ("<S>", "</S>"), ("the", "river", "bank"), ("sat",), ("x", "y")),
)

ENTRIES = ("<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>", *"abcehrstnTx.日é")
WORDS = ("<oov>", "<bos>", "<eos>", "<pad>", "the", "cat", "sat", ".", "日本語", "x", "Donaudampf")


@dataclass(frozen=True)
class Case:
    """One kind of model. ``reads``: "bytes", "words" (word ids alone) or "both" (ELMoForManyLangs)."""

    options: dict[str, Any] = field(default_factory=options_for)
    reads: str = "bytes"
    directions: int = 2
    seed: int = 1

    def model(self) -> ReferenceBiLM:
        sizes: dict[str, Any] = {
            "bytes": {},
            "words": {"words": len(WORDS)},
            "both": {"words": len(WORDS), "word_dim": 5, "characters": len(ENTRIES)},
        }[self.reads]
        weights = random_weights(self.options, self.seed, directions=self.directions, **sizes)
        return ReferenceBiLM(self.options, weights, shifted=self.reads != "both")

    def ids(self, batch: Batch) -> tuple[Ids | None, Ids | None]:
        """Character ids and word ids as the reference reads them."""
        width = self.options["char_cnn"]["max_characters_per_token"]
        if self.reads == "bytes":
            return byte_ids(batch, width), None
        words = {word: i for i, word in enumerate(WORDS)}
        if self.reads == "both":
            return unicode_ids(batch, width, {entry: i for i, entry in enumerate(ENTRIES)}, words)
        word_ids = unicode_ids(batch, width, None, words)[1]
        assert word_ids is not None
        for row, sentence in zip(word_ids, batch, strict=True):
            row[: len(sentence) + 2] += 1  # the shift of word-id models; padding is 0
            row[len(sentence) + 2 :] = 0
        return None, word_ids

    def polyseme_ids(self, batch: Batch) -> torch.Tensor:
        """The same as polyseme reads it. [B, T, K]"""
        lengths = [len(sentence) + 2 for sentence in batch]
        return ids_of(*self.ids(batch), lengths=lengths, shifted=self.reads != "both")


CASES: dict[str, Case] = {
    "two layers, skip connections": Case(),
    "no skip connections": Case(options_for(skip=False)),
    "one layer": Case(options_for(depth=1)),
    "three layers": Case(options_for(depth=3)),
    "three layers, no skip connections, tanh": Case(options_for(depth=3, skip=False, activation="tanh")),
    "both clips bind": Case(options_for(cell_clip=0.3, proj_clip=0.2)),
    "both clips bind, three layers": Case(options_for(depth=3, cell_clip=0.2, proj_clip=0.1)),
    "only the cell clip": Case(options_for(cell_clip=0.3, proj_clip=None)),
    "only the projection clip": Case(options_for(cell_clip=None, proj_clip=0.2)),
    "no clips": Case(options_for(cell_clip=None, proj_clip=None)),
    "no projection of the CNN": Case(options_for(filters=((1, 2), (3, 4)))),
    "no projection in the LSTM": Case(options_for(cell=6, cell_clip=0.5, proj_clip=0.05)),
    "no highway": Case(options_for(highways=0)),
    "two highways, tanh": Case(options_for(highways=2, activation="tanh")),
    "three highways": Case(options_for(highways=3)),
    "16 characters": Case(options_for(width=16)),
    "50 characters": Case(options_for(width=50)),
    "a filter as wide as a token": Case(options_for(width=5, filters=((5, 7), (1, 2)))),
    "forward only": Case(directions=1),
    "words": Case(reads="words"),
    "words, clips bind": Case(options_for(depth=1, skip=False, cell_clip=0.3, proj_clip=0.2), reads="words"),
    "words and characters": Case(reads="both"),
    "words and characters, clips bind, tanh": Case(
        options_for(depth=3, cell_clip=0.2, proj_clip=0.2, activation="tanh", highways=2), reads="both"
    ),
}
