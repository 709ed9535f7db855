"""The projected LSTM over whole sequences as one autograd function, for training.

The same numbers as ``ProjectedLSTM.forward``, several times faster: the input's part of the gates is one matrix
product for all steps, every step works in place in preallocated buffers, and each weight gradient is one matrix
product over all steps instead of one per step.

Sequences are packed time-major: the rows of step 0, then those of step 1, and so on, longest sequence first, so that
step t works on the first ``sizes[t]`` sequences and the state before it is a slice.

    sizes = [3, 3, 1]       rows   a0 b0 c0 | a1 b1 c1 | a2

On a CPU the compiled kernel does the same even faster (training_kernel.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from polyseme.nn.lstm import CellState, ProjectedLSTM
from polyseme.nn.precision import Products
from polyseme.nn.training_kernel import KernelLSTM, takes_lstm, training_kernel

_sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
_tanh_backward = torch.ops.aten.tanh_backward.grad_input


def run_packed(lstm: ProjectedLSTM, x: Tensor, sizes: Sequence[int], start: CellState) -> tuple[Tensor, CellState]:
    """[R, D] packed inputs, the state before step 0 → [R, D] outputs, and the state after each sequence's last step.

    No gradient flows into or out of the states: backpropagation is truncated there, as in the original.
    """
    weights = lstm.input_weight, lstm.state_weight, lstm.full_bias(), lstm.projection
    states, clips = (start.h, start.c), (lstm.cell_clip, lstm.projection_clip)
    kernel = training_kernel(x)
    if lstm.projection is not None and takes_lstm(kernel, *reversed(lstm.projection.shape)):
        last = last_rows(sizes)
        y, h, c = KernelLSTM.apply(x, *weights, states, tuple(sizes), last, clips, kernel)  # type: ignore[no-untyped-call]
        return y, CellState(h, c)
    products = Products.of(x)
    with products.by_hand():
        y, h, c = _PackedLSTM.apply(x, *weights, states, tuple(sizes), clips, products)  # type: ignore[no-untyped-call]
    return y, CellState(h, c)


class _PackedLSTM(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,  # [R, D]
        input_weight: Tensor,  # [D, 4H]
        state_weight: Tensor,  # [D, 4H]
        bias: Tensor,  # [4H]
        projection: Tensor | None,  # [H, D]
        start: tuple[Tensor, Tensor],  # [B, D], [B, H]
        sizes: tuple[int, ...],
        clips: tuple[float | None, float | None],
        products: Products,
    ) -> tuple[Tensor, Tensor, Tensor]:
        rows, cell = x.shape[0], bias.shape[0] // 4
        gates = products.plus(bias, x, input_weight)  # [R, 4H], activated in place: i, f, o, g
        cells, tanh_cells, hidden = (x.new_empty(rows, cell) for _ in range(3))  # [R, H] c, tanh c, σ(o) · tanh c
        y = hidden if projection is None else x.new_empty(rows, x.shape[1])  # [R, D]
        cell_clip, projection_clip = clips

        state_weight = products.lowered(state_weight)
        projection = None if projection is None else products.lowered(projection)
        h, c = start
        steps = zip(*(torch.split(t, list(sizes)) for t in (gates, cells, tanh_cells, hidden, y)), sizes, strict=True)
        for gate, new_c, tanh_c, m, new_h, n in steps:
            products.add(gate, h[:n], state_weight)
            gate[:, : 3 * cell].sigmoid_()
            gate[:, 3 * cell :].tanh_()
            i, f, o, g = gate.view(n, 4, cell).unbind(1)
            torch.mul(f, c[:n], out=new_c).addcmul_(i, g)
            if cell_clip is not None:
                new_c.clamp_(-cell_clip, cell_clip)
            torch.mul(torch.tanh(new_c, out=tanh_c), o, out=m)
            if projection is not None:
                products.times(m, projection, out=new_h)
                if projection_clip is not None:
                    new_h.clamp_(-projection_clip, projection_clip)
            h, c = new_h, new_c

        # Kept as attributes, not saved for backward: the gates are overwritten there, once. Only the output has to be
        # saved: as an attribute it would keep itself alive, because it holds on to ctx.
        ctx.save_for_backward(y)
        ctx.weights = input_weight, state_weight, projection
        ctx.kept = x, gates, cells, tanh_cells, None if projection is None else hidden
        ctx.start, ctx.sizes, ctx.clips, ctx.products = start, sizes, clips, products
        last = last_rows(sizes).to(x.device)
        final_h, final_c = y[last], cells[last]
        ctx.mark_non_differentiable(final_h, final_c)
        return y, final_h, final_c

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_y: Tensor, _grad_h: Tensor, _grad_c: Tensor) -> tuple[Tensor | None, ...]:
        input_weight, state_weight, projection = ctx.weights
        x, gates, cells, tanh_cells, hidden = ctx.kept
        (y,) = ctx.saved_tensors
        sizes, products = ctx.sizes, ctx.products
        state_weight_t = state_weight.t().contiguous()  # [4H, D]
        projection_t = None if projection is None else projection.t().contiguous()  # [D, H]
        cell_open = _where_open(cells, ctx.clips[0])
        y_open = _where_open(y, ctx.clips[1]) if projection is not None else None

        grad_y = grad_y.clone()  # [R, D]; each step adds its part to the step before it
        grad_c = cells.new_zeros(sizes[0], cells.shape[1])  # [B, H]
        offsets = _offsets(sizes)
        scratch = [torch.empty_like(grad_c) for _ in range(3)]
        for t in reversed(range(len(sizes))):
            n, rows = sizes[t], slice(offsets[t], offsets[t] + sizes[t])
            d, dc = grad_y[rows], grad_c[:n]
            if y_open is not None:
                d.mul_(y_open[rows])
            dm, a, b = (s[:n] for s in scratch)
            if projection_t is None:
                dm.copy_(d)
            else:
                products.times(d, projection_t, out=dm)
            i, f, o, g = gates[rows].view(n, 4, -1).unbind(1)
            tanh_c = tanh_cells[rows]
            before = cells[offsets[t - 1] : offsets[t - 1] + n] if t else ctx.start[1][:n]

            _tanh_backward(torch.mul(dm, o, out=a), tanh_c, grad_input=b)
            dc.add_(b)
            if cell_open is not None:
                dc.mul_(cell_open[rows])
            _sigmoid_backward(dm.mul_(tanh_c), o, grad_input=o)
            torch.mul(dc, g, out=a)
            torch.mul(dc, i, out=b)
            _tanh_backward(b, g, grad_input=g)
            _sigmoid_backward(a, i, grad_input=i)
            torch.mul(dc, before, out=a)
            dc.mul_(f)
            _sigmoid_backward(a, f, grad_input=f)
            if t:
                products.add(grad_y[offsets[t - 1] : offsets[t - 1] + n], gates[rows], state_weight_t)

        before_y = torch.cat(
            [ctx.start[0][: sizes[0]], y[rows_before(sizes).to(y.device)]]
        )  # [R, D] h of the step before
        grad_projection = None if projection is None else products.times(hidden.t(), grad_y)
        grad_bias = gates.sum(0)
        gates = products.lowered(gates)
        grad_x = products.times(gates, input_weight.t()).to(x.dtype) if ctx.needs_input_grad[0] else None
        grad_input, grad_state = products.times(x.t(), gates), products.times(before_y.t(), gates)
        ctx.kept = None
        return grad_x, grad_input, grad_state, grad_bias, grad_projection, None, None, None, None


def rows_before(sizes: Sequence[int]) -> Tensor:
    """For each packed row from step 1 on: the row of the same sequence one step earlier."""
    offsets = _offsets(sizes)
    return torch.cat(
        [torch.arange(offsets[t - 1], offsets[t - 1] + n) for t, n in enumerate(sizes) if t]
        or [torch.empty(0, dtype=torch.long)]
    )


def last_rows(sizes: Sequence[int]) -> Tensor:
    """For each sequence: its last packed row. [B]"""
    offsets = _offsets(sizes)
    ends = [*sizes[1:], 0]
    # Sequences that end at step t are those that step t + 1 does not work on; longer ones come first.
    last = [torch.arange(offsets[t] + ends[t], offsets[t] + sizes[t]) for t in reversed(range(len(sizes)))]
    return torch.cat(last) if last else torch.empty(0, dtype=torch.long)


def _offsets(sizes: Sequence[int]) -> list[int]:
    offsets = [0]
    for n in sizes[:-1]:
        offsets.append(offsets[-1] + n)
    return offsets


def _where_open(x: Tensor, clip: float | None) -> Tensor | None:
    """1 where nothing was clipped and the gradient passes, 0 where it was; None if nothing was clipped at all."""
    if clip is None or not x.numel():
        return None
    low, high = torch.aminmax(x)
    return (x.abs() < clip).to(x.dtype) if high >= clip or low <= -clip else None
