"""A model that reads morphemes: text in units, and one row for each token that is given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from helpers.small_lms import small_lm
from polyseme.elmo import Elmo
from polyseme.index.vector_index import Index
from polyseme.lm.scoring import score
from polyseme.text.tokenization import part_words

TEXT = "어부들은 작은 배를 탔다. 배가 고팠다."
WORDS = ["어부들은", "작은", "배를", "탔다", "."]


def morpheme_model(lang: str | None = None) -> Elmo:
    stored = small_lm(lang="ko")
    return Elmo(replace(stored, card={**stored.card, "unit": "morpheme"}), device="cpu", lang=lang)


@pytest.fixture(scope="module")
def elmo() -> Elmo:
    return morpheme_model()


def test_a_given_token_gets_the_mean_of_its_units(elmo: Elmo) -> None:
    (words,) = elmo.encode_tokens([WORDS])
    parted = part_words(WORDS, "ko")
    (units,) = elmo.encode_tokens([parted.units])
    assert words.tokens == WORDS and units.tokens == ["어부", "들", "은", "작", "은", "배", "를", "탔", "다", "."]
    starts = np.cumsum([0, *parted.counts])
    for number in range(len(WORDS)):
        mean = units.layers[:, starts[number] : starts[number + 1]].mean(axis=1)
        np.testing.assert_allclose(words.layers[:, number], mean, rtol=1e-6, atol=1e-7)
    assert [words.text[start:end] for start, end in words.offsets.tolist()] == WORDS


def test_the_place_of_a_token_is_what_stands_around_all_its_units(elmo: Elmo) -> None:
    (words,) = elmo.encode_tokens([WORDS])
    (units,) = elmo.encode_tokens([part_words(WORDS, "ko").units])
    size = elmo.config.projection
    np.testing.assert_array_equal(words.place[0, :size], units.place[0, :size])
    np.testing.assert_array_equal(words.place[0, size:], units.place[2, size:])
    np.testing.assert_array_equal(words.place[2, :size], units.place[5, :size])
    np.testing.assert_array_equal(words.place[-1], units.place[-1])


def test_a_text_is_read_in_units_the_same_by_every_way(elmo: Elmo) -> None:
    whole = elmo.encode(TEXT)
    split = elmo.split(TEXT)
    assert whole.tokens == [token for sentence in split for token in sentence.tokens]
    assert {"배", "를", "가"} <= set(whole.tokens)
    by_sentence = elmo.encode_tokens([sentence.tokens for sentence in split])
    np.testing.assert_array_equal(whole.layers, np.concatenate([one.layers for one in by_sentence], axis=1))
    (streamed,) = elmo.stream([TEXT])
    np.testing.assert_array_equal(whole.layers, streamed.layers)


def test_stream_mixes_texts_and_tokens(elmo: Elmo) -> None:
    text, words, nothing = elmo.stream([TEXT, WORDS, []])
    assert (len(text), len(words), len(nothing)) == (len(text.tokens), len(WORDS), 0)
    np.testing.assert_array_equal(words.layers, elmo.encode_tokens([WORDS])[0].layers)


def test_text_that_is_split_another_way_has_a_row_for_each_of_its_tokens() -> None:
    encoding = morpheme_model(lang="ko-eojeol").encode(TEXT)
    assert encoding.tokens == ["어부들은", "작은", "배를", "탔다", ".", "배가", "고팠다", "."]
    assert encoding.sentences == [(0, 5), (5, 8)]
    (first,) = morpheme_model().encode_tokens([WORDS])
    np.testing.assert_array_equal(encoding.layers[:, :5], first.layers)
    np.testing.assert_array_equal(encoding.place[:5], first.place)


def test_scores_speak_of_units(elmo: Elmo) -> None:
    (scored,) = score(elmo, [WORDS])
    assert scored.tokens == part_words(WORDS, "ko").units
    assert [scored.text[start:end] for start, end in scored.offsets.tolist()] == scored.tokens
    assert score(elmo, TEXT).tokens == elmo.encode(TEXT).tokens


def test_a_model_of_words_takes_tokens_as_they_are() -> None:
    elmo = Elmo(small_lm(lang="ko"), device="cpu")
    assert elmo.part(WORDS) is None
    assert elmo.encode_tokens([WORDS])[0].tokens == WORDS


def test_an_index_of_units_gives_the_vectors_of_the_text(elmo: Elmo) -> None:
    index = Index.in_memory(elmo, [TEXT], layers=[2])
    occurrences = index.occurrences("배")
    assert [one.position for one in occurrences] == [5, 0]
    expected = elmo.encode(TEXT).layers[:, [5, 10]]
    np.testing.assert_array_equal(index.layers_of(occurrences), expected)
