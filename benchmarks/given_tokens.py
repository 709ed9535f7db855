"""How a model of morphemes should represent a token split elsewhere: by its first unit, its last, or their mean.

    python benchmarks/given_tokens.py [--data SHARED/data]

The part-of-speech probe on UD Korean GSD, dev, by layer → results/given_tokens.json and docs/tokenization.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pages import fill_in, table
from polyseme.elmo import Elmo
from polyseme.probes.frozen import BiLMVectors, Floats, Tokens
from polyseme.reproduce.knowledge import measure_probe, read_splits
from polyseme.tasks.data_files import find_data
from polyseme.text.tokenization import part_words
from shared_data import DATA

RESULTS = Path(__file__).parent / "results/given_tokens.json"
Pick = Callable[[Floats, list[int]], Floats]


def first(layers: Floats, counts: list[int]) -> Floats:
    """[L+1, units, W] → [L+1, tokens, W]"""
    return layers[:, np.cumsum([0, *counts[:-1]])]


def last(layers: Floats, counts: list[int]) -> Floats:
    return layers[:, np.cumsum(counts) - 1]


def mean(layers: Floats, counts: list[int]) -> Floats:
    sums = np.add.reduceat(layers, np.cumsum([0, *counts[:-1]]), axis=1)
    return sums / np.array(counts, np.float32)[:, None]


@dataclass(frozen=True)
class UnitVectors(BiLMVectors):
    """Vectors of tokens, each computed from those of its units."""

    pick: Pick

    def stream(self, sentences: Iterable[Tokens]) -> Iterator[Floats]:
        parted = [part_words(list(tokens), self.elmo.lang) for tokens in sentences]
        for one, encoding in zip(parted, self.elmo.stream([one.units for one in parted]), strict=True):
            yield self.pick(encoding.layers, one.counts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    splits = read_splits(find_data(parser.parse_args().data / "pos/ko_gsd", (".conllu",)), "upos", test=False)
    elmo = Elmo.from_pretrained("ko")
    ways: dict[str, Pick] = {"first unit": first, "last unit": last, "mean of the units": mean}
    found = {name: measure_probe(UnitVectors(elmo, pick), splits)["dev"] for name, pick in ways.items()}
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    head = ("a token is", *(f"layer {number}" for number in range(elmo.config.layers + 1)))
    rows = [(name, *(f"{100 * value:.1f}" for value in values)) for name, values in found.items()]
    fill_in("tokenization.md", "given tokens", table(head, rows))


if __name__ == "__main__":
    main()
