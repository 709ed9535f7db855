"""The network gives the reference's numbers: every layer, every position, every state, within 1e-5."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.reference import ReferenceBiLM, options_for
from helpers.reference.cases import BATCHES, CASES, Batch, Case
from helpers.reference.port import assert_same_state, bilm_of, tensors_of
from polyseme.bilm_config import BiLMConfig, CharacterConfig, WordConfig
from polyseme.errors import InputError
from polyseme.nn.bilm import BiLM, BiLMState, reorder, reversal

TOLERANCE = 1e-5


def assert_same_layers(found: torch.Tensor, expected: np.ndarray, lengths: list[int]) -> None:
    """Equal where a token stands; zero elsewhere, where the original leaves its encoder's noise in layer 0."""
    for b, length in enumerate(lengths):
        np.testing.assert_allclose(found[:, b, :length].numpy(), expected[:, b, :length], atol=TOLERANCE, rtol=0)
        assert not found[:, b, length:].any()


def lengths_of(batch: Batch) -> list[int]:
    return [len(sentence) + 2 for sentence in batch]


@pytest.mark.parametrize("name", CASES)
@torch.no_grad()
def test_every_kind_of_model(name: str) -> None:
    case = CASES[name]
    reference, batch = case.model(), BATCHES[0]
    lengths, state = lengths_of(batch), reference.zero_state(len(batch))
    expected = reference(*case.ids(batch), lengths=lengths, state=state)
    output = bilm_of(reference)(case.polyseme_ids(batch))
    assert_same_layers(output.layers, expected, lengths)
    assert_same_state(output.state, state)
    assert output.lengths.tolist() == lengths
    assert output.mask.dtype == torch.bool
    assert output.mask.sum(dim=1).tolist() == lengths


@pytest.mark.parametrize("name", CASES)
@torch.no_grad()
def test_state_carried_over_several_calls(name: str) -> None:
    """As the originals carry it: a row keeps its place, rows without a sentence keep their state, new rows are zero."""
    case = CASES[name]
    reference = case.model()
    bilm, state, kept = bilm_of(reference), reference.zero_state(5), None
    for batch in BATCHES:
        expected = reference(*case.ids(batch), lengths=lengths_of(batch), state=state)
        output = bilm(case.polyseme_ids(batch), kept.rows(len(batch)) if kept else None)
        kept = kept.replace_rows(output.state) if kept else output.state
        assert_same_layers(output.layers, expected, lengths_of(batch))
        assert_same_state(kept, state)


@given(
    seed=st.integers(0, 2**31),
    depth=st.integers(1, 3),
    sizes=st.sampled_from([(8, 4), (5, 5), (6, 1), (1, 1)]),
    skip=st.booleans(),
    clips=st.tuples(*[st.sampled_from([None, 0.05, 0.3, 3.0])] * 2),
    activation=st.sampled_from(["relu", "tanh"]),
    highways=st.integers(0, 3),
    width=st.sampled_from([3, 4, 16]),
    directions=st.sampled_from([1, 2]),
    batch=st.lists(st.lists(st.text(max_size=6), max_size=4), min_size=1, max_size=4),
)
@settings(max_examples=60)
@torch.no_grad()
def test_any_model_on_any_text(
    seed: int,
    depth: int,
    sizes: tuple[int, int],
    skip: bool,
    clips: tuple[float | None, float | None],
    activation: str,
    highways: int,
    width: int,
    directions: int,
    batch: Batch,
) -> None:
    options = options_for(
        depth=depth,
        cell=sizes[0],
        size=sizes[1],
        skip=skip,
        cell_clip=clips[0],
        proj_clip=clips[1],
        activation=activation,
        highways=highways,
        width=width,
        filters=((1, 2), (3, 3)),
    )
    case = Case(options, directions=directions, seed=seed)
    reference = case.model()
    output = bilm_of(reference)(case.polyseme_ids(batch))
    assert_same_layers(output.layers, reference(*case.ids(batch)), lengths_of(batch))


@torch.no_grad()
def test_a_sentence_of_300_tokens() -> None:
    """Errors do not add up along a sentence."""
    case = CASES["two layers, skip connections"]
    batch = [[f"token{i}" for i in range(300)]]
    reference = case.model()
    assert_same_layers(bilm_of(reference)(case.polyseme_ids(batch)).layers, reference(*case.ids(batch)), [302])


