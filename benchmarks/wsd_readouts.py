"""Word sense disambiguation with what stands around a word: its vector, its place and its sentence, and all three.

The nearest mean of SemCor's senses, as in the paper's section 5.3 (`polyseme.probes.wsd`), by four vectors of a token.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from polyseme.elmo import Elmo
from polyseme.encoding import Encoding, Floats, unit
from polyseme.probes.wsd import evaluate_senses
from polyseme.senses.uses import WordWeights

READOUTS = ("word", "place", "sentence", "word, place and sentence")
SETS = ("senseval2", "senseval3", "semeval2007", "semeval2013", "semeval2015")


@dataclass(frozen=True)
class ReadoutVectors:
    """One "layer" a readout, each as wide as all side by side: zeros change no cosine."""

    elmo: Elmo

    @property
    def layers(self) -> int:
        return len(READOUTS)

    @property
    def width(self) -> int:
        return 3 * self.elmo.config.width

    @cached_property
    def _weights(self) -> WordWeights:
        return WordWeights(self.elmo.vocabulary)

    def stream(self, sentences: Iterable[Sequence[str]]) -> Iterator[Floats]:
        return (self._read(encoding) for encoding in self.elmo.stream(sentences))

    def _read(self, encoding: Encoding) -> Floats:
        """[4, N, 3W]"""
        parts = (encoding.layers[-1], encoding.place, other_words(encoding, self._weights))
        size = parts[0].shape[1]
        found = np.zeros((len(READOUTS), len(encoding), self.width), np.float32)
        for number, part in enumerate(parts):
            place = slice(number * size, (number + 1) * size)
            found[number, :, place] = found[-1, :, place] = unit(part)
        return found


def other_words(encoding: Encoding, weights: WordWeights) -> Floats:
    """For each token the weighted mean of all the others in the top layer. [N, W]"""
    weight = weights.of(encoding.tokens)[:, None]  # [N, 1]
    weighted = weight * encoding.layers[-1]
    rest: Floats = (weighted.sum(axis=0) - weighted) / np.maximum(weight.sum() - weight, 1e-9)
    return rest


def measure_wsd(elmo: Elmo, data: Path) -> dict[str, Any] | str:
    """F1 on each set and on all together; or why it was left out."""
    folder = data / "wsd"
    if elmo.lang != "en" or not folder.exists():
        return "left out: SemCor and the sets are English" if elmo.lang != "en" else f"left out: there is no {folder}"
    scores = evaluate_senses(ReadoutVectors(elmo), folder, SETS)
    scores["ALL"] = sum(scores.values(), start=next(iter(scores.values())).__class__(0, 0, [0] * len(READOUTS), 0))
    return {
        name: {
            "words": score.words,
            "first sense": round(100 * score.first_sense_f1, 2),
            **{readout: round(100 * f1, 2) for readout, f1 in zip(READOUTS, score.f1, strict=True)},
        }
        for name, score in scores.items()
    }
