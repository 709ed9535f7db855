"""The layers of a sentence, mixed into one vector per token.

mixed[n] = scale * sum over l of softmax(weights)[l] * layers[l, n]      (Peters et al., 2018, eq. 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn

from polyseme.errors import ConfigError
from polyseme.nn.bilm import BiLM
from polyseme.nn.dropout import Dropout

#: "batch": one mean and variance over all tokens and features of a layer, as in the original (a sentence's result then
#: depends on its batch); "token": over the features of each token.
LayerNorm = Literal["batch", "token"]
EPSILON = 1e-12


class ScalarMix(nn.Module):
    """A learned (or fixed) weighted sum of layers.

    ``fixed`` sets the weights (before the softmax); then neither they nor the scale are trained. With ``top_only``,
    the mix is the scaled top layer, without weights and without layer norm.
    """

    weights: Tensor | None

    def __init__(
        self,
        layers: int,
        *,
        layer_norm: LayerNorm | None = None,
        fixed: Sequence[float] | None = None,
        top_only: bool = False,
    ) -> None:
        super().__init__()
        if layers < 1:
            raise ConfigError(f"layers is {layers}, but a mix needs at least one layer")
        if layer_norm is not None and layer_norm not in get_args(LayerNorm):
            raise ConfigError(f"layer_norm is {layer_norm!r}, but only 'batch' and 'token' exist, or None for none")
        if fixed is not None and len(fixed) != layers:
            raise ConfigError(f"{len(fixed)} weights were given for {layers} layers; give one for each layer")
        if fixed is not None and top_only:
            raise ConfigError("top_only has no weights to fix; give only one of the two")
        self.layer_norm = layer_norm
        self.top_only = top_only
        start = torch.zeros(layers) if fixed is None else torch.tensor(fixed, dtype=torch.float32)
        if top_only:
            self.weights = None
        else:
            self.weights = nn.Parameter(start, requires_grad=fixed is None)  # [L+1]
        self.scale = nn.Parameter(torch.ones(1), requires_grad=fixed is None)

    def forward(self, layers: Tensor, mask: Tensor | None = None) -> Tensor:
        """[L+1, B, T, W] layers, [B, T] mask, true for tokens → [B, T, W]"""
        if self.weights is None:
            top: Tensor = self.scale * layers[-1]
            return top
        if self.layer_norm is not None:
            layers = normalise(layers, mask, self.layer_norm)
        mixed: Tensor = self.scale * torch.tensordot(self.shares(), layers, dims=1)
        return mixed

    def shares(self) -> Tensor:
        """The softmax-normalised weights, one per layer. [L+1]"""
        if self.weights is None:
            raise ConfigError("a mix of only the top layer has no weights")
        return torch.softmax(self.weights, dim=0)

    def penalty(self, strength: float) -> Tensor:
        """λ‖w‖²: a large λ keeps the mix close to the average of the layers, a small one lets it differ."""
        return self.scale.new_zeros(()) if self.weights is None else strength * self.weights.square().sum()


def normalise(layers: Tensor, mask: Tensor | None, over: LayerNorm) -> Tensor:
    """Layers [L+1, B, T, W] with mean 0 and variance 1, without gain and bias."""
    if over == "token":
        mean = layers.mean(dim=-1, keepdim=True)
        variance = (layers - mean).square().mean(dim=-1, keepdim=True)
    else:
        here = torch.ones_like(layers[0, ..., :1]) if mask is None else mask[..., None].to(layers.dtype)  # [B, T, 1]
        count = here.sum().clamp(min=1) * layers.shape[-1]  # a batch of empty sentences has no token
        rest = (1, 2, 3)
        mean = (layers * here).sum(dim=rest, keepdim=True) / count
        variance = ((layers - mean) * here).square().sum(dim=rest, keepdim=True) / count
    return (layers - mean) * torch.rsqrt(variance + EPSILON)


def mix_together(mixes: Sequence[ScalarMix], layers: Tensor) -> Tensor:
    """Several mixes of the same layers [L+1, B, T, W] → [mixes, B, T, W], in one product, the main cost of ELMo."""
    weights = torch.stack([mix.scale * mix.shares() for mix in mixes])  # [mixes, L+1]
    return (weights @ layers.flatten(1)).view(len(mixes), *layers.shape[1:])


class Representations(NamedTuple):
    """The inputs of a task's network."""

    mixes: list[Tensor]  # [B, N, W] each
    mask: Tensor  # [B, N] bool, true for tokens


