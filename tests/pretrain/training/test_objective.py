"""The gradients of a step against plain autograd over the readable network."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from helpers.small_corpora import small_corpus, small_recipe
from polyseme.nn.softmax import draw_negatives
from polyseme.pretrain.training.batches import PackedBatch, TypeTable, pack_sentences, pack_windows
from polyseme.pretrain.training.build import new_model
from polyseme.pretrain.training.language_model import LanguageModel, zero_states
from polyseme.pretrain.training.objective import compute_gradients
from polyseme.pretrain.training.parallel import one_after_the_other, side_by_side
from polyseme.pretrain.training.step_softmax import full_softmax, sampled_softmax

KEEP_ALL = [lambda x: x, lambda x: x]


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> tuple[LanguageModel, TypeTable, list[np.ndarray]]:
    corpus = small_corpus(tmp_path_factory.mktemp("objective"))
    recipe = small_recipe(model={"cell_clip": 0.05, "projection_clip": 0.02})  # both bind
    model, indexer = new_model(recipe, corpus, seed=1)
    sentences = [corpus.sentence(i).astype(np.int64) for i in range(6)]
    return model.double(), TypeTable.of_corpus(corpus, indexer), sorted(sentences, key=len, reverse=True)


def plain_loss(model: LanguageModel, table: TypeTable, sentences: list[np.ndarray]) -> Tensor:
    """½ (forward + backward) with the readable network, its own loop and torch's cross entropy."""
    losses = []
    for sentence in sentences:
        types = np.concatenate([[table.begin], sentence, [table.end]])
        output = model.bilm(table.rows(types)[None])
        forward, backward = output.layers[-1, 0].chunk(2, dim=1)
        targets = torch.from_numpy(table.targets(types))
        for h, target in ((forward[:-1], targets[1:]), (backward[1:], targets[:-1])):
            logits = h @ model.softmax.weight.t() + model.softmax.bias
            losses.append(torch.nn.functional.cross_entropy(logits, target, reduction="sum"))
    positions = sum(len(s) + 1 for s in sentences)
    return torch.stack(losses).sum() / (2 * positions)


def test_loss_and_gradients_are_those_of_plain_autograd(
    setting: tuple[LanguageModel, TypeTable, list[np.ndarray]],
) -> None:
    model, table, sentences = setting
    batch = pack_sentences(sentences, table, directions=2, share=slice(None))
    softmax = full_softmax(len(model.softmax.bias))
    ours = compute_gradients(
        model, batch, softmax, zero_states(model.bilm, batch), run=one_after_the_other, dropout=KEEP_ALL
    )
    plain = plain_loss(model, table, sentences)
    expected = torch.autograd.grad(plain, [*model.network(), model.softmax.weight, model.softmax.bias])
    torch.testing.assert_close(ours.losses.sum() / (2 * batch.positions), plain.detach(), atol=1e-12, rtol=0)
    for one, other in zip([*ours.network, ours.weight, ours.bias], expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-12, rtol=0)


def test_products_in_half_precision_give_nearly_the_same_gradients_in_full(
    setting: tuple[LanguageModel, TypeTable, list[np.ndarray]],
) -> None:
    """float16 stands for the bfloat16 of a GPU, which is not on every CPU."""
    double, table, sentences = setting
    model = copy.deepcopy(double).float()
    batch = pack_sentences(sentences, table, directions=2, share=slice(None))
    softmax, states = full_softmax(len(model.softmax.bias)), zero_states(model.bilm, batch)

    def gradients() -> Tensor:
        found = compute_gradients(model, batch, softmax, states, run=one_after_the_other, dropout=KEEP_ALL)
        return torch.cat([g.flatten() for g in (found.losses, *found.network, found.weight, found.bias)])

    exact = gradients()
    model.precision = torch.float16
    lowered = gradients()
    assert lowered.dtype == torch.float32 and not torch.equal(exact, lowered)
    assert (exact - lowered).norm() < 1e-2 * exact.norm()


