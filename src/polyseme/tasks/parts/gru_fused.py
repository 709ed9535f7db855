"""Two GRUs over whole sequences as one autograd function: the same numbers as ``nn.GRU`` (Cho et al., 2014), faster.

    r, z = σ(x · W + h · U + b)      n = tanh(x · W_n + b_n + r ∘ (h · U_n + u_n))      h ← (1 − z) ∘ n + z ∘ h

Both directions of a BiGRU take each step together, which halves the number of operations; they work in place in
buffers that are kept; the factors of the gradient are computed before its loop; and each weight gradient is one
product over all steps instead of one per step.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional


def run_together(grus: tuple[nn.GRU, nn.GRU], inputs: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Two layers of the same size, each over its own [T, B, D] → two [T, B, H]"""
    weights = [gru.all_weights[0] for gru in grus]  # input weights, state weights, their biases
    gates = torch.stack([functional.linear(x, w[0], w[2]) for x, w in zip(inputs, weights, strict=True)], dim=1)
    weight = torch.stack([w[1].t() for w in weights])  # [2, H, 3H]
    bias = torch.stack([w[3] for w in weights])[:, None]  # [2, 1, 3H]
    left, right = _GRUs.apply(gates, weight, bias).unbind(1)  # type: ignore[no-untyped-call]
    return left, right


class _GRUs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gates: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """The input's part of r, z, n [T, G, B, 3H], the state's weights [G, H, 3H] and [G, 1, 3H] → h [T, G, B, H]"""
        steps, groups, rows, _ = gates.shape
        size = weight.shape[1]
        gates = gates.clone(memory_format=torch.contiguous_format)  # activated in place below
        kept = gates.new_empty(steps, groups, rows, size)  # h · U_n + u_n
        outputs = gates.new_empty(steps + 1, groups, rows, size)
        outputs[0].zero_()
        state = gates.new_empty(groups, rows, 3 * size)
        for t in range(steps):
            torch.baddbmm(bias, outputs[t], weight, out=state)
            both, n = gates[t, ..., : 2 * size], gates[t, ..., 2 * size :]
            both.add_(state[..., : 2 * size]).sigmoid_()
            kept[t].copy_(state[..., 2 * size :])
            n.addcmul_(both[..., :size], kept[t]).tanh_()
            torch.lerp(n, outputs[t], both[..., size:], out=outputs[t + 1])
        ctx.kept = gates, kept, outputs, weight
        return outputs[1:]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        gates, kept, outputs, weight = ctx.kept
        steps, groups, rows, _ = gates.shape
        size = weight.shape[1]
        weight_t = weight.transpose(1, 2).contiguous()  # [G, 3H, H]
        r, z, n = gates.split(size, dim=-1)  # [T, G, B, H] each
        # Computed before the loop, since it needs no gradients: how much of the gradient of h goes to n, z and r.
        to_n = (1 - z) * (1 - n * n)
        to_z = (outputs[:-1] - n) * z * (1 - z)
        n_to_r = kept * r * (1 - r)
        to_state = torch.empty_like(gates)  # gradient of h · U + u
        grad_n = torch.empty_like(kept)  # of the argument of tanh
        grad_h = gates.new_zeros(groups, rows, size)
        for t in reversed(range(steps)):
            grad_h.add_(grad_output[t])
            torch.mul(grad_h, to_n[t], out=grad_n[t])
            torch.mul(grad_n[t], n_to_r[t], out=to_state[t, ..., :size])
            torch.mul(grad_h, to_z[t], out=to_state[t, ..., size : 2 * size])
            torch.mul(grad_n[t], r[t], out=to_state[t, ..., 2 * size :])
            grad_h.mul_(z[t]).baddbmm_(to_state[t], weight_t)
        grads = torch.cat([to_state[..., : 2 * size], grad_n], dim=-1)
        flat = to_state.transpose(0, 1).reshape(groups, steps * rows, 3 * size)
        before = outputs[:-1].transpose(0, 1).reshape(groups, steps * rows, size)
        ctx.kept = None
        return grads, torch.bmm(before.transpose(1, 2), flat), flat.sum(1, keepdim=True)
