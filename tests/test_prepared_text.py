"""Brackets mark the words of a question: one target, found at its place in the text without them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.errors import InputError
from polyseme.prepared_text import read_target

PLAIN = st.text(st.characters(exclude_characters="[]"), max_size=20)


@given(PLAIN, PLAIN.filter(bool), PLAIN)
def test_the_marked_words_stand_where_it_says(before: str, target: str, after: str) -> None:
    text, span = read_target(f"{before}[{target}]{after}")
    assert text == before + target + after
    assert span is not None and text[slice(*span)] == target


@given(PLAIN)
def test_nothing_marked_nothing_found(text: str) -> None:
    assert read_target(text) == (text, None)


def test_empty_brackets_mark_nothing() -> None:
    assert read_target("a [] b") == ("a [] b", None)


def test_two_marks_are_one_too_many() -> None:
    with pytest.raises(InputError, match=r"2 are marked: \[a\], \[b\]"):
        read_target("[a] [b]")


def test_a_text_is_a_string() -> None:
    with pytest.raises(InputError, match="of type bytes"):
        read_target(b"[a]")  # type: ignore[arg-type]
