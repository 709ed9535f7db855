"""How accurately Korean is split into morphemes, how fast, and how many of them a vocabulary lacks.

    pip install kiwipiepy
    python benchmarks/korean_units.py [dev test kiwi senses speed ko ko-eojeol] [--data SHARED/data]

F1 compares boundaries between two letters of an eojeol, one of them a Hangul syllable, with the analyses of Kiwi on the
held-out text, and with the gold morphemes of UD Korean GSD, for the tagger and for Kiwi itself. Tokens of the held-out
text are unknown if they are not among the most frequent ones of the training text. Results: results/korean_units.json,
and from it the table in docs/tokenization.md. It takes half an hour on one core, mostly for counting words.
"""

from __future__ import annotations

import argparse
import json
import lzma
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from polyseme.prepared_text import read_target
from polyseme.senses.labelled import read_senses
from polyseme.text.korean import CONTEXT, find_morpheme_ends, may_part, reading
from polyseme.text.linear_tagger import raw_codes, read_codes
from polyseme.text.tokenization import split_text
from shared_data import DATA
from tokenization import measure_speed, treebank_file
from train_korean import places_between, read_lines

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "korean_units.json"
PAGE = HERE.parent / "docs" / "tokenization.md"
BEGIN, END = "<!-- korean: begin -->", "<!-- korean: end -->"
PARTS = ("dev", "test", "kiwi", "senses", "speed", "ko", "ko-eojeol")  # the last two: unknown words
KINDS = {"particles": "J", "endings": "E"}  # by the first letter of Kiwi's tag
VOCABULARIES = (80_000, 88_000)
RAW = ("ko/kowiki-1", "ko/ko-reviews")
LINES_AT_ONCE = 5000

CLOSING = {0x3134: 0x11AB, 0x3139: 0x11AF, 0x3141: 0x11B7, 0x3142: 0x11B8, 0x3146: 0x11BB}  # ㄴ ㄹ ㅁ ㅂ ㅆ

Ends = Callable[[str], Iterable[int]]


def spell(text: str) -> str:
    """Syllables as letters; a consonant that begins an ending (ㄴ다) as a syllable-final one."""
    closing = text[0].translate(CLOSING) + text[1:] if text else text
    return unicodedata.normalize("NFD", closing)


def find_gold_places(form: str, lemma: str) -> tuple[set[int], set[int]]:
    """Where the morphemes of a treebank word (``lemma`` with plus signs) meet between syllables, and what is unclear.

    Morphemes are matched letter by letter from both ends: 참여+하+ㄴ다 is 참여|한다. The part in between, where letters
    have merged (가깝+ㄴ in 가까운), is left undecided.
    """
    places = {0}  # in letters
    for syllable in form:
        places.add(max(places) + len(unicodedata.normalize("NFD", syllable)))
    number = {at: count for count, at in enumerate(sorted(places))}
    letters, morphemes = unicodedata.normalize("NFD", form), [spell(one) for one in lemma.split("+")]
    first = 0
    meetings = set()
    while morphemes and letters.startswith(morphemes[0], first):
        first += len(morphemes.pop(0))
        meetings.add(first)
    if not morphemes:
        last = first
    else:
        meetings.discard(first)  # whether the next one begins here is still unknown
        last = len(letters)
        while morphemes and letters.endswith(morphemes[-1], first, last):
            last -= len(morphemes.pop())
            meetings.add(last)
    between = {number[at] for at in number if first <= at < last}
    found = {number[at] for at in meetings if at in number}
    return found - {0, len(form)}, between - found - {0}


def count_agreement(found: set[int], right: set[int], so_far: list[int]) -> None:
    for place, amount in enumerate((len(found & right), len(found), len(right))):
        so_far[place] += amount


def in_percent(agreement: list[int]) -> dict[str, float]:
    both, found, right = agreement
    shares = {"precision": both / found, "recall": both / right, "f1": 2 * both / (found + right)}
    return {name: round(100 * share, 2) for name, share in shares.items()}


def compare_with_kiwi(folder: Path) -> dict[str, Any]:
    """F1 of boundaries beside a syllable, without the easy ones at punctuation; and the share of each kind found."""
    from kiwipiepy import Kiwi

    agreement, by_kind = [0, 0, 0], {kind: [0, 0] for kind in KINDS}
    lines = read_lines(folder / "kowiki-heldout.txt.xz")
    for line, tokens in zip(lines, Kiwi(num_workers=1).tokenize(iter(lines)), strict=True):
        open_places = askable(line)
        found, right = set(find_morpheme_ends(line)) & open_places, set(places_between(tokens)) & open_places
        count_agreement(found, right, agreement)
        begins = {token.start: token.tag[0] for token in reversed(tokens)}  # for a contraction, the first
        for kind, tag in KINDS.items():
            of_kind = {place for place in right if begins[place] == tag}
            by_kind[kind][0] += len(of_kind & found)
            by_kind[kind][1] += len(of_kind)
    return {
        **in_percent(agreement),
        "found": {kind: round(100 * found / right, 2) for kind, (found, right) in by_kind.items()},
    }


