"""The probe finds what a linear map can find, all layers at once, and the same every time."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from polyseme.errors import InputError
from polyseme.probes.frozen import BiLMVectors, TableVectors, gather
from polyseme.probes.linear_probe import ProbeChoices, probe_tags, train_probe
from polyseme.tasks.treebank import TaggedSentence
from polyseme.tasks.vectors.static import StaticVectors

LABELS = ("N", "V", "D")
CHOICES = ProbeChoices(steps=300, batch=64, rate=0.05)


def clouds(count: int, seed: int, spread: float) -> tuple[np.ndarray, list[str]]:
    """Two layers [2, count, 6]: in the second, each label has its own corner; the first is noise. And the labels."""
    chance = np.random.default_rng(seed)
    labels = chance.integers(0, 3, count)
    noise = chance.normal(size=(2, count, 6))
    noise[1] = 100 + 5 * (np.eye(6)[labels] + spread * noise[1])  # far from zero: standardising must see to it
    return noise.astype(np.float16), [LABELS[label] for label in labels]


def test_separable_vectors_are_separated_and_noise_is_not() -> None:
    (train, labels), (dev, dev_labels) = clouds(600, 0, 0.05), clouds(300, 1, 0.05)
    probe = train_probe(train, labels, dev, dev_labels, CHOICES)
    noise, corners = probe.accuracies(dev, dev_labels)
    assert corners == 1.0
    assert noise < 0.45
    assert probe.labels == ["D", "N", "V"]
    assert [probe.labels[number] for number in probe.predict(dev)[1]] == dev_labels


def test_the_optimum_is_the_one_of_lbfgs() -> None:
    (train, labels), (dev, dev_labels) = clouds(400, 0, 0.4), clouds(200, 1, 0.4)
    decay = 1e-3
    probe = train_probe(train, labels, dev, dev_labels, ProbeChoices((decay,), steps=400, batch=100))
    inputs = (torch.from_numpy(train[1]).float() - probe.shift[1]) * probe.scale[1]
    gold = torch.tensor([probe.labels.index(label) for label in labels])
    weight, bias = torch.zeros(6, 3, requires_grad=True), torch.zeros(3, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight, bias], max_iter=500, line_search_fn="strong_wolfe")

    def loss(w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(inputs @ w + b, gold) + decay * w.square().sum() / 2

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        value = loss(weight, bias)
        value.backward()
        return value

    optimizer.step(closure)
    assert loss(probe.weight[1], probe.bias[1]).item() == pytest.approx(loss(weight, bias).item(), rel=0.01)


def test_dev_chooses_the_regularisation_of_each_layer() -> None:
    (train, labels), (dev, dev_labels) = clouds(60, 0, 0.6), clouds(600, 1, 0.6)
    decays = (0.0, 0.03, 3.0)
    alone = [train_probe(train, labels, dev, dev_labels, ProbeChoices((d,), 200, 20, 0.05)) for d in decays]
    chosen = train_probe(train, labels, dev, dev_labels, ProbeChoices(decays, 200, 20, 0.05))
    by_decay = np.array([probe.accuracies(dev, dev_labels) for probe in alone])  # [R, L]
    np.testing.assert_allclose(chosen.accuracies(dev, dev_labels), by_decay.max(axis=0))
    assert [decays.index(decay) for decay in chosen.decays] == by_decay.argmax(axis=0).tolist()
    assert len({tuple(row) for row in by_decay.round(6).tolist()}) > 1  # it does matter here


def test_the_same_data_give_the_same_probe() -> None:
    (train, labels), (dev, dev_labels) = clouds(200, 0, 0.4), clouds(100, 1, 0.4)
    torch.manual_seed(1)
    first = train_probe(train, labels, dev, dev_labels, CHOICES)
    torch.manual_seed(2)
    second = train_probe(train, labels, dev, dev_labels, CHOICES)
    assert torch.equal(first.weight, second.weight)


def test_a_label_that_training_had_not_is_never_right() -> None:
    train, labels = clouds(100, 0, 0.05)
    probe = train_probe(train, labels, train, labels, CHOICES)
    assert probe.accuracies(train, ["X"] * 100) == [0.0, 0.0]


def test_every_vector_needs_a_label() -> None:
    train, labels = clouds(10, 0, 0.05)
    with pytest.raises(InputError, match="10 vectors and 9 labels"):
        train_probe(train, labels[:9], train, labels)


def test_tags_of_a_treebank_through_a_static_table() -> None:
    table = StaticVectors("", {"the": 1, "cat": 2, "sat": 3}, np.eye(4, dtype=np.float32))
    sentences = [TaggedSentence(("the", "cat", "sat"), ("D", "N", "V"))] * 40
    unseen = [TaggedSentence(("The", "cat", "zzz"), ("D", "N", "V"))]
    result = probe_tags(TableVectors(table), sentences, sentences[:2], unseen, CHOICES)
    assert (result.dev, result.labels, result.train_tokens) == ([1.0], 3, 120)
    assert result.test is not None and result.test[0] >= 2 / 3  # "The" is looked up in lower case
    assert probe_tags(TableVectors(table), sentences, sentences[:2], None, CHOICES).test is None


def test_vectors_of_a_model_are_its_layers_in_order() -> None:
    from helpers.tiny_models import tiny_elmo

    elmo = tiny_elmo()
    sentences = [["a", "cat"], ["sat"], [], ["on", "it", "."]]
    gathered = gather(BiLMVectors(elmo), sentences)
    expected = np.concatenate([encoding.layers for encoding in elmo.encode_tokens(sentences)], axis=1)
    np.testing.assert_array_equal(gathered, expected.astype(np.float16))