class ElmoRepresentations(nn.Module):
    """A biLM and one or more mixes of its layers, as part of a task's network.

    >>> elmo = ElmoRepresentations(bilm, count=2, dropout=0.5)       # doctest: +SKIP
    >>> (at_input, at_output), mask = elmo(ids)                      # doctest: +SKIP

    ``trainable`` fine-tunes the biLM with the task; otherwise it is frozen, and stays in evaluation mode. The module
    sets ``requires_grad`` of the biLM's parameters accordingly.
    ``norm_boundaries`` counts sentence boundaries in a ``"batch"`` layer norm, as AllenNLP did and bilm-tf did not.
    """

    def __init__(
        self,
        bilm: BiLM,
        *,
        count: int = 1,
        dropout: float = 0.5,
        keep_boundaries: bool = False,
        trainable: bool = False,
        layer_norm: LayerNorm | None = None,
        norm_boundaries: bool = False,
        fixed: Sequence[float] | None = None,
        top_only: bool = False,
    ) -> None:
        super().__init__()
        if count < 1:
            raise ConfigError(f"count is {count}, but at least one mix is needed")
        if not 0 <= dropout <= 1:
            raise ConfigError(f"dropout is {dropout}, but should be a share between 0 and 1")
        self.bilm = bilm.requires_grad_(trainable)
        self.trainable = trainable
        self.keep_boundaries = keep_boundaries
        self.norm_boundaries = norm_boundaries
        self.mixes = nn.ModuleList(
            ScalarMix(bilm.config.layers + 1, layer_norm=layer_norm, fixed=fixed, top_only=top_only)
            for _ in range(count)
        )
        self.dropout = Dropout(dropout)
        self.train(self.training)  # a frozen biLM is in evaluation mode from the start

    def forward(self, ids: Tensor) -> Representations:
        """[B, T, K] ids with boundaries → one [B, N, W] per mix, zeros for padding, and the mask [B, N].

        With ``keep_boundaries``, [B, T, W] and [B, T]; in that case a ``"batch"`` layer norm leaves padding non-zero,
        as in AllenNLP.
        """
        with torch.set_grad_enabled(self.trainable and torch.is_grad_enabled()):
            output = self.bilm(ids)
        if self.keep_boundaries:
            mixed = [mix(output.layers, output.mask) for mix in self.mixes]  # [B, T, W]
            return Representations([self.dropout(m) for m in mixed], output.mask)
        layers, mask = output.without_boundaries()  # [L+1, B, N, W], [B, N]
        if self.norm_boundaries:
            mixed = [mix(output.layers, output.mask)[:, 1:-1] for mix in self.mixes]
        else:
            mixed = [mix(layers, mask) for mix in self.mixes]
        return Representations([self.dropout(m * mask[:, :, None]) for m in mixed], mask)  # [B, N, W]

    def shares(self) -> list[list[float]]:
        """The layer weights of each mix after the softmax, to read or log."""
        return [mix.shares().tolist() for mix in self._mixes() if mix.weights is not None]

    def penalty(self, strength: float) -> Tensor:
        """λ‖w‖² over all mixes, to add to a task's loss."""
        return torch.stack([mix.penalty(strength) for mix in self._mixes()]).sum()

    def train(self, mode: bool = True) -> ElmoRepresentations:
        super().train(mode)
        if not self.trainable:
            self.bilm.eval()
        return self

    def _mixes(self) -> list[ScalarMix]:
        return [mix for mix in self.mixes if isinstance(mix, ScalarMix)]
