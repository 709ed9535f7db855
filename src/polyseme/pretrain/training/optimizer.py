"""One update of all weights: dense for the network, row by row for the softmax.

Only the softmax rows of a step have a gradient, a few thousand of perhaps a million; the others are not touched.
Adagrad is the original's optimiser (no epsilon, accumulators from 1); AdamW learns faster at these sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw


@dataclass(frozen=True, slots=True)
class AdamSettings:
    betas: tuple[float, float] = (0.9, 0.99)
    epsilon: float = 1e-8
    decay: float = 0.01


class Optimizer(Protocol):
    """The interface of an optimiser for the training loop.

    ``rows`` are the softmax rows that the gradients belong to. If there are no gradients for the network, it is frozen.
    """

    def step(self, network: Sequence[Tensor], weight: Tensor, bias: Tensor, rows: Tensor, rate: float) -> None: ...

    def state(self) -> dict[str, Tensor]: ...

    def load(self, state: dict[str, Tensor]) -> None: ...


class Adagrad:
    """a ← a + g²; v ← v − rate · g / √a"""

    def __init__(self, network: Sequence[nn.Parameter], weight: Tensor, bias: Tensor) -> None:
        self.network, self.weight, self.bias = network, weight, bias
        self.sums = [torch.ones_like(p) for p in network]
        self.weight_sum, self.bias_sum = torch.ones_like(weight), torch.ones_like(bias)

    @torch.no_grad()
    def step(self, network: Sequence[Tensor], weight: Tensor, bias: Tensor, rows: Tensor, rate: float) -> None:
        for parameter, grad, total in zip(self.network, network, self.sums, strict=bool(network)):
            total.addcmul_(grad, grad)
            parameter.addcdiv_(grad, total.sqrt(), value=-rate)
        for table, grad, total in ((self.weight, weight, self.weight_sum), (self.bias, bias, self.bias_sum)):
            total[rows] = new = total[rows].addcmul_(grad, grad)
            table[rows] = table[rows].addcdiv_(grad, new.sqrt_(), value=-rate)

    def state(self) -> dict[str, Tensor]:
        sums = {f"sum.{i}": total for i, total in enumerate(self.sums)}
        return sums | {"sum.weight": self.weight_sum, "sum.bias": self.bias_sum}

    def load(self, state: dict[str, Tensor]) -> None:
        for name, kept in self.state().items():
            kept.copy_(state[name])


class AdamW:
    """Adam with decoupled decay of matrices; softmax rows change, and decay, only in steps that use them."""

    def __init__(
        self, network: Sequence[nn.Parameter], weight: Tensor, bias: Tensor, settings: AdamSettings | None = None
    ) -> None:
        self.settings = settings or AdamSettings()
        self.network, self.weight, self.bias = network, weight, bias
        self.steps = 0
        self.moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in (*network, weight, bias)]

    @torch.no_grad()
    def step(self, network: Sequence[Tensor], weight: Tensor, bias: Tensor, rows: Tensor, rate: float) -> None:
        self.steps += 1
        of_network, of_weight, of_bias = self.moments[:-2], *self.moments[-2:]
        if network:
            self._update(self.network, network, of_network, rate)
        taken = [tensor[rows] for tensor in (self.weight, *of_weight, self.bias, *of_bias)]
        self._update([taken[0], taken[3]], [weight, bias], [(taken[1], taken[2]), (taken[4], taken[5])], rate)
        for kept, changed in zip((self.weight, *of_weight, self.bias, *of_bias), taken, strict=True):
            kept[rows] = changed

    def _update(
        self,
        parameters: Sequence[Tensor],
        grads: Sequence[Tensor],
        moments: Sequence[tuple[Tensor, Tensor]],
        rate: float,
    ) -> None:
        """By torch's fused update, which reads and writes each number once; matrices decay, vectors do not."""
        beta1, beta2 = self.settings.betas
        rows = list(zip(parameters, grads, moments, strict=True))
        for is_matrix in (True, False):
            group = [row for row in rows if (row[0].dim() > 1) == is_matrix]
            adamw(
                [parameter for parameter, _, _ in group],
                [grad for _, grad, _ in group],
                [first for _, _, (first, _) in group],
                [second for _, _, (_, second) in group],
                [],
                [torch.tensor(self.steps - 1.0) for _ in group],
                fused=True,
                amsgrad=False,
                beta1=beta1,
                beta2=beta2,
                lr=rate,
                weight_decay=self.settings.decay if is_matrix else 0.0,
                eps=self.settings.epsilon,
                maximize=False,
            )

    def state(self) -> dict[str, Tensor]:
        moments = {f"moment.{i}.{k}": m for i, pair in enumerate(self.moments) for k, m in enumerate(pair)}
        return moments | {"steps": torch.tensor(self.steps)}

    def load(self, state: dict[str, Tensor]) -> None:
        self.steps = int(state["steps"])
        for i, pair in enumerate(self.moments):
            for k, moment in enumerate(pair):
                moment.copy_(state[f"moment.{i}.{k}"])


@torch.no_grad()
def clip_norm(gradients: Sequence[Tensor], bound: float | None) -> float:
    """Scale all gradients so that their global norm is at most ``bound``; returns the norm before that."""
    norm = float(torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in gradients])))
    if bound is not None and norm > bound:
        for g in gradients:
            g.mul_(bound / norm)
    return norm