@torch.no_grad()
def test_float64_agrees_to_the_last_digits() -> None:
    """What differs in float32 is rounding and nothing else."""
    case = CASES["both clips bind, three layers"]
    reference, batch = case.model(), BATCHES[0]
    expected = reference(*case.ids(batch))
    layers = bilm_of(reference, torch.float64)(case.polyseme_ids(batch)).layers.numpy()
    for b, length in enumerate(lengths_of(batch)):
        np.testing.assert_allclose(layers[:, b, :length], expected[:, b, :length], atol=1e-12, rtol=0)


@pytest.mark.parametrize("name", ["no clips", "both clips bind, three layers", "words and characters"])
def test_gradients_are_the_slopes_of_the_reference(name: str) -> None:
    """The derivative along a random direction in the space of all weights, by differences of the reference.

    A clip that let gradients through where it binds would be seen here.
    """
    case, rng = CASES[name], np.random.default_rng(5)
    model, batch = case.model(), BATCHES[0]
    lengths = lengths_of(batch)
    weights = {k: v.astype(np.float64) for k, v in model.weights.items()}
    along = {k: rng.standard_normal(v.shape) for k, v in weights.items()}
    ids, shape = case.ids(batch), (model.options["lstm"]["n_layers"] + 1, len(batch), max(lengths), 12)
    score = rng.standard_normal(shape)
    for b, length in enumerate(lengths):
        score[:, b, length:] = 0

    def value(step: float) -> float:
        moved = {k: v + step * along[k] for k, v in weights.items()}
        layers = ReferenceBiLM(model.options, moved, shifted=model.shifted)(*ids, lengths=lengths)
        return float((score * layers).sum())

    slope = (value(1e-6) - value(-1e-6)) / 2e-6
    bilm = bilm_of(ReferenceBiLM(model.options, weights), torch.float64)
    (torch.from_numpy(score) * bilm(case.polyseme_ids(batch)).layers).sum().backward()
    direction = tensors_of(along, model.options["lstm"]["n_layers"])
    found = sum(float((p.grad * direction[k]).sum()) for k, p in bilm.named_parameters() if p.grad is not None)
    assert all(p.grad is not None for p in bilm.parameters())
    assert found == pytest.approx(slope, rel=1e-5)


# What stands around the numbers


def small(**changes: object) -> BiLM:
    torch.manual_seed(1)
    characters = CharacterConfig(alphabet=261, dim=3, max_characters=6, filters=((1, 3), (2, 4)), highways=1)
    return BiLM(BiLMConfig(**{"characters": characters, "cell": 6, "projection": 4, **changes}))  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", [(0, 2, 6), (2, 0, 6), (0, 0, 6), (1, 1, 6)])
def test_batches_without_sentences_or_positions(shape: tuple[int, int, int]) -> None:
    output = small()(torch.zeros(shape, dtype=torch.long))
    assert output.layers.shape == (3, shape[0], shape[1], 8)
    assert not output.layers.any()
    layers, mask = output.without_boundaries()
    assert layers.shape[:3] == (3, shape[0], 0)
    assert mask.shape == (shape[0], 0)


def test_a_row_of_padding_keeps_its_state() -> None:
    bilm, start = small(), BiLMState(torch.randn(2, 2, 2, 4), torch.randn(2, 2, 2, 6))
    ids = torch.zeros(2, 4, 6, dtype=torch.long)
    ids[0, :3] = torch.randint(1, 261, (3, 6))
    output = bilm(ids, start)
    assert not output.layers[:, 1].any()
    assert torch.equal(output.state.h[:, :, 1], start.h[:, :, 1])
    assert torch.equal(output.state.c[:, :, 1], start.c[:, :, 1])
    assert not torch.equal(output.state.h[:, :, 0], start.h[:, :, 0])


def test_without_boundaries_keeps_the_tokens_alone() -> None:
    case, batch = CASES["one layer"], BATCHES[0]
    output = bilm_of(case.model())(case.polyseme_ids(batch))
    layers, mask = output.without_boundaries()
    assert mask.sum(dim=1).tolist() == [len(sentence) for sentence in batch]
    for b, sentence in enumerate(batch):
        assert torch.equal(layers[:, b, : len(sentence)], output.layers[:, b, 1 : len(sentence) + 1])
        assert not layers[:, b, len(sentence) :].any()


@pytest.mark.parametrize("shape", [(2, 6), (1, 2, 5), (1, 2, 7), (1, 1, 2, 6)])
def test_ids_of_another_model_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"this model reads \[sentences, positions, 6\]"):
        small()(torch.ones(shape, dtype=torch.long))


