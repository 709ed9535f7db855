"""Sentences to batches of ids."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helpers.reference import byte_ids, unicode_ids
from helpers.reference.cases import ENTRIES, WORDS
from polyseme.errors import ConfigError, InputError
from polyseme.text.characters import ByteScheme, UnicodeScheme
from polyseme.text.vocabulary import Indexer, WordTable

CHARACTER_IDS = {entry: i for i, entry in enumerate(ENTRIES)}
WORD_IDS = {word: i for i, word in enumerate(WORDS)}
SENTENCES = st.lists(st.lists(st.text(max_size=8), max_size=5), min_size=1, max_size=4)

BYTES = Indexer(characters=ByteScheme(max_characters=8))
TABLE = Indexer(words=WordTable(WORD_IDS, unknown="<oov>", begin="<bos>", end="<eos>"))
BOTH = Indexer(
    characters=UnicodeScheme(CHARACTER_IDS, max_characters=12),
    words=WordTable(WORD_IDS, unknown="<oov>", begin="<bos>", end="<eos>", longest=10),
)


@given(SENTENCES)
@example([["\uf900"]])
def test_batches_of_bytes(sentences: list[list[str]]) -> None:
    """Composed as Unicode has it (NFC): the compatibility ideograph U+F900 has the bytes of U+8C48."""
    composed = [[unicodedata.normalize("NFC", token) for token in sentence] for sentence in sentences]
    assert np.array_equal(BYTES.batch(sentences), byte_ids(composed, 8))


@given(st.lists(st.lists(st.sampled_from([*WORDS, "Donaudampfschiff", "xyz", ""]), max_size=5), min_size=1, max_size=4))
def test_batches_of_words_and_characters(sentences: list[list[str]]) -> None:
    """The word id first, found by the token as it is cut; ids from 1; zeros after the sentence."""
    characters, words = unicode_ids(sentences, 12, CHARACTER_IDS, WORD_IDS)
    assert characters is not None
    assert words is not None
    expected = np.concatenate([words[:, :, None], characters], axis=2) + 1
    for row, sentence in zip(expected, sentences, strict=True):
        row[len(sentence) + 2 :] = 0
    assert np.array_equal(BOTH.batch(sentences), expected)


def test_batches_of_words() -> None:
    batch = TABLE.batch([["the", "unseen", "cat"], ["Donaudampfschiff"]])
    assert batch.tolist() == [[[2], [5], [1], [6], [3]], [[2], [1], [3], [0], [0]]]


def test_only_models_that_cut_tokens_look_up_the_cut_token() -> None:
    assert BOTH.row("Donaudampfschiff")[0] == WORD_IDS["Donaudampf"] + 1
    assert TABLE.row("Donaudampfschiff") == [WORD_IDS["<oov>"] + 1]


@pytest.mark.parametrize("indexer", [BYTES, TABLE, BOTH])
def test_shapes_and_types(indexer: Indexer) -> None:
    assert indexer.rows([]).shape == (0, indexer.row_size)
    assert indexer.batch([]).shape == (0, 2, indexer.row_size)
    batch = indexer.batch([[], ["the"]])
    assert batch.shape == (2, 3, indexer.row_size)
    assert batch.dtype == np.int64
    assert batch[0, 0].tolist() == indexer.begin_row()
    assert batch[0, 1].tolist() == indexer.end_row()
    assert not batch[0, 2].any()
    assert batch[1, 1].tolist() == indexer.row("the") == indexer.rows(["the"])[0].tolist()


@given(st.lists(st.text(st.characters(codec=None), max_size=5), max_size=5))
def test_every_token_counts_as_a_token(tokens: list[str]) -> None:
    """No token, not even an empty one, looks like padding: a sentence keeps its length in the network."""
    for indexer in (BYTES, TABLE, BOTH):
        assert (indexer.batch([tokens]) > 0).any(axis=2).sum() == len(tokens) + 2


@pytest.mark.parametrize("token", [None, 3, b"bytes", ["list"], 1.5, True])
def test_a_token_that_is_no_string_is_refused(token: Any) -> None:
    with pytest.raises(InputError) as refused:
        BYTES.batch([["fine", token]])
    assert str(refused.value) == f"a token should be a string, but {token!r} is of type {type(token).__name__}"


def test_an_indexer_reads_something() -> None:
    with pytest.raises(ConfigError, match="characters, words or both"):
        Indexer()


@pytest.mark.parametrize("missing", ["<oov>", "<bos>", "<eos>"])
def test_a_word_table_without_its_specials_is_refused(missing: str) -> None:
    """The original would take the missing entry for padding and lose the place of every later token."""
    ids = {word: i for word, i in WORD_IDS.items() if word != missing}
    with pytest.raises(ConfigError, match=f"no entry '{missing}'"):
        WordTable(ids, unknown="<oov>", begin="<bos>", end="<eos>")
