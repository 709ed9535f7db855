"""benchmarks/widen.py: a model with wider vectors says what the narrow one says, and can learn more."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.small_lms import small_lm, spelled_out
from polyseme.elmo import Elmo
from polyseme.errors import ConfigError
from polyseme.text.vocabulary import Vocabulary
from widen import widened, with_words

SENTENCE = ["the", "cat", "sat", "on", "the", "mat"]


def test_a_wider_model_gives_every_word_the_same_probability() -> None:
    narrow = small_lm()
    wide = widened(narrow, narrow.config.projection + 3, seed=1)
    assert wide.config.projection == narrow.config.projection + 3
    for before, after in zip(spelled_out(narrow, SENTENCE), spelled_out(wide, SENTENCE), strict=True):
        assert before is not None and after is not None
        np.testing.assert_allclose(after, before, atol=1e-5)


def test_the_old_outputs_come_first_and_the_new_ones_are_not_zero() -> None:
    narrow = small_lm()
    size = narrow.config.projection
    wide = widened(narrow, 2 * size, seed=1)
    before, after = (Elmo(model).encode_tokens([SENTENCE])[0].layers for model in (narrow, wide))  # [L+1, N, W]
    np.testing.assert_allclose(after[:, :, :size], before[:, :, :size], atol=1e-5)
    np.testing.assert_allclose(after[:, :, 2 * size : 3 * size], before[:, :, size:], atol=1e-5)
    assert np.abs(after[:, :, size : 2 * size]).min(axis=(1, 2)).max() > 0


def test_words_that_are_new_share_the_probability_of_an_unknown_word() -> None:
    model = small_lm()
    assert model.vocabulary is not None and model.vocabulary.counts is not None
    counts = dict(zip(model.vocabulary.words, model.vocabulary.counts, strict=True))
    more = with_words(model, Vocabulary.build({**counts, "quokka": 3}))
    assert more.vocabulary is not None and more.softmax is not None and "quokka" in more.vocabulary.words
    assert len(more.softmax.bias) == len(more.vocabulary.words)


def test_a_model_cannot_be_made_narrower() -> None:
    with pytest.raises(ConfigError, match="can be widened to more"):
        widened(small_lm(), 1, seed=0)
