"""AllenNLP's ScalarMix: its arguments and the names of its parameters, with the mix of ``polyseme.nn``."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from polyseme.errors import ConfigError
from polyseme.nn.mix import normalise


class ScalarMix(nn.Module):
    """gamma * sum over k of softmax(scalar_parameters)[k] * tensors[k]"""

    def __init__(
        self,
        mixture_size: int,
        do_layer_norm: bool = False,
        initial_scalar_parameters: Sequence[float] | None = None,
        trainable: bool = True,
    ) -> None:
        super().__init__()
        start = [0.0] * mixture_size if initial_scalar_parameters is None else list(initial_scalar_parameters)
        if len(start) != mixture_size:
            raise ConfigError(f"{len(start)} initial parameters were given for a mix of {mixture_size}: {start}")
        self.mixture_size, self.do_layer_norm = mixture_size, do_layer_norm
        self.scalar_parameters = nn.ParameterList(
            nn.Parameter(torch.tensor([value], dtype=torch.float32), requires_grad=trainable) for value in start
        )
        self.gamma = nn.Parameter(torch.ones(1), requires_grad=trainable)

    def forward(self, tensors: Sequence[Tensor], mask: Tensor | None = None) -> Tensor:
        """Tensors of one shape → their mix; a layer norm takes [B, T, W] and counts where ``mask`` [B, T] is set."""
        if len(tensors) != self.mixture_size:
            raise ConfigError(f"{len(tensors)} tensors were given to a mix of {self.mixture_size}")
        layers = torch.stack(list(tensors))
        if self.do_layer_norm:
            layers = normalise(layers, mask, "batch")
        shares = torch.softmax(torch.cat(list(self.scalar_parameters)), dim=0)
        mixed: Tensor = self.gamma * torch.tensordot(shares, layers, dims=1)
        return mixed
