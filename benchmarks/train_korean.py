"""Learn the tables of polyseme/text/korean.py from the analyses of Kiwi; about an hour on one core.

    pip install kiwipiepy
    python benchmarks/train_korean.py SHARED/data src/polyseme/text/data/korean.npz --analyses analyses.tsv

Kiwi analyses all small files of the corpus and a tenth of the large ones, about three million eojeol. That takes most
of the time, so the analyses are saved and reused. A morpheme ends wherever one stops and the next begins between two
syllables. How often each string is a morpheme becomes the lexicon, counted in one half of the lines; the weights are
learned from the other half, so that they see unknown words as often as in new text. korean_units.py measures the
result.
"""

from __future__ import annotations

import argparse
import lzma
import random
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from learn_tagger import count_words, find_examples, learn
from polyseme.text.korean import (
    CONTEXT,
    LEXICON_SLOTS,
    REACH,
    WEIGHT_SLOTS,
    find_features,
    is_letter,
    may_part,
    reading,
)
from polyseme.text.linear_tagger import Codes, Flags, raw_codes, read_codes

SHARE = 0.1  # share of the encyclopaedia's lines
LEARN_FROM = 0.5  # share of the analysed lines; the others fill the lexicon
LEAST_COUNT, LEAST_RATE = 3, 3
EPOCHS, BATCH = 3, 1024
LARGEST = 4.0  # larger weights are clipped
STEPS = 63  # quantisation steps on each side of zero

Analysed = tuple[str, list[int]]  # a line, and its places between morphemes


def sample_lines(folder: Path) -> list[str]:
    """Lines of all training files, shuffled."""
    order, lines = random.Random(0), []
    for path in sorted(folder.glob("*.txt.xz")):
        if "heldout" not in path.name:
            share = SHARE if path.name.startswith("kowiki") else 1
            lines += [line for line in read_lines(path) if order.random() < share]
    order.shuffle(lines)
    return lines


def read_lines(path: Path) -> list[str]:
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line for line in file.read().split("\n") if line and "\t" not in line]


def analyse(lines: Iterable[str]) -> Iterator[Analysed]:
    from kiwipiepy import Kiwi

    lines = list(lines)
    for line, tokens in zip(lines, Kiwi(num_workers=1).tokenize(iter(lines)), strict=True):
        yield line, places_between(tokens)


def places_between(tokens: Iterable[Any]) -> list[int]:
    """Where a morpheme begins exactly where the previous ones end; contracted ones (갔: 가, 았) share a syllable."""
    places, reached = [], 0
    for token in tokens:
        if 0 < token.start == reached:
            places.append(token.start)
        reached = max(reached, token.end)
    return places


def read_or_make(path: Path, folder: Path) -> list[Analysed]:
    """The analyses in a file, line and places, or new ones, which are saved there."""
    if not path.exists():
        beside = path.with_name(path.name + ".new")
        with beside.open("w", encoding="utf-8", newline="\n") as file:
            for line, places in analyse(sample_lines(folder)):
                file.write(f"{line}\t{' '.join(map(str, places))}\n")
        beside.replace(path)
    rows = (row.split("\t") for row in path.read_text(encoding="utf-8").split("\n") if row)
    return [(line, [int(place) for place in places.split()]) for line, places in rows]


def read_labels(analyses: list[Analysed]) -> tuple[Codes, Flags]:
    """Codes of the lines, and whether a morpheme ends after each code."""
    ends, length = [], 0
    for line, places in analyses:
        ends += [length + place - 1 for place in places]
        length += len(line) + 1
    codes, place = read_codes(raw_codes("".join(line + "\n" for line, _ in analyses)), reading(), CONTEXT)
    labels = np.zeros(len(codes), bool)
    labels[place[ends]] = True
    return codes, labels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--analyses", type=Path, required=True, help="where the analyses are kept")
    arguments = parser.parse_args()
    write_tables(read_or_make(arguments.analyses, arguments.data / "corpora/ko"), arguments.out)


def write_tables(analyses: list[Analysed], out: Path) -> None:
    half = round(len(analyses) * LEARN_FROM)
    codes, ends = read_labels(analyses[half:])
    letter = is_letter(codes)
    ends[:-1] |= ~(letter[:-1] & letter[1:])
    lexicon = count_words(codes, ends.astype(np.float32), letter, REACH, LEXICON_SLOTS, LEAST_COUNT, LEAST_RATE)
    codes, ends = read_labels(analyses[:half])
    asked = may_part(codes)
    slots = find_examples(codes, asked, partial(find_features, lexicon=lexicon), CONTEXT)
    weights = learn(slots, ends[:-1][asked], WEIGHT_SLOTS, epochs=EPOCHS, batch=BATCH)
    small = np.round(weights.clip(-LARGEST, LARGEST) * (STEPS / LARGEST)).astype(np.int8)
    beside = out.with_suffix(".new.npz")
    np.savez_compressed(beside, lexicon=lexicon, weights=small)
    beside.replace(out)


if __name__ == "__main__":
    main()
