"""Same text, same vectors: a sentence read from a given state does not notice the batch it stands in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.reference.cases import CASES, Case
from helpers.reference.port import bilm_of
from polyseme.nn.bilm import BiLM, BiLMState

TOLERANCE = 1e-5
KINDS = ("two layers, skip connections", "both clips bind, three layers", "words and characters", "words")
MODELS = {name: bilm_of(CASES[name].model()) for name in KINDS}

SENTENCES = st.lists(st.lists(st.text("the cat日é.x", max_size=5), max_size=6), min_size=1, max_size=7)


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@torch.no_grad()
def vectors(
    bilm: BiLM, case: Case, batch: list[list[str]], padding: int, start: BiLMState | None
) -> list[torch.Tensor]:
    """The layers of every sentence of a batch, [L+1, T, W] each, with more padding than it needs."""
    ids = torch.nn.functional.pad(case.polyseme_ids(batch), (0, 0, 0, padding))
    output = bilm(ids, start.expand(len(batch)) if start else None)
    return [output.layers[:, b, : len(sentence) + 2] for b, sentence in enumerate(batch)]


def warm_state(bilm: BiLM, case: Case) -> BiLMState:
    """One state for all sentences, reached by reading a fixed text."""
    with torch.no_grad():
        return bilm(case.polyseme_ids([["the", "cat", "."]])).state


@pytest.mark.parametrize("start", ["reset", "warm"])
@pytest.mark.parametrize("name", KINDS)
@given(data=st.data(), sentences=SENTENCES)
@settings(max_examples=25)
def test_any_two_batchings_agree(name: str, start: str, data: st.DataObject, sentences: list[list[str]]) -> None:
    """Sentences shuffled, cut into batches at random and padded at random, against each sentence alone."""
    bilm, case = MODELS[name], CASES[name]
    state = warm_state(bilm, case) if start == "warm" else None
    alone = [vectors(bilm, case, [sentence], 0, state)[0] for sentence in sentences]
    order = data.draw(st.permutations(range(len(sentences))))
    while order:
        size = data.draw(st.integers(1, len(order)))
        rows, order = order[:size], order[size:]
        padding = data.draw(st.integers(0, 3))
        together = vectors(bilm, case, [sentences[i] for i in rows], padding, state)
        for i, layers in zip(rows, together, strict=True):
            torch.testing.assert_close(layers, alone[i], atol=TOLERANCE, rtol=0)


@given(sentences=SENTENCES)
def test_the_same_call_gives_the_same_bits(sentences: list[list[str]]) -> None:
    bilm, case = MODELS["both clips bind, three layers"], CASES["both clips bind, three layers"]
    first = vectors(bilm, case, sentences, 0, None)
    vectors(bilm, case, [["another", "call"], ["between"]], 1, None)
    again = vectors(bilm, case, sentences, 0, None)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))


def test_the_number_of_threads_does_not_matter(two_threads: None) -> None:
    case = CASES["50 characters"]
    bilm, batch = bilm_of(case.model()), [["the", "cat"], ["x"] * 40]
    with_two = vectors(bilm, case, batch, 0, None)
    torch.set_num_threads(1)
    with_one = vectors(bilm, case, batch, 0, None)
    for a, b in zip(with_two, with_one, strict=True):
        torch.testing.assert_close(a, b, atol=TOLERANCE, rtol=0)


def test_without_the_given_state_the_result_would_differ() -> None:
    """So that the tests above compare something: warm and reset vectors of these models are far apart."""
    bilm, case = MODELS["words"], CASES["words"]
    reset = vectors(bilm, case, [["the", "cat"]], 0, None)[0]
    warm = vectors(bilm, case, [["the", "cat"]], 0, warm_state(bilm, case))[0]
    assert (reset - warm).abs().max() > 0.01
