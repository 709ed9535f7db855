"""Composed and decomposed text is the same to a model; tokens and offsets are those of the text as it was given."""

from __future__ import annotations

from dataclasses import replace
from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.tiny_models import tiny_elmo
from polyseme.elmo import Elmo
from polyseme.text.characters import ByteScheme, compose, composed
from polyseme.text.tokenization import split_text
from polyseme.text.vocabulary import Indexer, Vocabulary, WordTable

TEXTS = {
    "en": "The café is naïve, said Zoë.",
    "ko": "서울에서 친구를 만나 은행에 갔습니다. 날씨가 좋았다.",
    "any": "Ångström ở Việt Nam; घर का पानी",
}


@pytest.mark.parametrize("lang", TEXTS)
def test_decomposed_text_has_the_same_words(lang: str) -> None:
    text, apart = normalize("NFC", TEXTS[lang]), normalize("NFD", TEXTS[lang])
    assert text != apart
    found = split_text(apart, lang)
    assert [[normalize("NFC", token) for token in one.tokens] for one in found] == [
        one.tokens for one in split_text(text, lang)
    ]
    for sentence in found:
        assert [apart[a:b] for a, b in sentence.offsets] == sentence.tokens


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_decomposed_text_has_the_same_vectors_and_scores(lang: str) -> None:
    elmo = Elmo.from_pretrained(lang)
    text, apart = TEXTS[lang], normalize("NFD", TEXTS[lang])
    np.testing.assert_array_equal(elmo.encode(apart).layers, elmo.encode(text).layers)
    totals = (replace(elmo.score(one).total, bytes=0) for one in (apart, text))  # bytes are those of the text as given
    assert next(totals) == next(totals)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_places_in_any_text(text: str) -> None:
    whole, starts = compose(text)
    assert whole == normalize("NFC", text)
    assert len(starts) == len(whole) + 1
    assert starts == sorted(starts)
    assert starts[-1] == len(text)


@given(st.text(max_size=30), st.sampled_from(["en", "ko", "zh", "any"]))
def test_every_token_is_what_stands_there(text: str, lang: str) -> None:
    apart = normalize("NFD", text)
    for sentence in split_text(apart, lang):
        assert [apart[a:b] for a, b in sentence.offsets] == sentence.tokens
        assert all(sentence.tokens)


def test_ids_of_composed_tokens_are_as_ever() -> None:
    row = Indexer(ByteScheme()).row("café")
    assert row == ByteScheme().row("café")
    assert row == Indexer(ByteScheme()).row(normalize("NFD", "café"))


def test_full_width_characters_are_folded_where_the_card_says_so() -> None:
    assert composed("１２ＡＢ", fold_width=True) == "12AB"
    assert composed("ｶﾞ", fold_width=True) == "ガ"
    assert composed("１２") == "１２"
    folding = Indexer(ByteScheme(), fold_width=True)
    assert folding.row("２０２６") == folding.row("2026")


def test_a_word_is_looked_up_as_it_is_and_then_composed() -> None:
    apart = normalize("NFD", "é")
    assert Vocabulary(("<UNK>", "é")).ids([apart, "é", "x"]) == [1, 1, 0]
    assert Vocabulary(("<UNK>", "é", apart)).ids([apart, "é"]) == [2, 1]
    table = WordTable({"<S>": 0, "</S>": 1, "<UNK>": 2, "é": 3}, "<UNK>", "<S>", "</S>")
    assert Indexer(words=table).row(apart) == [4]


def test_a_script_that_the_model_has_hardly_seen_is_named_once() -> None:
    elmo = Elmo.from_pretrained("en")
    with pytest.warns(UserWarning, match=r"hardly seen the script of this text \(Han\)") as caught:
        elmo.encode(["我们今天去北京看朋友。", "他们也来了，我们很高兴。"])
        elmo.encode_tokens([["我们", "今天", "去", "北京"]])
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("model", "text"),
    [("en", "Plain English, with 北京 in it."), ("zh", "我们今天去北京。"), ("ko", "서울에서 만나요.")],
)
@pytest.mark.filterwarnings("error")
def test_a_familiar_script_is_no_news(model: str, text: str) -> None:
    Elmo.from_pretrained(model).encode(text)


@pytest.mark.filterwarnings("error")
def test_a_model_without_a_vocabulary_says_nothing() -> None:
    tiny_elmo().encode("我们今天去北京看朋友。")
