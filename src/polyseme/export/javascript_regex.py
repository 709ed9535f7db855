"""A regular expression of Python as one of JavaScript that matches the same, to be compiled with the flag "v".

JavaScript knows no possessive repetition: (?=(?<name>…))\\k<name> does the same, because a lookahead is never entered
again. Its \\w, \\d, \\s and \\b know ASCII only, or other spaces, so all of them are spelled out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

_WORD = r"\p{L}\p{N}_"
_SPACE = r"\t-\r\u{1c}-\u{20}\u{85}\u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}"
_CATEGORIES = {
    op.CATEGORY_WORD: f"[{_WORD}]",
    op.CATEGORY_NOT_WORD: f"[^{_WORD}]",
    op.CATEGORY_DIGIT: r"\p{Nd}",
    op.CATEGORY_NOT_DIGIT: r"\P{Nd}",
    op.CATEGORY_SPACE: f"[{_SPACE}]",
    op.CATEGORY_NOT_SPACE: f"[^{_SPACE}]",
}
_PLACES = {
    op.AT_BEGINNING: r"(?<![\s\S])",
    op.AT_BEGINNING_STRING: r"(?<![\s\S])",
    op.AT_END_STRING: r"(?![\s\S])",
    op.AT_BOUNDARY: f"(?:(?<=[{_WORD}])(?![{_WORD}])|(?<![{_WORD}])(?=[{_WORD}]))",
    op.AT_NON_BOUNDARY: f"(?:(?<=[{_WORD}])(?=[{_WORD}])|(?<![{_WORD}])(?![{_WORD}]))",
}
_ASSERTIONS = {(op.ASSERT, 1): "=", (op.ASSERT, -1): "<=", (op.ASSERT_NOT, 1): "!", (op.ASSERT_NOT, -1): "<!"}


def javascript_regex(pattern: re.Pattern[str]) -> str:
    """The source of the expression. Group n of Python is called gn; of the flags only VERBOSE may be set."""
    if pattern.flags & ~(re.VERBOSE | re.UNICODE):
        raise ValueError(f"flags {re.RegexFlag(pattern.flags)!r} have no counterpart here")
    return _Translation().sequence(_parser.parse(pattern.pattern, pattern.flags))


class _Translation:
    """One expression; every atomic part gets a name of its own."""

    def __init__(self) -> None:
        self._names = (f"a{number}" for number in count())

    def sequence(self, parts: Iterable[tuple[Any, Any]]) -> str:
        return "".join(self._part(kind, value) for kind, value in parts)

    def _part(self, kind: Any, value: Any) -> str:
        if kind is op.LITERAL:
            return _character(value)
        if kind is op.NOT_LITERAL:
            return f"[^{_character(value)}]"
        if kind is op.ANY:
            return r"[^\n]"
        if kind is op.IN:
            return _character_class(value)
        if kind is op.AT:
            return _PLACES[value]
        if kind is op.BRANCH:
            return f"(?:{'|'.join(self.sequence(choice) for choice in value[1])})"
        if kind is op.SUBPATTERN:
            number, added, removed, inside = value
            assert not added and not removed
            return f"(?{':' if number is None else f'<g{number}>'}{self.sequence(inside)})"
        if kind is op.GROUPREF:
            return rf"\k<g{value}>"
        if kind is op.ATOMIC_GROUP:
            return self._atomic(self.sequence(value))
        if kind is op.POSSESSIVE_REPEAT:
            return self._atomic(self._repeated(*value))
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            return self._repeated(*value) + ("?" if kind is op.MIN_REPEAT else "")
        if kind in (op.ASSERT, op.ASSERT_NOT):
            direction, inside = value
            return f"(?{_ASSERTIONS[kind, direction]}{self.sequence(inside)})"
        raise ValueError(f"{kind} has no counterpart in JavaScript")

    def _repeated(self, least: int, most: Any, inside: Any) -> str:
        bounds = f"{{{least},{'' if most is op.MAXREPEAT else most}}}"
        return f"(?:{self.sequence(inside)}){bounds}"

    def _atomic(self, source: str) -> str:
        name = next(self._names)
        return rf"(?:(?=(?<{name}>{source}))\k<{name}>)"


def _character_class(items: list[tuple[Any, Any]]) -> str:
    parts = []
    for kind, value in items:
        if kind is op.NEGATE:
            parts.append("^")
        elif kind is op.LITERAL:
            parts.append(_character(value))
        elif kind is op.RANGE:
            parts.append(f"{_character(value[0])}-{_character(value[1])}")
        else:
            parts.append(_CATEGORIES[value])
    return f"[{''.join(parts)}]"


def _character(code: int) -> str:
    return chr(code) if chr(code).isascii() and chr(code).isalnum() else rf"\u{{{code:x}}}"
