"""A target word marked in its sentence with brackets: "Live in the [present]." """

from __future__ import annotations

import re

from polyseme.errors import InputError

_MARKED = re.compile(r"\[([^\[\]]+)\]")


def read_target(text: str) -> tuple[str, tuple[int, int] | None]:
    """The text without the brackets, and where the marked words stand in it; None where nothing is marked.

    >>> read_target("Live in the [present].")
    ('Live in the present.', (12, 19))
    """
    if not isinstance(text, str):
        raise InputError(f"a text should be a string, but {text!r} is of type {type(text).__name__}")
    marks = list(_MARKED.finditer(text))
    if not marks:
        return text, None
    if len(marks) > 1:
        words = ", ".join(mark.group() for mark in marks)
        raise InputError(f"one target was expected in brackets, but {len(marks)} are marked: {words}")
    (mark,) = marks
    plain = text[: mark.start()] + mark.group(1) + text[mark.end() :]
    return plain, (mark.start(), mark.end() - 2)


def split_at_target(text: str) -> tuple[str, str, str]:
    """What stands before the marked words, these, and what stands behind them; nothing is marked: all is before them.

    >>> split_at_target("Live in the [present].")
    ('Live in the ', 'present', '.')
    """
    plain, span = read_target(text)
    begin, end = span or (len(plain), len(plain))
    return plain[:begin], plain[begin:end], plain[end:]
