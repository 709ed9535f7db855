"""substitutes: p(w | left) · p(w | right) / p(w), over the words of the vocabulary."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.small_lms import COUNTS, WORDS, small_elmo, small_lm, spelled_out
from polyseme.elmo import Elmo
from polyseme.errors import ConfigError, InputError
from polyseme.lm.lexicon import SMOOTHING, Direction, SeveralMarked, substitutes
from polyseme.lm.places import Place, find_place
from polyseme.prepared_text import UnfamiliarScript
from polyseme.text.vocabulary import Vocabulary

TEXT = "Here is your birthday [present]."
TOKENS = ["Here", "is", "your", "birthday", "present", "."]
SPECIALS = {"<S>", "</S>", "<UNK>"}


def expected(elmo: Elmo, direction: Direction, prior: np.ndarray) -> dict[str, float]:
    """The probabilities of all words in the place of "present", by the formula."""
    forward, backward = spelled_out(elmo.stored, TOKENS)
    assert backward is not None
    left, right = np.exp(forward[4]), np.exp(backward[5])  # backward[0] is about <S>
    joint = {"both": left * right / prior, "forward": left, "backward": right}[direction]
    words = {word: p for word, p in zip(WORDS, joint, strict=True) if word not in SPECIALS}
    return {word: p / sum(words.values()) for word, p in words.items()}


@pytest.mark.parametrize("direction", ["both", "forward", "backward"])
@pytest.mark.parametrize("seed", [0, 1])
def test_probabilities_follow_the_formula_and_sum_to_one(direction: Direction, seed: int) -> None:
    elmo = small_elmo(seed)
    found = substitutes(elmo, TEXT, k=100, direction=direction)
    formula = expected(elmo, direction, np.array(COUNTS) + SMOOTHING)
    assert {one.word: one.probability for one in found} == pytest.approx(formula, rel=1e-5)
    assert sum(one.probability for one in found) == pytest.approx(1, abs=1e-9)
    assert [one.probability for one in found] == sorted((one.probability for one in found), reverse=True)


def test_each_direction_gives_its_own_probability_too() -> None:
    elmo = small_elmo()
    forward, backward = spelled_out(elmo.stored, TOKENS)
    assert backward is not None
    for one in substitutes(elmo, TEXT, k=3):
        number = WORDS.index(one.word)
        assert one.forward == pytest.approx(np.exp(forward[4, number]), rel=1e-5)
        assert one.backward == pytest.approx(np.exp(backward[5, number]), rel=1e-5)


def test_without_counts_the_prior_is_the_log_uniform_distribution_of_the_ranks() -> None:
    elmo = small_elmo(counts=False)
    ranks = np.arange(len(WORDS))
    formula = expected(elmo, "both", np.log((ranks + 2) / (ranks + 1)))
    found = substitutes(elmo, TEXT, k=100)
    assert {one.word: one.probability for one in found} == pytest.approx(formula, rel=1e-5)


def test_a_word_that_was_never_counted_still_has_a_prior() -> None:
    stored = small_lm()
    stored = replace(stored, vocabulary=Vocabulary(WORDS, (0,) * len(WORDS)))
    found = substitutes(Elmo(stored, device="cpu"), TEXT, k=100)
    assert all(0 < one.probability < 1 for one in found)


@given(st.integers(1, 20), st.booleans())
def test_specials_never_stand_there_and_the_word_itself_only_if_it_may(k: int, exclude: bool) -> None:
    found = substitutes(small_elmo(), TEXT, k=k, exclude_original=exclude)
    assert len(found) == min(k, len(WORDS) - 3 - exclude)
    words = {one.word for one in found}
    assert words.isdisjoint(SPECIALS)
    assert ("present" in words) <= (not exclude)


def test_to_leave_the_word_out_does_not_change_the_others() -> None:
    every = substitutes(small_elmo(), TEXT, k=100)
    others = substitutes(small_elmo(), TEXT, k=100, exclude_original=True)
    assert others == [one for one in every if one.word != "present"]


def test_what_stands_between_the_brackets_plays_no_part() -> None:
    elmo = small_elmo()
    usual = substitutes(elmo, TEXT)
    for filler in ("[zebra]", "[big red balloon]", "[___]"):
        for one, other in zip(usual, substitutes(elmo, TEXT.replace("[present]", filler)), strict=True):
            assert one.word == other.word
            assert one.probability == pytest.approx(other.probability, rel=1e-6)


def test_only_the_sentence_of_the_mark_is_read() -> None:
    elmo = small_elmo()
    assert find_place(elmo, f"The cat ran. {TEXT} Here is the cat.") == Place(TOKENS, 4, 5)
    assert substitutes(elmo, f"The cat ran. {TEXT}") == substitutes(elmo, TEXT)


def test_first_and_last_word_can_be_replaced() -> None:
    elmo = small_elmo()
    forward, backward = spelled_out(elmo.stored, TOKENS)
    assert backward is not None
    (first,) = substitutes(elmo, "[Here] is your birthday present.", k=1, direction="forward")
    assert first.forward == pytest.approx(np.exp(forward[0, WORDS.index(first.word)]), rel=1e-5)
    (last,) = substitutes(elmo, "Here is your birthday present[.]", k=1, direction="backward")
    assert last.backward == pytest.approx(np.exp(backward[6, WORDS.index(last.word)]), rel=1e-5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Here is your present.", r"no word is marked in 'Here is your present.'; put one in brackets"),
        ("[Here] is your [present].", r"2 are marked: \[Here\], \[present\]"),
        ("Here is your [ ].", "there is no word between the brackets"),
        ("The cat [ran. Here] is your present.", "span 2 sentences"),
        ("", "no word is marked in ''"),
    ],
)
def test_no_mark_or_several_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        substitutes(small_elmo(), text)


def test_several_marked_words_and_a_strange_script_are_warned_of() -> None:
    with pytest.warns(SeveralMarked, match=r"hold 2 units \(your, birthday\), .* for example \[your\]"):
        substitutes(small_elmo(), "Here is [your birthday] present.")
    with pytest.warns(UnfamiliarScript, match="Hangul"):
        substitutes(small_elmo(), "선비는 [과거]를 보러 갔다.")


def test_a_model_that_cannot_answer_says_why() -> None:
    with pytest.raises(ConfigError, match=r"has no softmax.*polyseme finetune"):
        substitutes(small_elmo(softmax=False), TEXT)
    with pytest.raises(ConfigError, match="has a softmax of 14 rows, but no vocabulary"):
        substitutes(Elmo(replace(small_lm(), vocabulary=None), device="cpu"), TEXT)
    with pytest.raises(ConfigError, match="has 13 words, but its softmax has 14 rows"):
        substitutes(Elmo(replace(small_lm(), vocabulary=Vocabulary(WORDS[1:])), device="cpu"), TEXT)
    foreign = Vocabulary(("<bos>", "<eos>", "<oov>", *WORDS[3:]))
    with pytest.raises(ConfigError, match="lacks <S>, </S>, <UNK>"):
        substitutes(Elmo(replace(small_lm(), vocabulary=foreign), device="cpu"), TEXT)
    with pytest.raises(ConfigError, match="this model reads forward only"):
        substitutes(small_elmo(bidirectional=False), TEXT, direction="backward")
    assert substitutes(small_elmo(bidirectional=False), TEXT, k=1)[0].backward is None


def test_options_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ConfigError, match="direction is 'sideways', but should be one of: both, forward, backward"):
        substitutes(small_elmo(), TEXT, direction="sideways")  # type: ignore[arg-type]
    for k in (0, -1, True, 2.5):
        with pytest.raises(ConfigError, match="should be a whole number of at least 1"):
            substitutes(small_elmo(), TEXT, k=k)  # type: ignore[arg-type]


def test_elmo_offers_it() -> None:
    elmo = small_elmo()
    asked = elmo.substitutes(TEXT, k=3, direction="forward", exclude_original=True)
    assert asked == substitutes(elmo, TEXT, k=3, direction="forward", exclude_original=True)
