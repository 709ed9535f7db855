"""Chinese words by a small linear tagger: does a word end after this character?

The characters around a place, and how often the strings around it are words, vote with small weights; above zero a
word ends. Traditional characters are read as simplified ones, so that both scripts share all weights. Every place is
decided by itself from the few characters around it, which makes the work some array operations over the whole text.
benchmarks/train_chinese.py learns the tables; data/README.md says from what.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from polyseme.text.scripts import MARK, SYMBOL

Span = tuple[int, int]
Codes = npt.NDArray[np.uint32]
Lexicon = npt.NDArray[np.uint16]

TABLES = Path(__file__).parent / "data" / "chinese.npz"
LONGEST = 4  # characters of a string in the lexicon
CONTEXT = 4  # characters beside a place that its decision may see
SLOT_BITS = 20  # of a hash choose the slot of a table; the other twelve tell strings in one slot apart
_CHUNK = 1 << 14  # characters at once: the arrays stay in the cache

DIGIT, LETTER, KANA = ord("0"), ord("a"), ord("ア")
_CLASSES = (
    ("\0", " ", 0),
    ("\u3000", "\u3000", 0),
    ("0", "9", DIGIT),
    ("０", "９", DIGIT),
    ("A", "Z", LETTER),
    ("a", "z", LETTER),
    ("Ａ", "Ｚ", LETTER),
    ("ａ", "ｚ", LETTER),
    ("ぁ", "ヿ", KANA),
)


@dataclass(frozen=True, slots=True)
class Tables:
    """What the tagger has learnt."""

    reading: Codes  # [0x110000]: what each character is read as
    lexicon: Lexicon  # [2 ** SLOT_BITS]: twelve bits of a string's hash, then four of its word rate
    weights: npt.NDArray[np.int8]  # [2 ** SLOT_BITS]


@cache
def load_tables(path: Path = TABLES) -> Tables:
    with np.load(path) as arrays:
        return Tables(make_reading(arrays["simplified"]), arrays["lexicon"], arrays["weights"])


def make_reading(simplified: Codes) -> Codes:
    """Traditional characters are read as simplified ([2, S]), digits, Latin and kana as one each, spaces as 0."""
    reading = np.arange(0x110000, dtype=np.uint32)
    reading[simplified[0]] = simplified[1]
    for first, last, code in _CLASSES:
        reading[ord(first) : ord(last) + 1] = code
    return reading


def read_codes(text: str, reading: Codes) -> tuple[Codes, npt.NDArray[np.intp]]:
    """The characters as the tagger reads them, and where each character of the text has gone.

    CONTEXT zeros follow every line, so that lines do not see each other.
    """
    raw = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    lines_before = np.cumsum((raw == 0x0A) | (raw == 0x0D))
    place = np.arange(len(raw)) + CONTEXT * lines_before
    codes = np.zeros(len(raw) + CONTEXT * (1 + int(lines_before[-1:].sum())), np.uint32)
    codes[place] = reading[raw]
    return codes, place


def is_han(codes: Codes) -> npt.NDArray[np.bool_]:
    return ((codes >= 0x3400) & (codes <= 0x9FFF)) | ((codes >= 0xF900) & (codes <= 0xFAFF)) | (codes >= 0x20000)


def _mix(values: Codes) -> Codes:
    """Spread 32 bits over 32 bits (the finaliser of MurmurHash3)."""
    values = (values ^ (values >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    values = (values ^ (values >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return values ^ (values >> np.uint32(16))


def hash_strings(codes: Codes) -> Codes:
    """In row n - 1 the hash of the n characters that begin at each place, past the end 0: [LONGEST, C]."""
    padded = np.concatenate([codes, np.zeros(LONGEST, np.uint32)])
    hashes = np.empty((LONGEST, len(codes)), np.uint32)
    so_far = np.zeros(len(codes), np.uint32)
    for row in range(LONGEST):
        so_far = hashes[row] = so_far * np.uint32(0x01000193) + padded[row : row + len(codes)] + np.uint32(1)
    return _mix(hashes)


def look_up(lexicon: Lexicon, hashes: Codes) -> Codes:
    """The word rates, 1 to 15, of strings with these hashes; 0 where the lexicon does not have them."""
    found = lexicon[hashes >> np.uint32(32 - SLOT_BITS)].astype(np.uint32)
    rates: Codes = (found & np.uint32(15)) * (found >> np.uint32(4) == (hashes & np.uint32(0xFFF)))
    return rates


# What votes on whether a word ends after place 0. Strings, by length and first place:
_STRINGS = ((1, -1), (1, 0), (1, 1), (1, 2), (2, -1), (2, 0), (2, 1))
# Word rates of all strings that end at place 0, begin at place 1 or lie across:
_RATES = tuple((length, first) for length in range(1, LONGEST + 1) for first in range(1 - length, 2))
# A character together with the word rate of a string:
_PAIRS = (((1, 0), (2, 0)), ((1, 1), (2, 0)), ((1, 0), (2, -1)), ((1, 1), (2, 1)))
_SALTS = np.arange(len(_STRINGS) + len(_RATES) + len(_PAIRS), dtype=np.uint32)[:, None] * np.uint32(0x9E3779B9)


def find_features(codes: Codes, lexicon: Lexicon) -> Codes:
    """The slots of the weights that vote at each place: [F, C]."""
    beside = np.zeros(CONTEXT, np.uint32)
    hashes = hash_strings(np.concatenate([beside, codes, beside]))
    rates = look_up(lexicon, hashes) * np.uint32(0x01000193)

    def at(rows: Codes, length: int, first: int) -> Codes:
        return rows[length - 1, CONTEXT + first : CONTEXT + first + len(codes)]

    votes = [at(hashes, *string) for string in _STRINGS]
    votes += [at(rates, *string) for string in _RATES]
    votes += [at(hashes, *character) + at(rates, *string) for character, string in _PAIRS]
    mixed = np.concatenate(votes).reshape(len(votes), len(codes)) ^ _SALTS
    return (mixed * np.uint32(0x9E3779B1)) >> np.uint32(32 - SLOT_BITS)


def find_word_ends(text: str) -> list[int]:
    """The places in the text where one word ends and another begins at once, in order."""
    tables = load_tables()
    codes, place = read_codes(text, tables.reading)
    ends = np.zeros(len(codes), bool)
    for start in range(0, len(codes), _CHUNK):
        left = min(start, CONTEXT)
        slots = find_features(codes[start - left : start + _CHUNK + CONTEXT], tables.lexicon)
        votes = tables.weights[slots].sum(axis=0, dtype=np.int32)
        ends[start : start + _CHUNK] = votes[left : left + _CHUNK] > 0
    ends[:-1] &= may_part(codes)
    found: list[int] = (np.flatnonzero(ends[place]) + 1).tolist()
    return found


def may_part(codes: Codes) -> npt.NDArray[np.bool_]:
    """Between which neighbours a word may end: not inside numbers and foreign words, nor before a mark."""
    han = is_han(codes)
    known = han | (codes == DIGIT) | (codes == LETTER) | (codes == KANA)
    parts: npt.NDArray[np.bool_] = (han[:-1] & known[1:]) | (known[:-1] & han[1:])
    return parts


_RUN = rf"(?:[^\WA-Za-z]++|[{MARK}]++|[A-Za-z]++(?!://|@))++"
_TOKEN = re.compile(
    rf"""
    (?=\S)(?:                                                                  # quickly past spaces
    (?:https?|ftp)://[^\s<>"“”\u3000-\uffff]*[A-Za-z0-9/]
  | [A-Za-z0-9.+_-]{{1,64}}+@[A-Za-z0-9-]++(?:\.[A-Za-z0-9-]++)++
  | ({_RUN}(?:(?:(?<=[0-9])[.,:](?=[0-9])|(?<=[A-Za-z])[-'’/&.](?=[A-Za-z0-9])){_RUN})*+(?:(?<=[0-9])[%％])?)
  | [A-Za-z]++ | ([-.…─—])\2++ | ''
  | {SYMBOL})
    """,
    re.VERBOSE,
)


def find_words(text: str, start: int, end: int, word_ends: list[int]) -> list[Span]:
    """The words of ``text[start:end]``, a line, as spans of ``text``; ``word_ends`` are those of the whole text."""
    spans: list[Span] = []
    for match in _TOKEN.finditer(text, start, end):
        first, last = match.span()
        if match.lastindex != 1:
            spans.append((first, last))
            continue
        inner = word_ends[bisect_right(word_ends, first) : bisect_left(word_ends, last)]
        spans += zip([first, *inner], [*inner, last], strict=True)
    return spans
