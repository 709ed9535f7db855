"""Python 3.11.2 finds empty tokens where a group, or a reference to one, is repeated possessively."""

from __future__ import annotations

import re
from collections.abc import Iterator
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from polyseme.text import any_language, chinese, english, korean, sentences

SINGLE = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN)


def possessive(parts: Any) -> Iterator[Any]:
    """What is repeated possessively, however deep."""
    for kind, value in parts:
        if kind is op.POSSESSIVE_REPEAT:
            yield value[2]
        for inside in _inner(kind, value):
            yield from possessive(inside)


def _inner(kind: Any, value: Any) -> list[Any]:
    if kind is op.BRANCH:
        return list(value[1])
    if kind in (op.SUBPATTERN, op.ASSERT, op.ASSERT_NOT):
        return [value[-1]]
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
        return [value[2]]
    return [value] if kind is op.ATOMIC_GROUP else []


@pytest.mark.parametrize(
    "pattern",
    [english.TOKEN, korean.TOKEN, korean.POLITE, chinese.TOKEN, any_language.TOKEN, sentences.EMOTICON],
    ids=["en", "ko", "polite", "zh", "any", "emoticon"],
)
def test_only_characters_are_repeated_possessively(pattern: re.Pattern[str]) -> None:
    repeated = list(possessive(_parser.parse(pattern.pattern, pattern.flags)))
    assert all(len(one) == 1 and one[0][0] in SINGLE for one in repeated)


def test_the_rule_sees_a_group() -> None:
    assert [len(one) for one in possessive(_parser.parse("a(?:bc)*+|[d]++"))] == [2, 1]
