"""Word vectors that a task trains: where they begin, which words have one, and what stays as the file has it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from polyseme.errors import ConfigError
from polyseme.tasks.inputs import Features, InputChoices, TokenInputs
from polyseme.tasks.vectors.learned import NOT_TRAINED, UNKNOWN_WORD, LearnedWords, Spelling
from polyseme.tasks.vectors.static import StaticVectors

TRAINING = [["The", "cat", "sat"], ["the", "zyx", "zyx", "once"]]
FILE = StaticVectors("x", {"the": 1, "cat": 2, "sat": 3, "dog": 4}, np.arange(10, dtype=np.float32).reshape(5, 2) / 10)
NOTHING = StaticVectors("none", {}, np.zeros((1, 0), np.float32))


def inputs(tuning: str, static: StaticVectors = FILE) -> tuple[Features, TokenInputs]:
    choices = InputChoices(elmo="none", static=static.source, word_vectors=tuning, word_dim=3, characters=2)  # type: ignore[arg-type]
    words = LearnedWords.of(TRAINING, static) if choices.trains_words else None
    features = Features(choices, static, Spelling.of(TRAINING), None, words)
    torch.manual_seed(0)
    return features, TokenInputs.of(features)


def vectors(features: Features, tokens: TokenInputs, *sentence: str) -> torch.Tensor:
    """[N, V]: the words' part of the input."""
    return tokens(features([sentence])).input[0, :, : tokens.words.width]


def test_words_that_have_a_row() -> None:
    learned = LearnedWords.of(TRAINING, FILE)
    assert learned.words == ("cat", "sat", "the", "zyx"), "in the file, or met twice"
    the, zyx, once, dog = learned.ids(["The", "zyx", "once", "dog"], FILE)
    assert the == learned.ids(["the"], FILE)[0] > UNKNOWN_WORD
    assert zyx > UNKNOWN_WORD
    assert (once, dog) == (UNKNOWN_WORD, NOT_TRAINED), "the file has dog: it stays as it is there"


def test_training_begins_with_the_vectors_of_the_file() -> None:
    frozen = vectors(*inputs("frozen"), "The", "dog", "zyx", "new")
    assert torch.equal(vectors(*inputs("trained"), "The", "dog", "zyx", "new"), frozen)
    assert torch.equal(vectors(*inputs("both"), "The", "dog", "zyx", "new"), torch.cat([frozen, frozen], dim=1))


def test_training_moves_the_words_it_meets_and_no_others() -> None:
    features, tokens = inputs("trained")
    before = vectors(features, tokens, "the", "dog", "cat").detach()
    optimizer = torch.optim.SGD(tokens.parameters(), lr=0.5)
    vectors(features, tokens, "the", "dog").sum().backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    the, dog, cat = vectors(features, tokens, "the", "dog", "cat") - before
    assert torch.allclose(the, torch.tensor([-0.5, -0.5]))
    assert torch.equal(dog, torch.zeros(2)), "training never met it"
    assert torch.equal(cat, torch.zeros(2)), "no loss was about it"


def test_without_a_file_words_learn_vectors_of_their_own() -> None:
    features, tokens = inputs("trained", NOTHING)
    the, zyx, once, new = vectors(features, tokens, "The", "zyx", "once", "new")
    assert tokens.words.width == 3
    assert not torch.equal(the, zyx)
    assert torch.equal(once, new), "a word that was met once is as good as unknown"
    assert new.abs().sum() > 0
    padded = tokens(features([["The"], ["zyx", "the"]])).input
    assert torch.equal(padded[0, 1], torch.zeros(padded.shape[2]))


def test_nothing_can_be_kept_where_there_is_nothing() -> None:
    with pytest.raises(ConfigError, match="no frozen ones"):
        InputChoices(static="none", word_vectors="both")
