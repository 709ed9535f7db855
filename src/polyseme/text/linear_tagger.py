"""A linear tagger: does a word end after this character? Small weights vote, for all characters of a text at once.

The features around a place (strings, and others that depend on the language) are hashed; each hash chooses a weight,
and if the sum is above zero, a word ends. Every place is decided independently from the few characters around it, so
the work is a few array operations over the whole text.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

Span = tuple[int, int]
Codes = npt.NDArray[np.uint32]
Flags = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]
Lexicon = npt.NDArray[np.uint16]  #: [slots]: twelve bits of a string's hash, then four of how often it is a word
Weights = npt.NDArray[np.int8] | npt.NDArray[np.float32]  #: [slots]; floats during training

_CHUNK = 1 << 14  # characters processed at once, so that the arrays stay in the cache


DIGIT, LETTER, KANA = ord("0"), ord("a"), ord("ア")
#: (first, last, what all between are read as): spaces, digits, Latin and kana, in every language.
SHARED_CLASSES = (
    ("\0", " ", 0),
    ("\u3000", "\u3000", 0),
    ("0", "9", DIGIT),
    ("A", "Z", LETTER),
    ("a", "z", LETTER),
    ("ぁ", "ヿ", KANA),
)


def make_reading(more: Iterable[tuple[str, str, int]]) -> Codes:
    """What each character is read as, by the classes of every language and those of one: [0x110000]."""
    reading = np.arange(0x110000, dtype=np.uint32)
    for first, last, code in (*SHARED_CLASSES, *more):
        reading[ord(first) : ord(last) + 1] = code
    return reading


def raw_codes(text: str) -> Codes:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def read_codes(raw: Codes, reading: Codes, context: int) -> tuple[Codes, Places]:
    """The characters as the tagger reads them, and the new position of each.

    ``context`` zeros follow every line, so that lines do not see each other.
    """
    lines_before = np.cumsum((raw == 0x0A) | (raw == 0x0D))
    place = np.arange(len(raw)) + context * lines_before
    codes = np.zeros(len(raw) + context * (1 + int(lines_before[-1:].sum())), np.uint32)
    codes[place] = reading[raw]
    return codes, place


def mix(values: Codes) -> Codes:
    """Spread 32 bits over 32 bits (the finaliser of MurmurHash3)."""
    values = (values ^ (values >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    values = (values ^ (values >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return values ^ (values >> np.uint32(16))


def hash_strings(codes: Codes, longest: int) -> Codes:
    """Row n - 1 has the hash of the n characters from each place on, past the end 0: [longest, C]."""
    padded = np.concatenate([codes, np.zeros(longest, np.uint32)])
    hashes = np.empty((longest, len(codes)), np.uint32)
    so_far = np.zeros(len(codes), np.uint32)
    for row in range(longest):
        so_far = hashes[row] = so_far * np.uint32(0x01000193) + padded[row : row + len(codes)] + np.uint32(1)
    return mix(hashes)


def look_up(lexicon: Lexicon, hashes: Codes) -> Codes:
    """The word rates, 1 to 15, of strings with these hashes; 0 if they are not in the lexicon."""
    found = lexicon[hashes >> np.uint32(33 - len(lexicon).bit_length())].astype(np.uint32)
    rates: Codes = (found & np.uint32(15)) * (found >> np.uint32(4) == (hashes & np.uint32(0xFFF)))
    return rates


def choose_slots(votes: Sequence[Codes], slots: int) -> Codes:
    """The weight that each vote uses; the same string uses a different one in each role: [F, C]."""
    roles = np.arange(len(votes), dtype=np.uint32)[:, None] * np.uint32(0x9E3779B9)
    mixed = np.concatenate(votes).reshape(len(votes), -1) ^ roles
    return (mixed * np.uint32(0x9E3779B1)) >> np.uint32(33 - slots.bit_length())


def sum_votes(
    codes: Codes, asked: Flags, find_features: Callable[[Codes, Places], Codes], weights: Weights, context: int
) -> npt.NDArray[np.float32]:
    """The sum of the votes for a word's end after each asked place, elsewhere 0: [C].

    ``find_features`` takes a piece of the codes and places in it, and returns the slots that vote there: [F, places].
    """
    votes = np.zeros(len(codes), np.float32)
    for start in range(0, len(codes), _CHUNK):
        places = np.flatnonzero(asked[start : start + _CHUNK])
        left = min(start, context)
        slots = find_features(codes[start - left : start + _CHUNK + context], places + left)
        votes[start + places] = weights[slots].sum(axis=0, dtype=np.float32)
    return votes


def cut(span: Span, ends: list[int]) -> list[Span]:
    """A span, split at those of the ends that are inside it."""
    first, last = span
    inner = ends[bisect_right(ends, first) : bisect_left(ends, last)]
    return list(zip([first, *inner], [*inner, last], strict=True)) if inner else [span]
