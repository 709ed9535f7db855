"""ESIM: a pair's answer is its own, whatever stands beside it, and ELMo enters where it should."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from helpers.small_features import WHERE, small_features, small_inputs
from polyseme.tasks.snli.network import Esim, EsimSizes
from polyseme.tasks.snli.task import TASK, TokenPair

SIZES = EsimSizes(hidden=5, dropout=0.3)
LABELS = TASK.vocabularies([])


def pair(premise: str, hypothesis: str, label: str | None = "neutral") -> TokenPair:
    return TokenPair((premise, hypothesis), (tuple(premise.split()), tuple(hypothesis.split())), label)


PAIRS = [pair("a b c d e", "c b"), pair("b", "a b c d", "entailment"), pair("e f g", "g", "contradiction")]


@pytest.mark.parametrize("elmo", WHERE)
def test_a_pair_has_the_same_answer_alone_and_among_others(elmo: str) -> None:
    features = small_features(elmo)  # type: ignore[arg-type]
    network = TASK.network(SIZES, LABELS, small_inputs(features)).eval()
    together = network.logits(TASK.collate(PAIRS, LABELS, features))
    for row, one in enumerate(PAIRS):
        assert torch.allclose(together[row], network.logits(TASK.collate([one], LABELS, features))[0], atol=1e-5)


def test_the_alignment_is_that_of_the_paper() -> None:
    """The vectors that the comparison sees, computed token by token."""
    features = small_features()
    network = TASK.network(SIZES, LABELS, small_inputs(features)).eval()
    seen: list[torch.Tensor] = []
    network.projection.register_forward_hook(lambda module, given, result: seen.append(given[0]))
    batch = TASK.collate(PAIRS[:1], LABELS, features)
    network.logits(batch)
    [a], [b] = (network._encode(side)[0] for side in (batch.premises, batch.hypotheses))
    for row, own in enumerate(a):
        aligned = torch.softmax(b @ own, dim=0) @ b
        expected = torch.cat([own, aligned, own - aligned, own * aligned])
        assert torch.allclose(seen[0][0, row], expected, atol=1e-5)


@pytest.mark.parametrize("elmo", WHERE)
def test_every_parameter_takes_part(elmo: str) -> None:
    features = small_features(elmo)  # type: ignore[arg-type]
    network: Esim = TASK.network(SIZES, LABELS, small_inputs(features))
    network(TASK.collate(PAIRS, LABELS, features)).backward()
    still = [name for name, p in network.named_parameters() if p.requires_grad and (p.grad is None or not p.grad.any())]
    assert [name for name in still if "mix" not in name and "characters.weight" not in name] == []
    assert network.encoder.from_left[0].input_size == network.tokens.input_width
    assert (network.tokens.output_width > 0) == (elmo in ("output", "both"))


def test_predictions_are_a_label_and_shares_that_add_up_to_one() -> None:
    features = small_features()
    network = TASK.network(SIZES, LABELS, small_inputs(features)).eval()
    unlabelled = [replace(one, label=None) for one in PAIRS]
    for found in network.predict(TASK.collate(unlabelled, LABELS, features)):
        assert found["label"] == LABELS["labels"][found["shares"].index(max(found["shares"]))]
        assert sum(found["shares"]) == pytest.approx(1, abs=1e-3)
