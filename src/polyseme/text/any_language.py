"""Words of any language: runs of letters in scripts with spaces, short pieces in scripts without, punctuation apart.

Words keep inner apostrophes and hyphens (п'ять, кто-то, anak-anak), numbers their inner marks (3,14 and 12:30), and
initials, titles without a vowel and ordinals their point (J. Verne, Dr. Faust, am 3. Mai).
"""

from __future__ import annotations

import re

from polyseme.text.scripts import LETTERS, SYMBOL, UNSPACED_WORD

Span = tuple[int, int]

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
