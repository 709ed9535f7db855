"""read_squad: answers by characters become answers by tokens, where they have a place among them."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.paths import DATA, needs
from polyseme.errors import InputError
from polyseme.tasks.squad.data import paragraph_of, read_squad, token_span
from polyseme.text.tokenization import split_text

CONTEXT = "Dr. Smith's dog barked. It was 24-year-old Rex (1990–2014)."


def squad(answers: list[dict[str, Any]], **question: Any) -> dict[str, Any]:
    item = {"id": "q1", "question": "Who barked? Really?", "answers": answers} | question
    return {"data": [{"title": "t", "paragraphs": [{"context": CONTEXT, "qas": [item]}]}]}


def write(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content))
    return path


def answer(text: str, start: int | None = None) -> dict[str, Any]:
    return {"text": text, "answer_start": CONTEXT.index(text) if start is None else start}


def test_an_answer_is_found_among_the_tokens(tmp_path: Path) -> None:
    path = write(tmp_path / "s.json", squad([answer("Smith's dog"), answer("Rex")]))
    [question] = read_squad(path, split_text)
    paragraph = question.paragraph
    assert question.tokens == ("Who", "barked", "?", "Really", "?")
    assert question.answers == ("Smith's dog", "Rex")
    assert [paragraph.tokens[a:b] for a, b in question.spans] == [("Smith", "'s", "dog"), ("Rex",)]
    assert [paragraph.answer(a, b) for a, b in question.spans] == ["Smith's dog", "Rex"]
    assert [paragraph.tokens[b - 1] for _, b in paragraph.sentences] == [".", "."]


def test_answers_inside_tokens_are_whole_ones_and_misplaced_ones_have_no_place(tmp_path: Path) -> None:
    given_answers = [answer("mit"), answer("Rex", 0), answer("dog"), answer("x", -5), answer("y", 10_000)]
    [question] = read_squad(write(tmp_path / "s.json", squad(given_answers)), split_text)
    assert len(question.answers) == 5
    assert [question.paragraph.answer(*span) for span in question.spans] == ["Smith", "dog"]


def test_context_and_question_are_split_as_it_is_asked(tmp_path: Path) -> None:
    path = write(tmp_path / "s.json", squad([answer("dog")]))
    [question] = read_squad(path, partial(split_text, lang="whitespace"))
    assert question.tokens == ("Who", "barked?", "Really?")
    assert question.paragraph.tokens == tuple(CONTEXT.split())


@given(st.integers(0, len(CONTEXT)), st.integers(0, len(CONTEXT)))
def test_the_span_holds_exactly_the_tokens_that_share_a_character(a: int, b: int) -> None:
    start, end = sorted((a, b))
    offsets = paragraph_of(CONTEXT, split_text(CONTEXT)).offsets
    touched = [i for i, (left, right) in enumerate(offsets) if left < end and start < right and start < end]
    found = token_span(offsets, start, end)
    if start == end:
        return  # an empty answer is refused before
    assert (list(range(*found)) if found else []) == touched


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([], "no list 'data'"),
        ({"data": []}, "no question"),
        ({"data": [{"paragraphs": [{"context": "", "qas": []}]}]}, "article 0, paragraph 0 has no text 'context'"),
        (squad([{"text": "dog"}]), "question 'q1': answer_start should be a whole number, but is None"),
        (squad([answer("dog")], question=None), "question 'q1' has no text 'question'"),
        (squad([{"answer_start": 0}]), "has no text 'text'"),
    ],
)
def test_another_structure_is_refused_with_its_place(tmp_path: Path, content: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_squad(write(tmp_path / "s.json", content), split_text)


def test_ids_are_unique_and_json_is_json(tmp_path: Path) -> None:
    content = squad([answer("dog")])
    content["data"] *= 2
    with pytest.raises(InputError, match="two questions with the id 'q1'"):
        read_squad(write(tmp_path / "s.json", content), split_text)
    (tmp_path / "s.json").write_text("{")
    with pytest.raises(InputError, match="is not JSON"):
        read_squad(tmp_path / "s.json", split_text)


@pytest.mark.shared
@needs(DATA / "squad")
def test_almost_every_answer_of_xquad_begins_and_ends_with_a_token() -> None:
    found = read_squad(DATA / "squad" / "xquad.en.json.xz", split_text)
    assert len(found) == 1190
    assert all(len(question.answers) == len(question.spans) == 1 for question in found)
    inside = [q for q in found if q.paragraph.answer(*q.spans[0]) != q.answers[0].strip()]
    assert len(inside) <= 5