def the_same_bits(one: list[Tensor], other: list[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_two_threads_give_the_same_bits_as_one(setting: tuple[LanguageModel, TypeTable, list[np.ndarray]]) -> None:
    model, table, sentences = setting
    batch = pack_sentences(sentences, table, directions=2, share=slice(None))
    negatives = draw_negatives(len(model.softmax.bias), 5, np.random.default_rng(0))
    softmax = sampled_softmax(len(model.softmax.bias), batch.targets, (negatives, negatives))
    states = zero_states(model.bilm, batch)
    alone = compute_gradients(model, batch, softmax, states, run=one_after_the_other, dropout=KEEP_ALL)
    with side_by_side() as run:
        together = compute_gradients(model, batch, softmax, states, run=run, dropout=KEEP_ALL)
    assert the_same_bits(
        [alone.losses, *alone.network, alone.weight], [together.losses, *together.network, together.weight]
    )


def test_the_shares_of_two_processes_add_up_to_the_whole(
    setting: tuple[LanguageModel, TypeTable, list[np.ndarray]],
) -> None:
    model, table, sentences = setting
    softmax = full_softmax(len(model.softmax.bias))

    def gradients(share: slice) -> list[Tensor]:
        batch = pack_sentences(sentences, table, directions=2, share=share)
        found = compute_gradients(
            model, batch, softmax, zero_states(model.bilm, batch), run=one_after_the_other, dropout=KEEP_ALL
        )
        return [found.losses, *found.network, found.weight, found.bias]

    whole = gradients(slice(None))
    halves = zip(gradients(slice(0, None, 2)), gradients(slice(1, None, 2)), strict=True)
    for one, (first, second) in zip(whole, halves, strict=True):
        torch.testing.assert_close(one, first + second, atol=1e-12, rtol=0)


def test_a_process_without_a_share_adds_nothing(setting: tuple[LanguageModel, TypeTable, list[np.ndarray]]) -> None:
    model, table, sentences = setting
    batch = pack_sentences(sentences[:1], table, directions=2, share=slice(1, None, 2))
    softmax = full_softmax(len(model.softmax.bias))
    found = compute_gradients(model, batch, softmax, [], run=one_after_the_other, dropout=KEEP_ALL)
    assert batch.positions == len(sentences[0]) + 1
    assert all(not tensor.any() for tensor in [found.losses, *found.network, found.weight, found.bias])


def test_windows_go_on_from_the_state_they_are_given(
    setting: tuple[LanguageModel, TypeTable, list[np.ndarray]],
) -> None:
    """Two windows of 3 with the state carried are one window of 6, but for the cut gradient."""
    model, table, _ = setting
    inputs = np.random.default_rng(0).integers(0, table.begin, size=(2, 7))

    def window(columns: slice) -> PackedBatch:
        pair = inputs[:, :-1][:, columns], inputs[:, 1:][:, columns]
        return pack_windows([pair, pair], table, share=slice(None))

    def losses(batch: PackedBatch, states: list) -> tuple[Tensor, list]:
        softmax = full_softmax(len(model.softmax.bias))
        found = compute_gradients(model, batch, softmax, states, run=one_after_the_other, dropout=KEEP_ALL)
        return found.losses, found.states

    whole, _ = losses(window(slice(0, 6)), zero_states(model.bilm, window(slice(0, 6))))
    first, states = losses(window(slice(0, 3)), zero_states(model.bilm, window(slice(0, 3))))
    second, _ = losses(window(slice(3, 6)), states)
    torch.testing.assert_close(first + second, whole, atol=1e-12, rtol=0)


def test_dropout_falls_on_every_layer_input_and_on_the_top(tmp_path: Path) -> None:
    corpus = small_corpus(tmp_path, sentences=20)
    model, indexer = new_model(small_recipe(), corpus, seed=0)
    batch = pack_sentences(
        [corpus.sentence(0).astype(np.int64)], TypeTable.of_corpus(corpus, indexer), directions=2, share=slice(None)
    )
    seen: list[tuple[int, ...]] = []

    def dropout(x: Tensor) -> Tensor:
        seen.append(tuple(x.shape))
        return x

    compute_gradients(
        model,
        batch,
        full_softmax(len(model.softmax.bias)),
        zero_states(model.bilm, batch),
        run=one_after_the_other,
        dropout=[dropout, dropout],
    )
    rows = len(batch.readings[0].inputs)
    assert seen == [(rows, 6)] * 6  # two directions: two layers and the top
