"""Where sentences end, given the words of a line: after . ! ? and their equivalents in every script, and any quotes.

A point that belongs to a word (Dr., U.S., 3.5) never ends a sentence: the tokenisers keep it inside the word.
"""

from __future__ import annotations

import re

Span = tuple[int, int]

# Ends a sentence if a space follows: Latin, Arabic, Devanagari, Armenian, Ethiopic, Myanmar, Khmer, Mongolian …
SPACED = frozenset(".!?…‥‼⁇⁈⁉⸮؟۔।॥։።፧፨။។៕᙮᠃᠉᱾᱿꘎꘏꛳꛷꩝꩞꩟꫰꫱꯫")
# Ends a sentence whatever follows.
UNSPACED = frozenset("。！？｡．")
_MARKS = SPACED | UNSPACED
CLOSING = frozenset("\"'”’»›)]}）］｝】》〉」』〕〗〙〛＂＇")

EMOTICON = re.compile(r"[:;=^][-^_']*[\w)(^/|\]\[]+|[~♥♡ㅋㅎㅠㅜ]+")


def split_sentences(text: str, spans: list[Span], polite: re.Pattern[str] | None = None) -> list[list[Span]]:
    """The words of one line, grouped into sentences.

    Words that ``polite`` matches end a sentence without any mark (Korean).
    """
    sentences = []
    first = following = 0
    for at, (start, end) in enumerate(spans):
        if at < following:
            continue
        if text[end - 1] in _MARKS and text[start] in _MARKS:
            following = _after_emoticons(text, spans, _after_closing(text, spans, at))
            ends = following < len(spans) and _ends_with_mark(text, spans, first, at, following)
        elif polite and polite.match(text, start, end):
            following = _after_emoticons(text, spans, at + 1)
            ends = following < len(spans) and _ends_with_word(text, spans, following)
        else:
            continue
        if ends:
            sentences.append(spans[first:following])
            first = following
    if first < len(spans):
        sentences.append(spans[first:])
    return sentences


def _after_closing(text: str, spans: list[Span], mark: int) -> int:
    """The first word after an ending mark and the marks attached to it."""
    following = mark + 1
    while following < len(spans):
        start = spans[following][0]
        if start > spans[following - 1][1] or not (text[start] in CLOSING or text[start] in _MARKS):
            break
        following += 1
    return following


def _after_emoticons(text: str, spans: list[Span], following: int) -> int:
    while following < len(spans) and EMOTICON.fullmatch(text, *spans[following]):
        following += 1
    return following


def _ends_with_word(text: str, spans: list[Span], following: int) -> bool:
    """Whether a sentence ends with a polite word before the word ``following``, with a space and no punctuation."""
    start = spans[following][0]
    return start > spans[following - 1][1] and text[start].isalnum()


def _ends_with_mark(text: str, spans: list[Span], first: int, mark: int, following: int) -> bool:
    """Whether the sentence that began at word ``first`` ends with ``mark``, before the word ``following``."""
    start = spans[following][0]
    if start == spans[following - 1][1] and text[spans[mark][0]] not in UNSPACED:
        return False
    if text[start] in _MARKS:  # . . .
        return False
    if mark == first + 1 and text[slice(*spans[first])].isdecimal():  # 1. Introduction
        return False
    return not text[start].islower() or _ends_before_lower_case(text, spans, mark, following)


def _ends_before_lower_case(text: str, spans: list[Span], mark: int, following: int) -> bool:
    """Careless writers begin sentences in lower case; but not after "What?" or a short word (an abbreviation)."""
    start, end = spans[mark]
    if following > mark + 1 or end > start + 1 or text[start] == "…" or mark == 0:
        return False
    before = text[slice(*spans[mark - 1])]
    return text[start] != "." or (len(before) > 3 and before.isalpha())
