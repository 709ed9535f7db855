"""Learn the tables of polyseme/text/chinese.py from a treebank and raw text; minutes on one core.

    python benchmarks/train_chinese.py SHARED/data src/polyseme/text/data/chinese.npz

A tagger trained only on the treebank has a word F1 of 87.8 on the development set. It tags a large raw text, and how
often each string came out as a word becomes the lexicon. Trained again with this lexicon, it reaches 93.4; after a
second round 94.1, after a third 94.1.
Labels come only from the train split, raw text only from the training files of the corpus.
"""

from __future__ import annotations

import argparse
import lzma
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from learn_tagger import Floats, count_words, find_examples, learn
from polyseme.text.chinese import (
    CONTEXT,
    LONGEST,
    SLOT_BITS,
    find_features,
    is_han,
    make_reading,
    may_part,
    read_codes,
)
from polyseme.text.linear_tagger import Codes, Lexicon, sum_votes

ROUNDS = 2  # of counting words in raw text
EPOCHS, BATCH = 8, 256
LEAST_COUNT, LEAST_RATE = 5, 4  # strings that are rarer, or less often words, are left out of the lexicon


def read_words(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Text and words of each sentence of an IOB2 file."""
    text, words = "", []
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            if line.startswith("# text = "):
                text = line[len("# text = ") :].rstrip("\n")
            elif line.strip() and not line.startswith("#"):
                words.append(line.split("\t")[1])
            elif words and not line.strip():
                yield text, words
                words = []
    if words:
        yield text, words


def pair_characters(traditional: Path, simplified: Path) -> Codes:
    """Each traditional character and its most frequent counterpart in the same sentences, simplified: [2, S]."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for (_, before), (_, after) in zip(read_words(traditional), read_words(simplified), strict=True):
        for old, new in zip("".join(before), "".join(after), strict=True):
            counts[old][new] += 1
    best = {old: new.most_common(1)[0][0] for old, new in counts.items()}
    return np.array(sorted((ord(old), ord(new)) for old, new in best.items() if old != new), np.uint32).T


def read_labels(path: Path, reading: Codes) -> tuple[Codes, npt.NDArray[np.bool_]]:
    """Codes of the sentences, one per line, and whether a word ends after each code."""
    lines, ends, length = [], [], 0
    for text, words in read_words(path):
        at = 0
        for word in words:
            at = text.index(word, at) + len(word)
            ends.append(length + at - 1)
        lines.append(text + "\n")
        length += len(text) + 1
    codes, place = read_codes("".join(lines), reading)
    labels = np.zeros(len(codes), bool)
    labels[place[ends]] = True
    return codes, labels


def end_probabilities(codes: Codes, lexicon: Lexicon, weights: Floats) -> Floats:
    """The probability that a word ends after each place of a long text."""
    between = is_han(codes)[:-1] & is_han(codes)[1:]
    votes = sum_votes(codes, between, partial(find_features, lexicon=lexicon), weights, CONTEXT)
    result: Floats = 1 / (1 + np.exp(-votes))
    result[:-1][~between] = 1
    return result


def read_raw_text(folder: Path) -> str:
    files = sorted(path for path in folder.glob("*.txt.xz") if "heldout" not in path.name)
    return "\n".join(lzma.open(path, "rt", encoding="utf-8", newline="\n").read() for path in files)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    train = arguments.data / "ner/zh-uner-gsdsimp/zh_gsdsimp-ud-train.iob2.xz"
    simplified = pair_characters(arguments.data / "ner/zh-uner-gsd/zh_gsd-ud-train.iob2.xz", train)
    reading = make_reading(simplified)
    codes, labels = read_labels(train, reading)
    asked = may_part(codes)
    raw, _ = read_codes(read_raw_text(arguments.data / "corpora/zh"), reading)

    def learn_with(lexicon: Lexicon) -> Floats:
        slots = find_examples(codes, asked, partial(find_features, lexicon=lexicon), CONTEXT)
        return learn(slots, labels[:-1][asked], 1 << SLOT_BITS, epochs=EPOCHS, batch=BATCH)

    weights = learn_with(lexicon := np.zeros(1 << SLOT_BITS, np.uint16))
    for _ in range(ROUNDS):
        ends = end_probabilities(raw, lexicon, weights)
        lexicon = count_words(raw, ends, is_han(raw), LONGEST, 1 << SLOT_BITS, LEAST_COUNT, LEAST_RATE)
        weights = learn_with(lexicon)

    scale = 127 / np.abs(weights).max()
    small = np.round(weights * scale).astype(np.int8)
    beside = arguments.out.with_suffix(".new.npz")
    np.savez_compressed(beside, simplified=simplified, lexicon=lexicon, weights=small)
    beside.replace(arguments.out)


if __name__ == "__main__":
    main()
