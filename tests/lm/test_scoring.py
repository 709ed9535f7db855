"""score: the log-probabilities of the network and a plain softmax, each sentence on its own."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.small_lms import WORDS, small_elmo, small_lm, spelled_out
from polyseme.elmo import Elmo
from polyseme.errors import ConfigError, InputError
from polyseme.lm import scoring as score_module
from polyseme.lm.scoring import score, score_stream
from polyseme.sentence_reader import WARM_TEXT

SENTENCES = st.lists(st.lists(st.sampled_from(WORDS[3:]) | st.text("abc", min_size=1), max_size=9), max_size=6)


def expected(elmo: Elmo, tokens: list[str], start: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """ln p of w1 … wN </S> and of <S> w1 … wN, spelled out."""
    assert elmo.vocabulary is not None
    forward, backward = spelled_out(elmo.stored, tokens, start)
    assert backward is not None
    ahead, back = elmo.vocabulary.ids([*tokens, "</S>"]), elmo.vocabulary.ids(["<S>", *tokens])
    rows = np.arange(len(tokens) + 1)
    return forward[rows, ahead], backward[rows, back]


@settings(max_examples=25)
@given(SENTENCES, st.integers(0, 3))
def test_log_probabilities_are_those_of_the_network_and_a_plain_softmax(sentences: list[list[str]], seed: int) -> None:
    elmo = small_elmo(seed)
    for tokens, found in zip(sentences, score(elmo, sentences, "score"), strict=True):
        forward, backward = expected(elmo, tokens)
        np.testing.assert_allclose([*found.forward, *found.ends], forward, rtol=1e-5, atol=1e-5)
        assert found.backward is not None and found.begins is not None
        np.testing.assert_allclose([*found.begins, *found.backward], backward, rtol=1e-5, atol=1e-5)
        assert found.total.forward == pytest.approx(forward.sum(), abs=1e-4)
        assert found.total.backward == pytest.approx(backward.sum(), abs=1e-4)


def test_a_text_is_split_and_each_sentence_is_scored_on_its_own() -> None:
    elmo = small_elmo()
    both = score(elmo, "The cat ran. Here is your present.")
    assert both.tokens == ["The", "cat", "ran", ".", "Here", "is", "your", "present", "."]
    assert both.sentences == [(0, 4), (4, 9)]
    assert [both.text[a:b] for a, b in both.offsets] == both.tokens
    alone = [score(elmo, text) for text in ("The cat ran.", "Here is your present.")]
    np.testing.assert_array_equal(both.forward, np.concatenate([one.forward for one in alone]))
    np.testing.assert_array_equal(both.ends, np.concatenate([one.ends for one in alone]))
    assert [total.forward for total in both.totals] == [one.total.forward for one in alone]


def test_surprisal_is_in_bits_and_totals_hold_the_boundaries() -> None:
    found = score(small_elmo(), "The cat sat on a birthday present.", "score")
    assert found.backward is not None and found.begins is not None and found.backward_surprisal is not None
    np.testing.assert_allclose(2.0**-found.surprisal, np.exp(found.forward))
    np.testing.assert_allclose(2.0**-found.backward_surprisal, np.exp(found.backward))
    (total,) = found.totals
    assert total.predictions == len(found.tokens) + 1
    assert total.forward == pytest.approx(found.forward.sum() + found.ends[0])
    assert total.backward == pytest.approx(found.backward.sum() + found.begins[0])
    assert total.perplexities[0] == pytest.approx(np.exp(-total.forward / total.predictions))


def test_a_word_outside_the_vocabulary_has_no_figure_and_no_part_in_the_total() -> None:
    (found,) = score(small_elmo(), [["the", "zebra", "sat"]])
    assert found.unknown.tolist() == [False, True, False]
    assert found.backward is not None and found.begins is not None and found.backward_surprisal is not None
    for figures in (found.forward, found.backward, found.surprisal, found.backward_surprisal):
        assert np.isnan(figures).tolist() == [False, True, False]
    assert (found.total.predictions, found.total.unknown) == (3, 1)  # the, sat and </S>
    assert found.total.forward == pytest.approx(found.forward[[0, 2]].sum() + found.ends[0])
    assert found.total.backward == pytest.approx(found.backward[[0, 2]].sum() + found.begins[0])
    (plain,) = json.loads(json.dumps(found.to_dict(), allow_nan=False))["sentences"]
    assert [plain[name][1] for name in ("forward", "backward", "surprisal", "backward_surprisal")] == [None] * 4
    assert plain["unknown"] == [False, True, False]
    assert "3 tokens, 1 unknown" in repr(found)


def test_a_word_outside_the_vocabulary_can_be_scored_as_unknown() -> None:
    elmo = small_elmo()
    (found,) = elmo.score([["the", "zebra", "sat"]], unknown="score")
    assert found.unknown.tolist() == [False, True, False]
    forward, _ = spelled_out(elmo.stored, ["the", "zebra", "sat"])
    assert found.forward[1] == pytest.approx(forward[1, WORDS.index("<UNK>")], abs=1e-5)
    assert (found.total.predictions, found.total.unknown) == (4, 1)
    with pytest.raises(ConfigError, match='unknown is \'keep\', but it can be "empty" or "score"'):
        elmo.score("the cat", unknown="keep")  # type: ignore[call-overload]


def test_entropy_is_that_of_the_whole_distribution_before_the_token_is_seen() -> None:
    elmo = small_elmo()
    tokens = ["the", "zebra", "sat"]
    (found,) = score(elmo, [tokens])
    forward, backward = spelled_out(elmo.stored, tokens)  # [N+1, V] ln p
    assert backward is not None and found.backward_entropy is not None
    bits = [-(np.exp(p) * p).sum(axis=1) / np.log(2) for p in (forward, backward)]
    np.testing.assert_allclose(found.entropy, bits[0][:-1], rtol=1e-4)  # unknown words too: the prediction is known
    np.testing.assert_allclose(found.backward_entropy, bits[1][1:], rtol=1e-4)


def test_a_list_gives_a_list_of_texts_and_of_split_sentences() -> None:
    elmo = small_elmo()
    text, tokens = score(elmo, ["The cat ran.", ["The", "cat", "ran", "."]])
    np.testing.assert_array_equal(text.forward, tokens.forward)
    assert tokens.text == "The cat ran ."
    assert score(elmo, []) == []


def test_a_window_more_or_less_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    elmo = small_elmo()
    texts = [["the", "cat"] * n for n in range(1, 20)]
    whole = score(elmo, texts)
    monkeypatch.setattr(score_module, "WINDOW_POSITIONS", 10)
    for one, other in zip(whole, score_stream(elmo, iter(texts)), strict=True):
        np.testing.assert_allclose(one.forward, other.forward, rtol=0, atol=1e-6)


def test_a_warm_model_scores_from_the_state_that_elmo_starts_from() -> None:
    elmo = small_elmo(state="warm")
    with torch.no_grad():
        start = elmo.bilm(elmo.ids([WARM_TEXT.split()])).state
    forward, backward = expected(elmo, ["the", "cat"], start)
    (found,) = score(elmo, [["the", "cat"]])
    assert found.backward is not None
    np.testing.assert_allclose(found.forward, forward[:-1], rtol=0, atol=1e-5)
    np.testing.assert_allclose(found.backward, backward[1:], rtol=0, atol=1e-5)
    cold = score(small_elmo(), [["the", "cat"]])[0]
    assert np.abs(cold.forward - found.forward).max() > 1e-3


def test_a_model_that_reads_forward_only_has_no_backward_figures() -> None:
    elmo = small_elmo(bidirectional=False)
    (found,) = score(elmo, [["the", "cat"]])
    forward, _ = spelled_out(elmo.stored, ["the", "cat"])
    assert found.forward[0] == pytest.approx(forward[0, WORDS.index("the")], abs=1e-5)
    assert found.backward is found.begins is found.backward_surprisal is found.total.backward is None
    assert "backward" not in repr(found)


def test_an_empty_text_has_no_sentence_and_an_empty_sentence_has_its_boundaries() -> None:
    elmo = small_elmo()
    nothing = score(elmo, "")
    assert (nothing.tokens, nothing.sentences, nothing.total.forward) == ([], [], 0)
    (empty,) = score(elmo, [[]])
    assert (len(empty.forward), len(empty.ends)) == (0, 1)
    assert empty.total.predictions == 1


def test_a_score_can_be_written_as_json() -> None:
    found = score(small_elmo(), "The cat ran. Here is your present.")
    plain = json.loads(json.dumps(found.to_dict()))
    assert [sentence["tokens"] for sentence in plain["sentences"]] == [found.tokens[:4], found.tokens[4:]]
    assert plain["sentences"][1]["end"] == found.ends[1]
    assert plain["sentences"][1]["total"]["forward"] == found.totals[1].forward


@pytest.mark.parametrize("call", [lambda elmo: score(elmo, "The cat."), lambda elmo: score_stream(elmo, [])])
def test_a_model_without_a_softmax_says_how_to_get_one(call: Any) -> None:
    with pytest.raises(ConfigError, match=r"small has no softmax.*polyseme finetune"):
        call(small_elmo(softmax=False))


def test_carried_state_and_other_things_than_text_are_refused() -> None:
    with pytest.raises(ConfigError, match='state is "carry"'):
        score(Elmo(small_lm(), device="cpu", state="carry"), "The cat.")
    with pytest.raises(InputError, match="a text should be a string, but 7 is of type int"):
        score(small_elmo(), [7])  # type: ignore[list-item]
    with pytest.raises(InputError, match="a token should be a string, but 3 is of type int"):
        score(small_elmo(), [["the", 3]])  # type: ignore[list-item]


def test_elmo_offers_it() -> None:
    elmo = small_elmo()
    np.testing.assert_array_equal(elmo.score("The cat ran.").forward, score(elmo, "The cat ran.").forward)
    (listed,) = elmo.score([["the", "cat"]])
    np.testing.assert_array_equal(listed.forward, score(elmo, [["the", "cat"]])[0].forward)
