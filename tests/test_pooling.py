"""elmo.vectors and elmo.word_vectors: matrices of texts, whatever kind of list they come in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.random_models import random_model
from polyseme import Elmo
from polyseme.errors import ConfigError, InputError

TEXTS = ["Here is your birthday present.", "", "Live in the present!", "The Present is past; at present."]


@pytest.fixture(scope="module")
def elmo() -> Elmo:
    return Elmo(replace(random_model(), card={"name": "test", "languages": ["en"]}))


def test_a_matrix_has_a_row_for_each_text(elmo: Elmo) -> None:
    vectors = elmo.vectors(TEXTS)
    assert vectors.shape == (4, 16) and vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, np.stack([encoding.mean() for encoding in elmo.encode(TEXTS)]))
    assert not vectors[1].any()
    assert elmo.vectors([]).shape == (0, 16)


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        ("mean", lambda v: v.mean(axis=0)),
        ("max", lambda v: v.max(axis=0)),
        ("first", lambda v: v[0]),
        (lambda v: np.median(v, axis=0), lambda v: np.median(v, axis=0)),
    ],
)
def test_poolings(elmo: Elmo, pool: Any, expected: Any) -> None:
    found = elmo.vectors([TEXTS[0], ""], pool)
    np.testing.assert_allclose(found[0], expected(elmo.encode(TEXTS[0]).vectors), rtol=1e-6)
    assert not found[1].any(), "nothing to pool: zero, and a function of one's own is not called"


def test_normalized_vectors_have_length_one_and_zero_stays_zero(elmo: Elmo) -> None:
    lengths = np.linalg.norm(elmo.vectors(TEXTS, normalize=True), axis=1)
    np.testing.assert_allclose(lengths, [1, 0, 1, 1], rtol=1e-6)


@settings(max_examples=15)
@given(st.lists(st.text(max_size=20), max_size=4))
def test_every_kind_of_list_gives_the_same(elmo: Elmo, texts: list[str]) -> None:
    expected = elmo.vectors(texts)
    for kind in (tuple, lambda x: np.array(x, dtype=object)):
        np.testing.assert_array_equal(elmo.vectors(kind(texts)), expected)


def test_numpy_strings(elmo: Elmo) -> None:
    np.testing.assert_array_equal(elmo.vectors(np.array(TEXTS)), elmo.vectors(TEXTS))
    assert type(elmo.encode(np.array(TEXTS))[0].text) is str


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_column_of_a_table(elmo: Elmo, package: str) -> None:
    tables = pytest.importorskip(package)
    table = tables.DataFrame({"review": TEXTS})
    np.testing.assert_array_equal(elmo.vectors(table["review"]), elmo.vectors(TEXTS))
    assert elmo.encode(table["review"])[0].text == TEXTS[0]
    with pytest.raises(InputError, match="a DataFrame was given; give one column"):
        elmo.vectors(table)
    with pytest.raises(InputError, match="a text is missing"):
        elmo.vectors(tables.DataFrame({"review": ["a", None]})["review"])


def test_sentences_that_are_split_already(elmo: Elmo) -> None:
    np.testing.assert_array_equal(elmo.vectors([["Live", "here"]])[0], elmo.encode_tokens([["Live", "here"]])[0].mean())


def test_word_vectors_are_those_of_the_encodings(elmo: Elmo) -> None:
    vectors, places = elmo.word_vectors(TEXTS, "present")
    assert [TEXTS[place.text][place.begin : place.end] for place in places] == [
        "present",
        "present",
        "Present",
        "present",
    ]
    encodings = elmo.encode(TEXTS)
    np.testing.assert_array_equal(vectors, np.stack([encodings[p.text].vectors[p.token] for p in places]))
    nowhere = elmo.word_vectors(TEXTS, "bank")
    assert nowhere.vectors.shape == (0, 16) and nowhere.places == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda elmo: elmo.vectors("one text"), "a list of texts was expected"),
        (lambda elmo: elmo.vectors({"a": 1}), "a list of texts was expected"),
        (lambda elmo: elmo.vectors([1.5]), "a text should be a string"),
        (lambda elmo: elmo.vectors([float("nan")]), "a text is missing"),
        (lambda elmo: elmo.word_vectors(["a"], " "), "a word was expected"),
    ],
)
def test_what_is_no_list_of_texts(elmo: Elmo, call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call(elmo)


def test_a_pooling_that_there_is_not(elmo: Elmo) -> None:
    with pytest.raises(ConfigError, match="should be one of mean, max, first"):
        elmo.vectors(TEXTS, "median")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"returned the shape \[\] where \[16\] was expected"):
        elmo.vectors(TEXTS, lambda vectors: vectors.max())


def test_progress_counts_texts(elmo: Elmo) -> None:
    events = []
    elmo.vectors(TEXTS, progress=events.append)
    assert events[-1].done == events[-1].total == 4


def test_repr_says_what_it_is(elmo: Elmo) -> None:
    assert repr(elmo) == "Elmo('test', 3 layers of 16, lang='en', state='reset', device='cpu')"
