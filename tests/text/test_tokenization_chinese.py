"""The Chinese tagger's parts: reading characters, looking strings up, deciding in pieces."""

from __future__ import annotations

import numpy as np
import pytest

from polyseme.text import chinese, linear_tagger
from polyseme.text.tokenization import split_text

TEXT = "在1928年，瓦德·丹路殊（Walter Damrosch）指揮紐約愛樂演出。\n中国人民银行行长说：“你好！”然后走了。" * 3


def test_the_tables_are_small_and_of_the_promised_shapes() -> None:
    tables = chinese.load_tables()
    assert chinese.TABLES.stat().st_size < 3_000_000
    assert tables.lexicon.shape == tables.weights.shape == (1 << chinese.SLOT_BITS,)
    assert tables.lexicon.dtype == np.uint16 and tables.weights.dtype == np.int8


def test_traditional_is_read_as_simplified_and_classes_as_one_character() -> None:
    codes, place = chinese.read_codes("學a１か\u3000é\n漢", chinese.load_tables().reading)
    expected = [ord("学"), linear_tagger.LETTER, linear_tagger.DIGIT, linear_tagger.KANA, 0, ord("é"), 0, ord("汉")]
    assert codes[place].tolist() == expected
    assert place[-1] - place[-2] == 1 and place[-2] - place[-3] == 1 + chinese.CONTEXT


def test_a_hash_depends_on_the_string_alone() -> None:
    codes = np.array([7, 8, 9, 7, 8, 9, 7], np.uint32)
    hashes = linear_tagger.hash_strings(codes, chinese.LONGEST)
    assert hashes.shape == (chinese.LONGEST, 7)
    for length in range(1, 4):
        assert hashes[length - 1, 0] == hashes[length - 1, 3]
    assert len({int(each) for each in hashes[:, 0]}) == chinese.LONGEST


def test_a_string_that_is_not_in_the_lexicon_has_no_rate() -> None:
    hashes = np.array([0x12345678, 0x12345679, 0x00000678], np.uint32)
    lexicon = np.zeros(1 << chinese.SLOT_BITS, np.uint16)
    lexicon[0x12345] = 0x678 << 4 | 9
    assert linear_tagger.look_up(lexicon, hashes).tolist() == [9, 0, 0]


@pytest.mark.parametrize("chunk", [1, 2, 5, 7, 64])
def test_the_size_of_the_pieces_does_not_matter(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = split_text(TEXT, "zh")
    monkeypatch.setattr(linear_tagger, "_CHUNK", chunk)
    assert split_text(TEXT, "zh") == whole


def test_numbers_foreign_words_and_marks_are_never_parted() -> None:
    text = "在2009年Damrosch演奏3.5小时葛\U000e0100城"
    tokens = {token for sentence in split_text(text, "zh") for token in sentence.tokens}
    assert {"2009", "Damrosch", "3.5", "葛\U000e0100"} <= tokens
