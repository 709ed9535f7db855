"""Texts of several sentences: each sentence is read on its own, and its tokens stand in their text's place."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.small_features import WHERE, WORDS, small_features, small_inputs
from polyseme.tasks.parts import paragraphs
from polyseme.tasks.parts.paragraphs import text_batch, text_vectors

SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5)


@settings(max_examples=25)
@given(st.lists(st.lists(SENTENCES, min_size=1, max_size=4), min_size=1, max_size=3))
def test_a_text_has_the_vectors_of_its_sentences_one_after_another(texts: list[list[list[str]]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paragraphs, "TOGETHER", 2)  # so that a text's sentences lie in several groups
        features = small_features()
        tokens = small_inputs(features)
        found = text_vectors(tokens, text_batch(texts, features))
    for row, text in enumerate(texts):
        expected = torch.cat([tokens(features([sentence])).input[0] for sentence in text])
        assert int(found.lengths[row]) == len(expected) == int(found.mask[row].sum())
        assert torch.allclose(found.input[row, : len(expected)], expected, atol=1e-6)
        assert not found.input[row, len(expected) :].any()


@pytest.mark.parametrize("elmo", WHERE)
def test_elmo_reads_each_sentence_alone(elmo: str) -> None:
    features = small_features(elmo)  # type: ignore[arg-type]
    tokens = small_inputs(features).eval()
    text = [["a", "b"], ["c", "a", "b"]]
    found = text_vectors(tokens, text_batch([text], features))
    alone = tokens(features([text[1]]))
    assert torch.allclose(found.input[0, 2:], alone.input[0], atol=1e-4)
    assert torch.allclose(found.output[0, 2:], alone.output[0], atol=1e-4)
