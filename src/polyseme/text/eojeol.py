"""Korean as the UD Korean treebank has it: what stands between spaces (an eojeol), with punctuation split off.

Numbers and names keep their inner marks and what is written on to them: 2,700만, 24~26cm의, AK-47을.
"""

from __future__ import annotations

import re

from polyseme.text.scripts import MARK, SYMBOL
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

# Polite verb endings close a sentence even where no mark is written, as in most reviews and messages.
POLITE = re.compile(r"[가-힣]+(?:니다|[어아여네세구고해군나데에예려워와지대래져줘되돼게께까봐써]요|시오|죠)\Z")


def find_words(text: str, start: int, end: int) -> list[Span]:
    """The words of ``text[start:end]``, a line, as spans of ``text``."""
    return [match.span() for match in TOKEN.finditer(text, start, end)]


def find_sentences(text: str, start: int, end: int) -> list[list[Span]]:
    """The words of a line in groups, one a sentence."""
    return split_sentences(text, find_words(text, start, end), POLITE)
