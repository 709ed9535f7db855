"""What holds for every string in every language: tokens are pieces of the text, in order, and nothing is lost."""

from __future__ import annotations

import gc
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.text.tokenization import Sentence, split_text

LANGUAGES = ["en", "ko", "ko-eojeol", "zh", "xx", "whitespace"]

# Any code point, lone surrogates and NUL too, mixed with what the rules look for.
WATCHED = (
    "U.S. Dr. etc. n't 's cannot dont e- http:// www. @ .com 7:30 pm 1,000 3.5 11/28/2000 '72 ... !? :-) -- — “ ” 」 ) "
    "습니다 해요 ~ ㆍ 中 国 學 。 ！ １ か ー ไ ท ย é \u0301 👍 🏽 🇰 \u200d \ud800 \0 . , ? ! ' \" - A a z 9 _ %"
)
SPACES = [" ", "\n", "\r\n", "\t", "\u3000", "\u2028", "\x85"]
PIECES = st.sampled_from(WATCHED.split(" ") + SPACES)
TEXTS = st.lists(st.one_of(PIECES, st.characters()), max_size=40).map("".join)


def flat(sentences: list[Sentence]) -> list[str]:
    return [token for sentence in sentences for token in sentence.tokens]


@pytest.mark.parametrize("lang", LANGUAGES)
@given(text=TEXTS)
def test_tokens_are_pieces_of_the_text_in_order_and_nothing_is_lost(lang: str, text: str) -> None:
    sentences = split_text(text, lang)
    offsets = [span for sentence in sentences for span in sentence.offsets]
    assert all(sentence.tokens for sentence in sentences)
    assert flat(sentences) == [text[start:end] for start, end in offsets]
    assert all(start < end for start, end in offsets)
    assert all(before[1] <= after[0] for before, after in pairwise(offsets))
    covered = {place for start, end in offsets for place in range(start, end)}
    assert covered == {place for place, character in enumerate(text) if not character.isspace()}


@pytest.mark.parametrize("lang", LANGUAGES)
@given(lines=st.lists(TEXTS.map(lambda text: text.replace("\n", "").replace("\r", "")), max_size=4))
def test_a_line_is_split_the_same_wherever_it_stands(lang: str, lines: list[str]) -> None:
    together = [sentence.tokens for sentence in split_text("\n".join(lines), lang)]
    assert together == [sentence.tokens for line in lines for sentence in split_text(line, lang)]


@pytest.mark.parametrize("lang", ["ko-eojeol", "xx", "whitespace"])
@given(text=TEXTS)
def test_tokens_joined_by_spaces_stay_these_tokens(lang: str, text: str) -> None:
    tokens = flat(split_text(text, lang))
    assert flat(split_text(" ".join(tokens), lang)) == tokens


UNKIND = [
    "a", "é", "中", "ไท", "가", "9", ".", "-", "'", " ", "\u0301", "\ud800", "\0", "a.", "a@", "a-", "a'", "a_", "A.B",
    "1-", "1.", "1,000", "1/", "1:11", "re-", "'s", "n't", "U.S.", "etc.", "etc. ", "http://", "http://.", "www.",
    "mailto:", "co.uk.", ". ", '."', '" ', "...a", ":)", "Ph.D.", "👨\u200d", "습니다 ", "요~", "中1", "a中", "。」",
    "http中", "1%",
]  # fmt: skip


def seconds(text: str, lang: str) -> float:
    """CPU time of the best of three; the garbage of the other tests is not collected meanwhile."""
    found = []
    gc.disable()
    try:
        for _ in range(3):
            start = time.process_time()
            split_text(text, lang)
            found.append(time.process_time() - start)
    finally:
        gc.enable()
    return min(found)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("piece", UNKIND)
def test_four_times_the_text_takes_about_four_times_as_long(piece: str, lang: str) -> None:
    text = piece * (20_000 // len(piece))

    def growth() -> float:
        return seconds(text * 4, lang) / max(seconds(text, lang), 0.005)  # below that the clock decides

    assert any(growth() < 10 for _ in range(3))  # quadratic time would be 16, each time


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_megabyte_without_a_space_is_split(lang: str) -> None:
    text = "aé中가9_" * 170_000
    assert "".join(flat(split_text(text, lang))) == text
