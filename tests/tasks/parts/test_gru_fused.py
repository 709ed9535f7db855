"""Two GRUs in one function: outputs and gradients are those of ``nn.GRU``."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from polyseme.tasks.parts.encoders import BiGRU, BiRNN
from polyseme.tasks.parts.gru_fused import run_together


def gradients(outputs: list[Tensor], of: list[Tensor]) -> tuple[Tensor, ...]:
    torch.manual_seed(1)
    return torch.autograd.grad(sum((y * torch.randn_like(y)).sum() for y in outputs), of)  # type: ignore[arg-type]


@settings(max_examples=20)
@given(st.integers(1, 6), st.integers(1, 4), st.integers(1, 5), st.integers(1, 5), st.integers(0, 100))
def test_outputs_and_gradients_are_those_of_pytorch(steps: int, rows: int, width: int, hidden: int, seed: int) -> None:
    torch.manual_seed(seed)
    left, right = (nn.GRU(width, hidden).double() for _ in range(2))
    inputs = [torch.randn(steps, rows, width, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    of = [*inputs, *left.parameters(), *right.parameters()]
    expected = [left(inputs[0])[0], right(inputs[1])[0]]
    found = list(run_together((left, right), (inputs[0], inputs[1])))
    for a, b in zip([*expected, *gradients(expected, of)], [*found, *gradients(found, of)], strict=True):
        torch.testing.assert_close(b, a, rtol=1e-9, atol=1e-12)


def test_a_bidirectional_layer_is_the_same_either_way() -> None:
    torch.manual_seed(0)
    network, x, lengths = BiGRU(5, 4, layers=2), torch.randn(3, 7, 5, requires_grad=True), torch.tensor([7, 1, 4])
    of = [x, *network.parameters()]
    found = network(x, lengths)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BiGRU, "run", BiRNN.run)
        expected = network(x, lengths)
    torch.testing.assert_close(found, expected)
    for a, b in zip(gradients([found], of), gradients([expected], of), strict=True):
        torch.testing.assert_close(a, b)
