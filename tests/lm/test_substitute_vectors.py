"""Places as sparse vectors over words: the words are those of `substitutes`, the cosine that of the whole vectors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers.small_lms import WORDS, small_elmo, small_lm
from polyseme.elmo import Elmo
from polyseme.encoding import unit
from polyseme.formats.model import ClusterWeights
from polyseme.lm.lexicon import RARE_FIRST, Lexicon, log_prior
from polyseme.lm.places import Place
from polyseme.lm.substitute_vectors import SubstituteVectors
from polyseme.lm.word_probabilities import BLOCK

TOKENS = ["Here", "is", "your", "birthday", "present", "."]
EVERYWHERE = [Place(TOKENS, position, position + 1) for position in range(len(TOKENS))]


def adaptive_elmo() -> Elmo:
    """The small model with a softmax in two steps."""
    stored = small_lm()
    assert stored.softmax is not None
    clusters = ClusterWeights((6, 10), torch.randn(2, 5).numpy(), torch.randn(2).numpy())
    return Elmo(replace(stored, softmax=replace(stored.softmax, clusters=clusters)), device="cpu")


@pytest.mark.parametrize(
    "elmo", [small_elmo(), small_elmo(1), small_elmo(counts=False), small_elmo(bidirectional=False), adaptive_elmo()]
)
def test_the_weights_are_the_roots_of_the_probabilities_rare_words_first(elmo: Elmo) -> None:
    lexicon = Lexicon(elmo)
    prior = np.exp(log_prior(elmo.vocabulary))
    found = lexicon.substitute_vectors(lexicon.states(EVERYWHERE))
    assert found.ids.shape == (len(TOKENS), len(WORDS))
    for position, token in enumerate(TOKENS):
        marked = " ".join([*TOKENS[:position], f"[{token}]", *TOKENS[position + 1 :]])
        expected = np.zeros(len(WORDS))
        for one in elmo.substitutes(marked, k=100):
            number = WORDS.index(one.word)
            expected[number] = one.probability / prior[number] ** RARE_FIRST
        weights = np.zeros(len(WORDS))
        weights[found.ids[position]] = found.weights[position]  # nothing for the boundaries and <UNK>
        np.testing.assert_allclose(weights**2, expected / expected.sum(), atol=1e-5)
        assert (np.diff(found.weights[position]) <= 0).all()


def test_many_places_are_the_places_one_by_one() -> None:
    lexicon = Lexicon(small_elmo())
    states = lexicon.states(EVERYWHERE * (BLOCK // len(EVERYWHERE) + 2))
    every = lexicon.substitute_vectors(states)
    for number in (0, BLOCK - 1, BLOCK, len(states) - 1):
        one = lexicon.substitute_vectors(states[number : number + 1])
        np.testing.assert_array_equal(one.ids[0], every.ids[number])
        np.testing.assert_allclose(one.weights[0], every.weights[number], atol=1e-6)
    assert len(lexicon.substitute_vectors(states[:0])) == 0


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 5), st.integers(1, 8))
def test_cosines_are_those_of_the_whole_vectors(seed: int, n: int, m: int, k: int) -> None:
    random = np.random.default_rng(seed)

    def some(count: int) -> SubstituteVectors:
        ids = np.stack([random.permutation(12)[:k] for _ in range(count)]).astype(np.int32)
        return SubstituteVectors.of_logits(ids, random.normal(size=(count, k)).astype(np.float32), 12)

    def whole(vectors: SubstituteVectors) -> np.ndarray:
        dense = np.zeros((len(vectors), 12), np.float32)
        np.put_along_axis(dense, vectors.ids.astype(np.int64), vectors.weights, axis=1)
        return unit(dense)

    first, second = some(n), some(m)
    np.testing.assert_allclose(first.cosines(second), whole(first) @ whole(second).T, atol=1e-6)
    np.testing.assert_allclose(np.diag(first.cosines(first)), 1, atol=1e-6)
