"""Words between spaces: sums over their tokens, as reading-time data has them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.small_lms import small_elmo
from polyseme.lm.scoring import score


def test_a_word_has_the_sum_of_its_tokens_and_the_entropy_before_it() -> None:
    found = score(small_elmo(), "The cat ran (on). A zebra sat.")
    assert found.tokens == ["The", "cat", "ran", "(", "on", ")", ".", "A", "zebra", "sat", "."]
    assert found.backward_surprisal is not None and found.backward_entropy is not None
    words = score(small_elmo(), found.text, "score").words()
    assert [(word.sentence, word.number, word.word, word.tokens) for word in words] == [
        *[(0, 0, "The", 1), (0, 1, "cat", 1), (0, 2, "ran", 1), (0, 3, "(on).", 4)],
        *[(1, 0, "A", 1), (1, 1, "zebra", 1), (1, 2, "sat.", 2)],
    ]
    last = score(small_elmo(), found.text, "score")
    assert last.backward_surprisal is not None
    assert words[3].surprisal == pytest.approx(last.surprisal[3:7].sum())
    assert words[3].backward_surprisal == pytest.approx(last.backward_surprisal[3:7].sum())
    assert (words[3].entropy, words[3].backward_entropy) == (found.entropy[3], found.backward_entropy[6])


def test_a_word_with_a_token_that_the_model_does_not_know_has_no_surprisal() -> None:
    words = score(small_elmo(), "the zebra. the cat sat.").words()
    assert [(word.word, word.unknown) for word in words if word.surprisal is None] == [("zebra.", True)]
    assert words[1].backward_surprisal is None and words[1].entropy > 0


def test_a_model_that_reads_forward_only_has_no_backward_figures() -> None:
    (word,) = score(small_elmo(bidirectional=False), "the").words()
    assert word.surprisal is not None and word.backward_surprisal is word.backward_entropy is None


@settings(max_examples=15)
@given(st.lists(st.sampled_from(["the", "cat", "sat.", "(on", "a)", "zebra"]), min_size=1, max_size=8))
def test_the_words_are_those_between_spaces_and_lie_where_they_stand(given_words: list[str]) -> None:
    text = " ".join(given_words)
    words = score(small_elmo(), text).words()
    assert [word.word for word in words] == given_words
    assert all(text[word.begin : word.end] == word.word for word in words)
