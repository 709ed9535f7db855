"""Tokens to character ids, in the byte scheme and in ELMoForManyLangs' Unicode scheme."""

from __future__ import annotations

import doctest
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import polyseme.text.characters
from helpers.paths import FIXTURES, needs
from helpers.reference import byte_ids, byte_row, unicode_ids
from polyseme.errors import ConfigError
from polyseme.text.characters import BYTE_ALPHABET, SENTENCE_BEGIN, SENTENCE_END, ByteScheme, UnicodeScheme

BEGIN, END, PAD = 259, 260, 261
WIDTHS = st.sampled_from([3, 4, 16, 50, 51])
TOKENS = st.text(st.characters(codec=None), max_size=70)  # any code point, lone surrogates too


def dictionary(entries: str) -> dict[str, int]:
    """A character dictionary: the entries, then the specials, as ELMoForManyLangs writes them."""
    return {entry: i for i, entry in enumerate([*entries, "<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>"])}


IDS = dictionary("abcé日　")


# Byte scheme


def test_the_documented_example() -> None:
    assert doctest.testmod(polyseme.text.characters).failed == 0


@given(TOKENS, WIDTHS)
@example("\ud800" * 60 + "abc", 50)
@example("\ud83dx", 50)
@example("", 3)
def test_bytes_as_the_reference_spells_them(token: str, width: int) -> None:
    row = ByteScheme(max_characters=width).row(token)
    assert row == byte_ids([[token]], width)[0, 1].tolist()
    assert len(row) == width
    assert row[0] == BEGIN
    assert row.count(END) == 1
    assert all(1 <= i <= BYTE_ALPHABET for i in row)


def test_a_long_token_is_cut_in_the_middle_of_a_character() -> None:
    """48 bytes fit: 47 letters and the first of two bytes; the end-of-word id stands at the last place."""
    assert ByteScheme().row("a" * 47 + "éb") == [BEGIN, *[98] * 47, 0xC3 + 1, END]


def test_the_empty_token() -> None:
    assert ByteScheme(max_characters=5).row("") == [BEGIN, END, PAD, PAD, PAD]


def test_nothing_is_normalised() -> None:
    scheme = ByteScheme()
    assert len({tuple(scheme.row(token)) for token in ("é", "e\u0301", "É", "e", "ｅ", " e")}) == 6


def test_boundaries() -> None:
    scheme = ByteScheme(max_characters=5)
    assert scheme.begin_row() == byte_row([SENTENCE_BEGIN], 5) == [BEGIN, 257, END, PAD, PAD]
    assert scheme.end_row() == byte_row([SENTENCE_END], 5) == [BEGIN, 258, END, PAD, PAD]


def test_markers_in_the_text_are_bytes_unless_they_are_special() -> None:
    plain, special = ByteScheme(), ByteScheme(specials={"<S>": SENTENCE_BEGIN, "</S>": SENTENCE_END, "[CLS]": 1})
    assert plain.row("<S>")[:5] == [BEGIN, *(b + 1 for b in b"<S>"), END]
    assert special.row("<S>") == special.begin_row()
    assert special.row("</S>") == special.end_row()
    assert special.row("[CLS]")[:3] == [BEGIN, 2, END]
    assert special.row("<UNK>") == plain.row("<UNK>")


@pytest.mark.parametrize("raw", [-1, 261, 1000])
def test_specials_outside_the_alphabet_are_refused(raw: int) -> None:
    with pytest.raises(ConfigError, match=f"'x' has id {raw}, but ids are 0 to 260"):
        ByteScheme(specials={"x": raw})


def test_a_token_of_a_megabyte() -> None:
    assert ByteScheme().row("é" * 500_000) == ByteScheme().row("é" * 24)


@pytest.mark.shared
@needs(FIXTURES / "allennlp")
def test_the_ids_of_allennlp() -> None:
    """Boundaries in the text, added tokens, a lone surrogate, long tokens and cut characters."""
    words = json.loads((FIXTURES / "allennlp" / "char_ids_words.json").read_text())
    golden = np.load(FIXTURES / "allennlp" / "char_ids.npz")
    markers = {"<S>": SENTENCE_BEGIN, "</S>": SENTENCE_END}
    for name, specials in (("plain", markers), ("with_added", markers | words["tokens_to_add"])):
        scheme = ByteScheme(specials=specials)
        assert [scheme.row(word) for word in words["words"]] == golden[name].tolist()


# Unicode scheme


@given(st.text("abcé日　xyz", max_size=20), st.sampled_from([7, 8, 16]))
@example("<bos>", 16)
@example("<eos>", 7)
@example("<oov>", 16)
@example("<pad>", 16)
def test_code_points_as_the_reference_spells_them(token: str, width: int) -> None:
    expected, _ = unicode_ids([[token]], width, IDS, None)
    assert expected is not None
    assert UnicodeScheme(IDS, max_characters=width).row(token) == (expected[0, 1] + 1).tolist()


def test_the_boundaries_of_a_word_are_swapped() -> None:
    """The models were trained with the id of the word's end first."""
    row = UnicodeScheme(IDS, max_characters=6).row("ab")
    assert row == [IDS[name] + 1 for name in ("<eow>", "a", "b", "<bow>", "<pad>", "<pad>")]


def test_boundaries_of_a_sentence() -> None:
    scheme = UnicodeScheme(IDS, max_characters=4)
    assert scheme.begin_row() == [IDS[name] + 1 for name in ("<eow>", "<bos>", "<bow>", "<pad>")]
    assert scheme.end_row() == [IDS[name] + 1 for name in ("<eow>", "<eos>", "<bow>", "<pad>")]


def test_a_long_token_is_cut_by_code_points() -> None:
    scheme = UnicodeScheme(IDS, max_characters=5)
    assert scheme.row("日日日é") == scheme.row("日日日")
    assert scheme.row("日" * 1_000_000) == scheme.row("日日日")


def test_unknown_characters() -> None:
    assert UnicodeScheme(IDS, max_characters=4).row("z😀")[1:3] == [IDS["<oov>"] + 1] * 2


def test_id_zero_stays_free_for_padding() -> None:
    scheme = UnicodeScheme(dictionary(""), max_characters=4)
    assert min(scheme.ids.values()) == 0
    assert min(scheme.row("a") + scheme.begin_row() + scheme.end_row()) >= 1
    assert scheme.alphabet == 6


@pytest.mark.parametrize("missing", UnicodeScheme.SPECIALS)
def test_a_dictionary_without_a_special_is_refused(missing: str) -> None:
    ids = {name: i for name, i in IDS.items() if name != missing}
    with pytest.raises(ConfigError, match=f"no entry '{missing}'"):
        UnicodeScheme(ids)


# Both


@pytest.mark.parametrize("scheme", [ByteScheme, lambda max_characters: UnicodeScheme(IDS, max_characters)])
@pytest.mark.parametrize("width", [2, 0, -1])
def test_too_few_characters_are_refused(scheme: Any, width: int) -> None:
    with pytest.raises(ConfigError, match=f"max_characters is {width}"):
        scheme(max_characters=width)


@pytest.mark.parametrize("scheme", [ByteScheme(max_characters=6), UnicodeScheme(IDS, max_characters=6)])
def test_the_padding_id_fills_the_row(scheme: ByteScheme | UnicodeScheme) -> None:
    assert scheme.row("a")[3:] == [scheme.padding] * 3
    assert scheme.padding not in scheme.row("a")[:3]
