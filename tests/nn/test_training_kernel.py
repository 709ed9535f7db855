"""The compiled kernel of training against PyTorch in double precision: outputs and every gradient.

In float32 they agree to rounding; with bfloat16 factors as far as eight bits of mantissa carry.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from polyseme.bilm_config import BiLMConfig, CharacterConfig, WordConfig
from polyseme.kernel.library import library
from polyseme.nn import lstm_fused, softmax, token_encoder
from polyseme.nn.lstm import CellState, ProjectedLSTM
from polyseme.nn.lstm_fused import run_packed
from polyseme.nn.softmax import sampled_loss
from polyseme.nn.token_encoder import CharacterCNN
from polyseme.nn.training_kernel import has_bfloat16, lowered, training_kernel

needs_kernel = pytest.mark.skipif(training_kernel(torch.empty(0)) is None, reason="the kernel was not compiled")
#: Relative to the size of a tensor.
TOLERANCE = {torch.float32: 5e-6, torch.bfloat16: 0.02}
Clips = tuple[float | None, float | None]


@pytest.fixture(params=["float32", "bfloat16", "bfloat16 without tiles"])
def dtype(request: pytest.FixtureRequest) -> Iterator[torch.dtype]:
    name, *without_tiles = request.param.split(maxsplit=1)
    found: torch.dtype = getattr(torch, name)
    if found == torch.bfloat16 and not has_bfloat16():
        pytest.skip("this processor has no bfloat16 instructions")
    kernel = library()
    if without_tiles and kernel is not None:
        kernel.functions.polyseme_use_tiles(0)
    with lowered(found):
        yield found
    if kernel is not None:
        kernel.functions.polyseme_use_tiles(1)


def assert_as_exact(expected: Sequence[Tensor], found: Sequence[Tensor], tolerance: float) -> None:
    for one, other in zip(expected, found, strict=True):
        assert one.shape == other.shape
        assert float((one - other).norm()) <= tolerance * max(float(one.norm()), 1e-3)


def a_layer(size: int, cell: int, clips: Clips) -> ProjectedLSTM:
    words = WordConfig(5, size)
    lstm = ProjectedLSTM(
        BiLMConfig(
            words=words,
            project_tokens=False,
            cell=cell,
            projection=size,
            cell_clip=clips[0],
            projection_clip=clips[1],
        )
    )
    with torch.no_grad():
        lstm.bias.normal_()
    return lstm


def outputs_and_gradients(lstm: ProjectedLSTM, x: Tensor, sizes: list[int], upstream: Tensor) -> list[Tensor]:
    x = x.to(lstm.bias.dtype).requires_grad_()
    torch.manual_seed(1)
    h, c = (0.1 * torch.randn(state.shape).to(x) for state in lstm.zero_state(sizes[0]))
    y, final = run_packed(lstm, x, sizes, CellState(h, c))
    return [y.detach(), *final, *torch.autograd.grad(y, [x, *lstm.parameters()], upstream.to(x.dtype))]


def lstm_both_ways(lengths: list[int], size: int, cell: int, clips: Clips) -> tuple[list[Tensor], list[Tensor]]:
    """In double precision by PyTorch, and by the kernel."""
    sizes = [sum(n > t for n in lengths) for t in range(max(lengths))]
    lstm, x, upstream = a_layer(size, cell, clips), torch.randn(sum(sizes), size), torch.randn(sum(sizes), size)
    torch.manual_seed(1)
    found = outputs_and_gradients(lstm, x, sizes, upstream)
    return outputs_and_gradients(lstm.double(), x, sizes, upstream), found


@needs_kernel
@pytest.mark.parametrize("clips", [(None, None), (3.0, 3.0), (0.4, None), (None, 0.1)])
def test_a_layer_and_its_gradients(dtype: torch.dtype, clips: Clips) -> None:
    torch.manual_seed(0)
    expected, found = lstm_both_ways([19, 19, 12, 8, 8, 7, 7, 3, 1], 48, 80, clips)
    # A clip that binds in one precision and not in the other moves single numbers by all they have.
    tolerance = TOLERANCE[dtype] * (10 if dtype == torch.bfloat16 and clips not in ((None, None), (3.0, 3.0)) else 1)
    assert_as_exact([t.float() for t in expected], found, tolerance)


@needs_kernel
@given(st.lists(st.integers(1, 9), min_size=1, max_size=20), st.sampled_from([16, 32, 80]), st.sampled_from([96, 144]))
def test_any_lengths_and_sizes(lengths: list[int], size: int, cell: int) -> None:
    torch.manual_seed(len(lengths))
    expected, found = lstm_both_ways(sorted(lengths, reverse=True), size, cell, (3.0, 3.0))
    assert_as_exact([t.float() for t in expected], found, TOLERANCE[torch.float32])


@needs_kernel
def test_the_kernel_is_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("PyTorch did the work")

    monkeypatch.setattr(lstm_fused._PackedLSTM, "apply", never)
    monkeypatch.setattr(softmax, "_against_negatives", never)
    monkeypatch.setattr(torch.nn.Conv1d, "forward", never)
    lstm = a_layer(16, 32, (3.0, 3.0))
    run_packed(lstm, torch.randn(3, 16), [2, 1], lstm.zero_state(2))
    corrections = torch.zeros(4), torch.zeros(64)
    sampled_loss(
        torch.randn(4, 16), torch.randn(99, 16), torch.randn(99), torch.arange(4), torch.arange(64), corrections
    )
    CharacterCNN(CharacterConfig(20, max_characters=12, filters=((1, 8), (3, 16)))).forward(torch.ones(2, 12).long())


@needs_kernel
@pytest.mark.parametrize(("size", "rows", "negatives"), [(16, 5, 64), (48, 100, 192), (128, 50, 2048)])
def test_the_sampled_softmax(dtype: torch.dtype, size: int, rows: int, negatives: int) -> None:
    torch.manual_seed(0)
    h, weight, bias = torch.randn(rows, size), torch.randn(2500, size) / size**0.5, torch.randn(2500)
    targets, drawn = torch.randint(0, 2500, (rows,)), torch.randperm(2500)[:negatives].sort().values
    targets[0] = drawn[3]  # a negative that is the row's own target
    corrections = torch.rand(rows), torch.rand(negatives)

    def loss_and_gradients(dtype: torch.dtype) -> list[Tensor]:
        inputs = [t.to(dtype).requires_grad_() for t in (h, weight, bias)]
        loss = sampled_loss(*inputs, targets, drawn, (corrections[0].to(dtype), corrections[1].to(dtype)))
        return [loss.detach(), *torch.autograd.grad(loss, inputs)]

    expected = [t.float() for t in loss_and_gradients(torch.double)]
    assert_as_exact(expected, loss_and_gradients(torch.float32), TOLERANCE[dtype])


@needs_kernel
@pytest.mark.parametrize("filters", [((1, 8), (2, 16), (3, 70)), ((1, 32), (5, 256)), ((7, 3),)])
def test_the_character_cnn(dtype: torch.dtype, filters: tuple[tuple[int, int], ...]) -> None:
    torch.manual_seed(0)
    cnn = CharacterCNN(CharacterConfig(20, max_characters=12, filters=filters, highways=0))
    ids = torch.randint(1, 21, (40, 12))
    for row, length in enumerate(torch.randint(0, 13, (40,)).tolist()):
        ids[row, length:] = 7  # what fills a token up
    ids[0] = 0

    def largest_and_gradients(cnn: CharacterCNN) -> list[Tensor]:
        largest = cnn(ids)
        torch.manual_seed(1)
        upstream = torch.randn(largest.shape).to(largest.dtype)
        return [largest.detach(), *torch.autograd.grad(largest, list(cnn.parameters()), upstream)]

    found = largest_and_gradients(cnn)
    expected = [t.float() for t in largest_and_gradients(cnn.double())]
    # Rounded factors can make another of two windows the winner.
    assert_as_exact(expected, found, TOLERANCE[dtype] * (5 if dtype == torch.bfloat16 else 1))


@needs_kernel
def test_an_evaluation_does_not_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The readable network is what everything is compared with."""
    monkeypatch.setattr(token_encoder.KernelCharacters, "apply", None)
    cnn = CharacterCNN(CharacterConfig(20, max_characters=12, filters=((1, 8),)))
    with torch.no_grad():
        assert cnn(torch.ones(2, 12).long()).shape == (2, 8)


def test_what_is_asked_for_ends_with_the_block() -> None:
    with lowered(torch.bfloat16):
        inside = training_kernel(torch.empty(0))
    outside = training_kernel(torch.empty(0))
    assert inside is None or inside.dtype == torch.bfloat16
    assert outside is None or outside.dtype == torch.float32
