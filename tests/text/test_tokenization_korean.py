"""The Korean tagger: nouns without particles, stems without endings, wherever they meet between two syllables."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.prepared_text import read_target
from polyseme.senses.shipped import SENSES
from polyseme.text import korean, linear_tagger
from polyseme.text.linear_tagger import raw_codes
from polyseme.text.tokenization import split_text

TEXT = """어부들은 2,700만 원짜리 작은 배를 타고 먼바다로 나갔다. AK-47을 든 사람이 왔어요
한-미 관계에서는 그렇다. 정말ㅋㅋ
"""
# What Korean text is made of, decomposed syllables and single letters too, and what might break them.
PIECES = (
    "배 를 눈 이 사람 들 에게서 는 갔 다 습니다 해요 ㅋㅋ ㆍ 中 24 ~ cm - & . "
    "\u0301 \u1100 \u1161 \u11a8 \ud800 \u1112\u1161\u11ab"
)
TEXTS = st.lists(st.sampled_from([*PIECES.split(" "), " ", "\n", "\u3000"]), max_size=40).map("".join)


def words(text: str) -> str:
    """Sentences as one string: " | " between sentences."""
    return " | ".join(" ".join(sentence.tokens) for sentence in split_text(text, "ko"))


def test_the_tables_are_small_and_of_the_promised_shapes() -> None:
    tables = korean.load_tables()
    assert korean.TABLES.stat().st_size < 1_600_000
    assert tables.lexicon.shape == (korean.LEXICON_SLOTS,) and tables.lexicon.dtype == np.uint16
    assert tables.weights.shape == (korean.WEIGHT_SLOTS,) and tables.weights.dtype == np.int8


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("배를 타고 바다로 나갔다.", "배 를 타 고 바다 로 나갔 다 ."),
        ("눈이 와서 차를 두고 갔습니다.", "눈 이 와서 차 를 두 고 갔 습니다 ."),
        ("사람들에게서는", "사람 들 에게서 는"),
        ("잡스는 350달러만을 주었다.", "잡스 는 350 달러 만 을 주 었 다 ."),
        ("24~26cm의 AK-47을", "24~26cm 의 AK-47 을"),
        ("한-미 관계", "한 - 미 관계"),
        ("https://ko.wikipedia.org 에서", "https://ko.wikipedia.org 에서"),
        ("먹었습니다 감사합니다 또 올게요", "먹 었 습니다 | 감사 합니다 | 또 올게요"),
    ],
)
def test_particles_and_endings_are_tokens_of_their_own(text: str, expected: str) -> None:
    assert words(text) == expected


def korean_targets() -> list[str]:
    rows = (line.split("\t") for line in SENSES.read_text(encoding="utf-8").splitlines() if line.startswith("ko\t"))
    return [sentence for _, _, _, sentence in rows]


def test_nearly_every_word_of_the_sense_test_is_parted_from_its_particle() -> None:
    missed = []
    for marked in korean_targets():
        text, span = read_target(marked)
        if span not in [offset for sentence in split_text(text, "ko") for offset in sentence.offsets]:
            missed.append(marked)
    assert len(missed) <= 2, missed  # 벌이 is a noun too, "earnings"


@given(text=TEXTS)
def test_sentences_are_those_of_whole_eojeol_and_no_token_crosses_one(text: str) -> None:
    parted, whole = split_text(text, "ko"), split_text(text, "ko-eojeol")
    assert len(parted) == len(whole)
    for few, many in zip(whole, parted, strict=True):
        assert {edge for span in few.offsets for edge in span} <= {edge for span in many.offsets for edge in span}
        assert "".join(few.tokens) == "".join(many.tokens)


@given(text=TEXTS)
def test_no_token_begins_inside_a_decomposed_syllable_or_with_a_mark(text: str) -> None:
    for sentence in split_text(text, "ko"):
        for (_, end), (start, _) in pairwise(sentence.offsets):
            if end == start and "\u1100" <= text[start - 1] <= "\u1112":
                assert not "\u1161" <= text[start] <= "\u1175"


@pytest.mark.parametrize("text", TEXT.splitlines())
def test_decomposed_text_is_parted_like_composed_text(text: str) -> None:
    apart = unicodedata.normalize("NFD", text)
    tokens = [token for sentence in split_text(apart, "ko") for token in sentence.tokens]
    composed = [token for sentence in split_text(text, "ko") for token in sentence.tokens]
    assert [unicodedata.normalize("NFC", token) for token in tokens] == composed


@given(text=st.text(st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3) | st.sampled_from(" aé1\n")))
def test_letters_are_composed_as_unicode_does_it(text: str) -> None:
    apart = unicodedata.normalize("NFD", text)
    codes, last = korean.compose(raw_codes(apart))
    syllables = [chr(code) for code in codes.tolist() if korean.is_syllable(np.array([code], np.uint32))[0]]
    assert syllables == [one for one in text if "가" <= one <= "힣"]
    ends = [0, *(last + 1).tolist()]
    assert "".join(apart[start:end] for start, end in pairwise(ends)) == apart


@pytest.mark.parametrize("chunk", [1, 2, 5, 7, 64])
def test_the_size_of_the_pieces_does_not_matter(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = split_text(TEXT, "ko")
    monkeypatch.setattr(linear_tagger, "_CHUNK", chunk)
    assert split_text(TEXT, "ko") == whole


def test_numbers_foreign_words_and_marks_are_never_parted() -> None:
    text = "2009년 Damrosch가 3.5시간 동안 大學에서 café를 ㅋㅋㅋ"
    tokens = {token for sentence in split_text(text, "ko") for token in sentence.tokens}
    assert {"2009", "Damrosch", "3.5", "大學", "café", "ㅋㅋㅋ"} <= tokens
