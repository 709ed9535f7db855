"""Chinese words by a small linear tagger: does a word end after this character?

The characters around a place, and how often the strings around it are words, vote with small weights; if the sum is
above zero, a word ends. Traditional characters are read as simplified ones, so that both scripts share all weights.
Every place is decided independently from the few characters around it, so the work is a few array operations over the
whole text. benchmarks/train_chinese.py learns the tables; data/README.md says from what.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np

from polyseme.text import linear_tagger
from polyseme.text.any_language import MARK, SYMBOL
from polyseme.text.linear_tagger import (
    Codes,
    Flags,
    Lexicon,
    Places,
    Span,
    Weights,
    choose_slots,
    cut,
    hash_strings,
    look_up,
    raw_codes,
    sum_votes,
)

TABLES = Path(__file__).parent / "data" / "chinese.npz"
LONGEST = 4  # characters of a string in the lexicon
CONTEXT = 4  # characters on each side of a place that may influence its decision
SLOT_BITS = 20  # bits of a hash that choose the slot of a table; the other twelve distinguish strings in one slot

CLASSES = (("０", "９", linear_tagger.DIGIT), ("Ａ", "Ｚ", linear_tagger.LETTER), ("ａ", "ｚ", linear_tagger.LETTER))


@dataclass(frozen=True, slots=True)
class Tables:
    """The learned tables of the tagger."""

    reading: Codes  # [0x110000]: the code that each character is read as
    lexicon: Lexicon  # [2 ** SLOT_BITS]
    weights: Weights  # [2 ** SLOT_BITS]


@cache
def load_tables(path: Path = TABLES) -> Tables:
    with np.load(path) as arrays:
        return Tables(make_reading(arrays["simplified"]), arrays["lexicon"], arrays["weights"])


def make_reading(simplified: Codes) -> Codes:
    """Traditional characters are read as simplified ([2, S]), digits, Latin and kana as one each, spaces as 0."""
    reading = linear_tagger.make_reading(CLASSES)
    reading[simplified[0]] = simplified[1]
    return reading


def read_codes(text: str, reading: Codes) -> tuple[Codes, Places]:
    return linear_tagger.read_codes(raw_codes(text), reading, CONTEXT)


def is_han(codes: Codes) -> Flags:
    return ((codes >= 0x3400) & (codes <= 0x9FFF)) | ((codes >= 0xF900) & (codes <= 0xFAFF)) | (codes >= 0x20000)


# What votes on whether a word ends after place 0. Strings, by length and first place:
_STRINGS = ((1, -1), (1, 0), (1, 1), (1, 2), (2, -1), (2, 0), (2, 1))
# Word rates of all strings that end at place 0, begin at place 1 or lie across:
_RATES = tuple((length, first) for length in range(1, LONGEST + 1) for first in range(1 - length, 2))
# A character together with the word rate of a string:
_PAIRS = (((1, 0), (2, 0)), ((1, 1), (2, 0)), ((1, 0), (2, -1)), ((1, 1), (2, 1)))


def find_features(codes: Codes, places: Places, lexicon: Lexicon) -> Codes:
    """The slots of the weights that vote at these places: [F, places]."""
    beside = np.zeros(CONTEXT, np.uint32)
    hashes = hash_strings(np.concatenate([beside, codes, beside]), LONGEST)
    rates = look_up(lexicon, hashes) * np.uint32(0x01000193)

    def at(rows: Codes, length: int, first: int) -> Codes:
        found: Codes = rows[length - 1].take(places + (CONTEXT + first))
        return found

    votes = [at(hashes, *string) for string in _STRINGS]
    votes += [at(rates, *string) for string in _RATES]
    votes += [at(hashes, *character) + at(rates, *string) for character, string in _PAIRS]
    return choose_slots(votes, 1 << SLOT_BITS)


def find_word_ends(text: str) -> list[int]:
    """The places in the text where one word ends and the next begins immediately, in order."""
    tables = load_tables()
    codes, place = read_codes(text, tables.reading)
    votes = sum_votes(codes, may_part(codes), partial(find_features, lexicon=tables.lexicon), tables.weights, CONTEXT)
    found: list[int] = (np.flatnonzero(votes[place] > 0) + 1).tolist()
    return found


def may_part(codes: Codes) -> Flags:
    """Between which neighbours a word may end: not inside numbers and foreign words, and not before a mark."""
    han = is_han(codes)
    known = han | (codes == linear_tagger.DIGIT) | (codes == linear_tagger.LETTER) | (codes == linear_tagger.KANA)
    parts: Flags = (han[:-1] & known[1:]) | (known[:-1] & han[1:])
    return parts


_RUN = rf"(?:[^\WA-Za-z]++|[{MARK}]++|[A-Za-z]++(?!://|@))+"
TOKEN = re.compile(
    rf"""
    (?=\S)(?:                                                                  # quickly past spaces
    (?:https?|ftp)://[^\s<>"“”\u3000-\uffff]*[A-Za-z0-9/]
  | [A-Za-z0-9.+_-]{{1,64}}+@[A-Za-z0-9-]++(?:\.[A-Za-z0-9-]++)+
  | ({_RUN}(?:(?:(?<=[0-9])[.,:](?=[0-9])|(?<=[A-Za-z])[-'’/&.](?=[A-Za-z0-9])){_RUN})*(?:(?<=[0-9])[%％])?)
  | [A-Za-z]++ | ([-.…─—])\2+ | ''
  | {SYMBOL})
    """,
    re.VERBOSE,
)


def find_words(text: str, start: int, end: int, word_ends: list[int]) -> list[Span]:
    """The words of ``text[start:end]``, a line, as spans of ``text``; ``word_ends`` are those of the whole text."""
    spans: list[Span] = []
    for match in TOKEN.finditer(text, start, end):
        spans += cut(match.span(), word_ends) if match.lastindex == 1 else [match.span()]
    return spans
