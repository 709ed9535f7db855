"""Words of any language: runs of letters in scripts with spaces, short pieces in scripts without, and punctuation.

Words keep inner apostrophes and hyphens (п'ять, кто-то, anak-anak), numbers their inner marks (3,14 and 12:30), and
initials, titles without a vowel and ordinals their point (J. Verne, Dr. Faust, am 3. Mai).

All tokenisers use the pieces of the regular expression, which define the characters of words in each script. ``\\w``
alone breaks words: it excludes combining marks, without which Hindi, Thai or decomposed French fall apart. The marks
come from Python's own Unicode tables.

Characters are repeated possessively, but groups are not: Python 3.11.2, in Debian 12, would find empty tokens. Nothing
is lost, because each repetition of a group begins with a character that cannot end the one before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from unicodedata import category

# The blocks with combining marks; the others are Han, Hangul, private or unassigned.
_BLOCKS = (range(0x300, 0x3400), range(0xA000, 0xAC00), range(0xFB00, 0x12000), range(0x16A00, 0x1F000))

# Not letters by themselves: joiners, soft hyphen, direction marks, word joiner, variation selectors, skin tones.
_ATTACHED = "\u00ad\u200c-\u200f\u2060\U000e0100-\U000e01ef\U0001f3fb-\U0001f3ff"
Span = tuple[int, int]


def _marks() -> Iterator[str]:
    """Combining marks, as ``a-z`` ranges of a character class."""
    for block in _BLOCKS:
        start = None
        for code in block:
            if category(chr(code))[0] == "M":
                start = code if start is None else start
            elif start is not None:
                yield f"{chr(start)}-{chr(code - 1)}"
                start = None


# The contents of character classes.
MARK = "".join(_marks()) + _ATTACHED
HAN = "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
HIRAGANA = "\u3041-\u309f"
KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
# Further scripts without spaces between words: Thai, Lao, Tibetan, Myanmar, Khmer, Tai, Javanese.
CLUSTERED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u0f40-\u0fbc\u1000-\u109f\u1780-\u17d3\u1950-\u19df"
    "\u1a20-\u1aad\ua980-\ua9d9\uaa60-\uaadf"
)
_UNSPACED = HAN + HIRAGANA + KATAKANA + CLUSTERED

# One or more letters, digits or underscores of a script that writes spaces, with their marks.
LETTERS = rf"[^\W{_UNSPACED}]++(?:[{MARK}]++[^\W{_UNSPACED}]*+)*"

# A piece of a script without spaces: one Han character, a run of kana, one written syllable with its vowel signs.
UNSPACED_WORD = (
    rf"[{HAN}][{MARK}]*+|[{HIRAGANA}]++[{MARK}]*+|[{KATAKANA}]++[{MARK}]*+"
    rf"|[\u0e40-\u0e44\u0ec0-\u0ec4]?+[{CLUSTERED}][{MARK}\u0e30\u0e32\u0e33\u0eb0\u0eb2\u0eb3]*+"
)

# Anything else: a flag, one character with its marks, or a chain of them held together by joiners (emoji).
SYMBOL = rf"[\U0001f1e6-\U0001f1ff]{{2}}|\S[{MARK}]*+(?:(?<=\u200d)[^\w\s][{MARK}]*+)*"


TOKEN = re.compile(
    rf"""
    (?=\S)(?:                                                                         # quickly past spaces
    (?:https?|ftp)://[^\s<>"“”]*[^\s<>"“”.,;:!?'’)\]}}…] | [\w.+-]{{1,64}}+@[\w-]++(?:\.[\w-]++)+
  | {UNSPACED_WORD}
  | (?:[^\W\d_]\.){{2,8}}                                                             # U.S., т.е.
  | (?:[A-ZÀ-ÖØ-ÞΑ-ΩА-ЯЁІЇЄҐ]|[B-DF-HJ-NP-TV-Z][b-df-hj-np-tv-z]{{1,3}}|\d{{1,2}})\.(?=\s\w)  # J., Dr., 3.
  | {LETTERS}(?:(?:[-'’·‐‑\u05f3\u05f4]|(?<=\d)[.,:/](?=\d)){LETTERS})*
  | \.{{2,}}+ | ([!?…-])\1+
  | {SYMBOL})
    """,
    re.VERBOSE,
)


def find_words(text: str, start: int, end: int) -> list[Span]:
    """The words of ``text[start:end]``, a line, as spans of ``text``."""
    return [match.span() for match in TOKEN.finditer(text, start, end)]
