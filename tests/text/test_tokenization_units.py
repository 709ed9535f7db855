"""Words from outside are parted into units, each of which belongs to one word."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from polyseme.text.tokenization import part_words, units_of

WORDS = st.lists(
    st.text(st.sampled_from("배를눈이갔다습니다들는aé1-~.,中ㅋ\u0301\ud800 \n\u1112\u1161\u11ab"), max_size=8),
    max_size=8,
)


def test_particles_and_endings_are_units_of_their_word() -> None:
    parted = part_words(["어부들은", "배를", "탔다", "."], "ko")
    assert parted.units == ["어부", "들", "은", "배", "를", "탔", "다", "."]
    assert parted.counts == [3, 2, 2, 1]


def test_a_word_with_nothing_in_it_is_a_unit() -> None:
    parted = part_words(["", "배를", " "], "ko")
    assert (parted.units, parted.counts) == (["", "배", "를", " "], [1, 2, 1])


def test_only_a_language_with_units_parts_words() -> None:
    assert units_of(["배를"], "ko") == ["배", "를"]
    assert units_of(["배를"], "ko-eojeol") == units_of(["배를"], str.split) == ["배를"]  # type: ignore[arg-type]


@given(words=WORDS)
def test_every_word_has_units_and_they_stand_where_they_say(words: list[str]) -> None:
    parted, text = part_words(words, "ko"), " ".join(words)
    assert len(parted.counts) == len(words) and all(count >= 1 for count in parted.counts)
    assert len(parted.units) == len(parted.offsets) == sum(parted.counts)
    assert parted.units == [text[start:end] for start, end in parted.offsets]
    units = iter(parted.units)
    for word, count in zip(words, parted.counts, strict=True):
        mine = "".join(next(units) for _ in range(count))
        assert "".join(mine.split()) == "".join(word.split())