def test_each_distinct_token_is_encoded_once_with_the_same_result() -> None:
    bilm, ids = small(), torch.randint(1, 3, (3, 40, 6))
    rows: list[int] = []
    bilm.token_encoder.register_forward_pre_hook(lambda _, inputs: rows.append(len(inputs[0])))
    encoded = bilm.encode_tokens(ids)
    assert rows == [len(torch.unique(ids.flatten(0, 1), dim=0))]
    direct = bilm.token_encoder(ids.flatten(0, 1)).view(3, 40, 4)
    torch.testing.assert_close(encoded, direct, atol=1e-6, rtol=0)


SIZES = {
    "small": (1024, 128, 1, 13_593_296),
    "medium": (2048, 256, 1, 28_027_728),
    "original": (4096, 512, 2, 93_600_848),
}


@pytest.mark.parametrize("name", SIZES)
def test_parameter_counts_of_the_released_models(name: str) -> None:
    """As the files count them: without the zero row of padding that stands before the 261 character vectors."""
    cell, projection, highways, expected = SIZES[name]
    with torch.device("meta"):
        bilm = BiLM(
            BiLMConfig(characters=CharacterConfig(alphabet=261, highways=highways), cell=cell, projection=projection)
        )
    padding_row = 16
    assert sum(p.numel() for p in bilm.parameters()) - padding_row == expected


def test_the_layers_run_on_any_device() -> None:
    """Shapes flow through the recurrence on a device without memory: no tensor is made on a device of its own."""
    bilm = small().to("meta")
    tokens, mask = torch.empty(2, 5, 4, device="meta"), torch.empty(2, 5, dtype=torch.bool, device="meta")
    state = bilm.zero_state(2)
    assert state.h.device.type == "meta"
    outputs, finals = bilm.directions[1](tokens, mask, [state.cell(1, 0), state.cell(1, 1)])
    assert [y.shape for y in outputs] == [(2, 5, 4), (2, 5, 4)]
    assert finals[0].c.device.type == "meta"
    order = reversal(torch.empty(2, dtype=torch.long, device="meta"), 5)
    assert reorder(tokens, order).device.type == "meta"
    assert bilm.token_encoder(torch.empty(7, 6, dtype=torch.long, device="meta")).shape == (7, 4)


def test_a_float64_model_stays_float64_throughout() -> None:
    bilm = small().double()
    output = bilm(torch.randint(1, 261, (2, 3, 6)))
    assert output.layers.dtype == torch.float64
    assert output.state.c.dtype == torch.float64


# BiLMState


def test_state_rows_and_replacement() -> None:
    state = BiLMState(torch.randn(2, 1, 3, 4), torch.randn(2, 1, 3, 6))
    assert torch.equal(state.rows(2).h, state.h[:, :, :2])
    grown = state.rows(5)
    assert torch.equal(grown.c[:, :, :3], state.c)
    assert not grown.c[:, :, 3:].any()
    new = BiLMState(torch.randn(2, 1, 2, 4), torch.randn(2, 1, 2, 6))
    kept = state.replace_rows(new)
    assert torch.equal(kept.h[:, :, :2], new.h)
    assert torch.equal(kept.h[:, :, 2:], state.h[:, :, 2:])
    larger = new.replace_rows(state)
    assert torch.equal(larger.h, state.h)
    assert torch.equal(state.rows(1).expand(4).h, state.h[:, :, :1].repeat(1, 1, 4, 1))


@given(st.lists(st.integers(0, 7), min_size=1, max_size=5))
def test_reversal_is_its_own_inverse(lengths: list[int]) -> None:
    x = torch.arange(len(lengths) * 7.0).view(-1, 7, 1)
    order = reversal(torch.tensor(lengths), 7)
    turned = reorder(x, order)
    assert torch.equal(reorder(turned, order), x)
    for b, length in enumerate(lengths):
        assert turned[b, :length, 0].tolist() == x[b, :length, 0].tolist()[::-1]
        assert turned[b, length:, 0].tolist() == x[b, length:, 0].tolist()


def test_word_models_need_no_characters() -> None:
    bilm = BiLM(BiLMConfig(words=WordConfig(size=9, dim=4), cell=6, projection=4, project_tokens=False))
    layers = bilm(torch.tensor([[[1], [5], [2]]])).layers
    assert torch.equal(layers[0, 0, :, :4], bilm.token_encoder.words.weight[[1, 5, 2]])
    assert bilm.token_encoder.characters is None
    assert bilm.token_encoder.projection is None