def askable(line: str) -> set[int]:
    codes, place = read_codes(raw_codes(line), reading(), CONTEXT)
    return set((np.flatnonzero(np.append(may_part(codes), False)[place]) + 1).tolist())


def compare_with_gold(path: Path, find_ends: Ends) -> dict[str, float]:
    agreement, left_open = [0, 0, 0], 0
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        for block in file.read().split("\n\n"):
            words = [line.split("\t")[1:3] for line in block.split("\n") if line[:1].isdigit()]
            text, at = " ".join(form for form, _ in words), 0
            ends, asked = set(find_ends(text)), askable(text)
            for form, lemma in words:
                right, unclear = find_gold_places(form, lemma)
                open_places = {place - at for place in asked if at < place < at + len(form)}
                left_open += len(open_places & unclear)
                open_places -= unclear
                count_agreement({end - at for end in ends} & open_places, right & open_places, agreement)
                at += len(form) + 1
    return {**in_percent(agreement), "places_left_open": left_open}


def compare_both(path: Path) -> dict[str, dict[str, float]]:
    from kiwipiepy import Kiwi

    kiwi = Kiwi(num_workers=1)
    return {
        "polyseme": compare_with_gold(path, find_morpheme_ends),
        "kiwi": compare_with_gold(path, lambda text: places_between(kiwi.tokenize(text))),
    }


def count_units(path: Path, lang: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    lines = read_lines(path)
    for start in range(0, len(lines), LINES_AT_ONCE):
        for sentence in split_text("\n".join(lines[start : start + LINES_AT_ONCE]), lang):
            counts.update(sentence.tokens)
    return counts


def measure_unknown(folder: Path, lang: str) -> dict[str, Any]:
    """The percentage of held-out tokens that are not among the most frequent words of the training files."""
    held_out = folder / "kowiki-heldout.txt.xz"
    known: Counter[str] = Counter()
    for path in sorted(folder.glob("*.txt.xz")):
        if path != held_out:
            known += count_units(path, lang)
    found = count_units(held_out, lang)
    rates = {}
    for size in VOCABULARIES:
        covered = sum(found[word] for word, _ in known.most_common(size))
        rates[str(size)] = round(100 * (1 - covered / found.total()), 2)
    return {"tokens": known.total(), "held_out_tokens": found.total(), "unknown": rates}


def count_parted() -> dict[str, int]:
    """How many marked words of the sense test are separate tokens."""
    marked = [sentence for word in read_senses(lang="ko") for sentence in word.sentences]
    parted = 0
    for text, span in map(read_target, marked):
        parted += span in [offsets for sentence in split_text(text, "ko") for offsets in sentence.offsets]
    return {"parted": parted, "of": len(marked)}


def table(results: dict[str, Any]) -> str:
    """The results as Markdown."""
    units, eojeol = results["ko"], results["ko-eojeol"]
    speed = " / ".join(f"{rate:.1f}" for rate in results["speed"].values())
    rows = [
        ("boundary F1 against Kiwi, held-out encyclopedia", f"{results['kiwi']['f1']:.2f}"),
        *((f"{kind} found that Kiwi has there", f"{share:.2f} %") for kind, share in results["kiwi"]["found"].items()),
        *(
            (
                f"boundary F1 against UD Korean GSD, {split} (Kiwi itself)",
                f"{scores['polyseme']['f1']:.2f} ({scores['kiwi']['f1']:.2f})",
            )
            for split, scores in ((split, results[split]) for split in ("dev", "test"))
        ),
        (
            "words of the sense test separated from their particles",
            f"{results['senses']['parted']} of {results['senses']['of']}",
        ),
        *(
            (
                f"unknown with {int(size):,} words (whole eojeol), held-out encyclopedia",
                f"{rate:.2f} % ({eojeol['unknown'][size]:.2f} %)",
            )
            for size, rate in units["unknown"].items()
        ),
        ("tokens for one of `ko-eojeol`", f"{units['held_out_tokens'] / eojeol['held_out_tokens']:.2f}"),
        ("MB/s on one core, encyclopedia / reviews", speed),
    ]
    return "\n".join(["| Korean morphemes | |", "| --- | ---: |", *(f"| {name} | {value} |" for name, value in rows)])


def measure(part: str, data: Path) -> Any:
    """One part of the results."""
    folder = data / "corpora/ko"
    if part in ("dev", "test"):
        return compare_both(treebank_file(data, "ko_gsd", part))
    if part == "kiwi":
        return compare_with_kiwi(folder)
    if part == "senses":
        return count_parted()
    if part == "speed":
        return {name: measure_speed(data / "corpora" / f"{name}.txt.xz", "ko") for name in RAW}
    return measure_unknown(folder, part)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", choices=PARTS, nargs="*", help="what to measure; other results stay unchanged")
    parser.add_argument("--data", type=Path, default=DATA)
    arguments = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for part in arguments.parts or PARTS:
        results[part] = measure(part, arguments.data)
        RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    before, after = PAGE.read_text().split(BEGIN)[0], PAGE.read_text().split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{table(results)}\n{END}{after}")
    print(table(results))


if __name__ == "__main__":
    main()
