"""Korean words, and their morphemes by a small linear tagger: nouns without particles, stems without endings.

    배를 타고 먼바다로 나갔다|.              eojeol: the text between spaces, with punctuation split off
    배|를 타|고 먼|바다|로 나갔|다|.         morphemes

An eojeol is a word of the UD Korean treebank. Numbers and names keep their inner marks and anything attached to them:
2,700만, 24~26cm의, AK-47을.

Words are split only between syllables: 갔 is 가 and 았 in one syllable, and stays one unit. The syllables around a
place, and the strings from it to both ends of its eojeol, vote with small weights. Sentences are those of whole eojeol.
benchmarks/train_korean.py learns the weights; data/README.md says from what.
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
    Weights,
    choose_slots,
    hash_strings,
    look_up,
    mix,
    raw_codes,
    sum_votes,
)
from polyseme.text.sentences import split_sentences

Span = tuple[int, int]

_LETTERS = rf"[^\Wㆍ]++(?:[{MARK}]++[^\Wㆍ]*+)*"  # ㆍ is a letter to Unicode and a middle dot to everyone

TOKEN = re.compile(
    rf"""
    (?=\S)(?:                                                                         # quickly past spaces
    [가-힣]++(?=\s|\Z)                                                                 # most words: the short way
  | (?:https?|ftp)://[^\s<>"“”가-힣]*[A-Za-z0-9/] | [\w.+-]{{1,64}}+@[\w-]++(?:\.[\w-]++)*
  | [A-Za-z]\.(?![A-Za-z]{{2}})                                                        # J.
  | {_LETTERS}(?:(?:[-~&]|(?<=\d)[.,:](?=\d)|(?<=[A-Za-z\d])\.(?=[a-z])){_LETTERS})*
  | \.{{3,}}+ | ([!?^;])\1+ | '' | `` | -{{2,}}+
  | {SYMBOL})
    """,
    re.VERBOSE,
)

# Polite verb endings end a sentence even without a mark, as in most reviews and messages.
POLITE = re.compile(r"[가-힣]+(?:니다|[어아여네세구고해군나데에예려워와지대래져줘되돼게께까봐써]요|시오|죠)\Z")

TABLES = Path(__file__).parent / "data" / "korean.npz"
LEXICON_SLOTS, WEIGHT_SLOTS = 1 << 20, 1 << 21
REACH = 6  # characters of an eojeol used on each side of a place; also the longest string in the lexicon
BESIDE = 3  # characters used beyond an eojeol
CONTEXT = REACH + BESIDE + 1  # characters on each side of a place that may influence its decision

HAN = ord("漢")
CLASSES = (("À", "ɏ", linear_tagger.LETTER), ("㐀", "\u9fff", HAN), ("\uf900", "\ufaff", HAN))
_JOINERS = np.array([ord(mark) for mark in "-~&"], np.uint32)  # inside an eojeol: 24~26, AK-47, 한-미


def find_words(text: str, start: int, end: int) -> list[Span]:
    """The words of ``text[start:end]``, a line, as spans of ``text``."""
    return [match.span() for match in TOKEN.finditer(text, start, end)]


def find_sentences(text: str, start: int, end: int) -> list[list[Span]]:
    """The words of a line, grouped into sentences."""
    return split_sentences(text, find_words(text, start, end), POLITE)


@dataclass(frozen=True, slots=True)
class MorphemeTables:
    """The learned tables of the tagger."""

    lexicon: Lexicon  # [LEXICON_SLOTS]
    weights: Weights  # [WEIGHT_SLOTS]


@cache
def load_tables(path: Path = TABLES) -> MorphemeTables:
    with np.load(path) as arrays:
        return MorphemeTables(arrays["lexicon"], arrays["weights"])


@cache
def reading() -> Codes:
    """Read digits, Latin, Han and kana as one code each, spaces as 0: [0x110000]."""
    return linear_tagger.make_reading(CLASSES)


def compose(raw: Codes) -> tuple[Codes, Places]:
    """Compose conjoining letters (decomposed Hangul) into syllables; for each, the position of its last letter."""
    lead, vowel, tail = raw - np.uint32(0x1100), raw - np.uint32(0x1161), raw - np.uint32(0x11A7)
    opens = np.flatnonzero((lead[:-1] < 19) & (vowel[1:] < 21))
    codes, kept = raw.copy(), np.ones(len(raw), bool)
    codes[opens] = 0xAC00 + (lead[opens] * 21 + vowel[opens + 1]) * 28
    kept[opens + 1] = False
    closed = opens[opens + 2 < len(raw)]
    closed = closed[(tail[closed + 2] - 1) < 27]
    codes[closed] += tail[closed + 2]
    kept[closed + 2] = False
    return codes[kept], np.append(np.flatnonzero(kept)[1:], len(raw))[: kept.sum()] - 1


def is_syllable(codes: Codes) -> Flags:
    return (codes >= 0xAC00) & (codes <= 0xD7A3)


def is_letter(codes: Codes) -> Flags:
    """Whether each code can be part of an eojeol: syllables, single Hangul letters (ㅋㅋ), and the classes."""
    found: Flags = is_syllable(codes) | ((codes >= 0x3131) & (codes <= 0x318E) & (codes != ord("ㆍ")))
    for code in (linear_tagger.DIGIT, linear_tagger.LETTER, HAN, linear_tagger.KANA):
        found |= codes == code
    return found


# What votes on whether a morpheme ends after place 0. Strings, by length and first place:
_STRINGS = (
    *((1, first) for first in range(-2, 4)),
    *((2, first) for first in range(-2, 3)),
    *((3, first) for first in range(-2, 2)),
)
# Word rates of strings that end at place 0, begin at place 1 or lie across:
_ENDING = tuple((length, 1 - length) for length in range(1, REACH + 1))
_BEGINNING = tuple((length, 1) for length in range(1, REACH + 1))
_ACROSS = tuple((length, first) for length in (2, 3, 4) for first in range(2 - length, 1))
# Word rates of two neighbours, and of what lies across:
_NEIGHBOURS = (((2, -1), (2, 1)), ((3, -2), (2, 1)), ((2, -1), (3, 1)))


def find_features(codes: Codes, places: Places, lexicon: Lexicon) -> Codes:
    """The slots of the weights that vote at these places: [F, places]."""
    beside = np.zeros(CONTEXT, np.uint32)
    padded = np.concatenate([beside, codes, beside])
    hashes = hash_strings(padded, REACH)  # [REACH, C]
    rates = look_up(lexicon, hashes)
    here = places + CONTEXT
    first, end = _eojeol_around(padded, here)

    def string(length: int, start: int) -> Codes:
        found: Codes = hashes[length - 1].take(here + start)
        return found

    def rate(length: int, start: int) -> Codes:
        found: Codes = rates[length - 1].take(here + start)
        return found

    def joint(*levels: Codes) -> Codes:
        joined = levels[0]
        for level in levels[1:]:
            joined = joined * np.uint32(16) + level
        return mix(joined)

    left = hashes[here - first, first]  # the eojeol up to this place, and after it
    right = hashes[end - here - 2, here + 1]
    left_rate, right_rate = rates[here - first, first], rates[end - here - 2, here + 1]
    before, after = (here + 1 - first).astype(np.uint32), (end - here - 1).astype(np.uint32)
    preceding, following = (hashes[BESIDE - 1].take(at) * np.uint32(3) for at in (first - BESIDE, end))
    last, next_one, across = string(1, 0), string(1, 1), rate(2, 0)

    votes = [string(*one) for one in _STRINGS]
    votes += [left, right, left + next_one, right + last, joint(before, after)]
    votes += [last + mix(before), next_one + mix(after)]
    votes += [right + following, right + last + preceding, string(2, 0) + following]

    ending, beginning, lying = ([rate(*one) for one in which] for which in (_ENDING, _BEGINNING, _ACROSS))
    votes += [mix(level) for level in (*ending, *beginning, *lying)]
    best_left, best_right = np.maximum.reduce(ending[1:]), np.maximum.reduce(beginning[1:])
    best_across = np.maximum.reduce(lying)
    votes += [joint(best_left, best_right, best_across)]
    votes += [joint(np.minimum(before, 4), np.minimum(after, 4), left_rate, right_rate)]
    votes += [joint(rate(*one), rate(*other), across) for one, other in _NEIGHBOURS]
    votes += [right + mix(left_rate), left + mix(right_rate), next_one + joint(left_rate, right_rate)]
    votes += [last + mix(best_right), next_one + mix(best_left)]
    votes += [last + joint(best_right, best_across), next_one + joint(best_left, best_across)]
    votes += [last + mix(across), next_one + mix(across), last + mix(rate(2, -1)), next_one + mix(rate(2, 1))]
    return choose_slots(votes, WEIGHT_SLOTS)


def _eojeol_around(codes: Codes, place: Places) -> tuple[Places, Places]:
    """[start, end) of the eojeol around each place, at most REACH away."""
    letter, index = is_letter(codes), np.arange(len(codes))
    first = np.maximum.accumulate(np.where(letter, 0, index + 1))
    end = np.minimum.accumulate(np.where(letter, len(codes), index)[::-1])[::-1]
    return (
        np.clip(first[place], place + 1 - REACH, place),
        np.clip(end[place + 1], place + 1, place + 1 + REACH),
    )


def may_part(codes: Codes) -> Flags:
    """Between which neighbours a morpheme may end: two letters, one of them a syllable."""
    syllable, letter = is_syllable(codes), is_letter(codes)
    parts: Flags = (syllable[:-1] & letter[1:]) | (letter[:-1] & syllable[1:])
    return parts


def must_part(codes: Codes) -> Flags:
    """Between which neighbours a morpheme always ends: around a joiner that has a syllable on either side."""
    syllable = np.concatenate([[False], is_syllable(codes), [False]])
    joiner = np.isin(codes, _JOINERS) & (syllable[:-2] | syllable[2:])
    parts: Flags = (joiner[:-1] | joiner[1:]) & (codes[:-1] != 0) & (codes[1:] != 0)
    return parts


def find_morpheme_ends(text: str) -> list[int]:
    """The places in the text where one morpheme ends and the next begins immediately, in order."""
    tables = load_tables()
    composed, last = compose(raw_codes(text))
    codes, place = linear_tagger.read_codes(composed, reading(), CONTEXT)
    votes = sum_votes(codes, may_part(codes), partial(find_features, lexicon=tables.lexicon), tables.weights, CONTEXT)
    ends = votes > 0
    ends[:-1] |= must_part(codes)
    found: list[int] = (last[ends[place]] + 1).tolist()
    return found
