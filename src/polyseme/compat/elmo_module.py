"""AllenNLP's modules for PyTorch: ``Elmo``, ``ElmoTokenEmbedder``, ``ScalarMix``, and ids for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from polyseme.compat.elmo_bilm import _ElmoBiLm
from polyseme.compat.elmo_characters import ELMoCharacterMapper, character_ids
from polyseme.errors import ConfigError
from polyseme.formats.bilm_tf import BOUNDARIES
from polyseme.nn.mix import normalise
from polyseme.text.characters import ByteScheme


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
        """Tensors of one shape → their mix; a layer norm needs [B, T, W] and covers positions in ``mask`` [B, T]."""
        if len(tensors) != self.mixture_size:
            raise ConfigError(f"{len(tensors)} tensors were given to a mix of {self.mixture_size}")
        layers = torch.stack(list(tensors))
        if self.do_layer_norm:
            layers = normalise(layers, mask, "batch")
        shares = torch.softmax(torch.cat(list(self.scalar_parameters)), dim=0)
        mixed: Tensor = self.gamma * torch.tensordot(shares, layers, dims=1)
        return mixed


def batch_to_ids(batch: Sequence[Sequence[str]]) -> Tensor:
    """Sentences of tokens → ids [B, N, 50], zeros as padding."""
    return torch.from_numpy(character_ids(batch, ByteScheme(ELMoCharacterMapper.max_word_length, BOUNDARIES)))


class Elmo(nn.Module):
    """A biLM and ``num_output_representations`` mixes of its layers."""

    def __init__(
        self,
        options_file: str | None,
        weight_file: str | None,
        num_output_representations: int,
        requires_grad: bool = False,
        do_layer_norm: bool = False,
        dropout: float = 0.5,
        vocab_to_cache: Sequence[str] | None = None,
        keep_sentence_boundaries: bool = False,
        scalar_mix_parameters: Sequence[float] | None = None,
        module: _ElmoBiLm | None = None,
    ) -> None:
        super().__init__()
        if module is not None:
            if options_file is not None or weight_file is not None:
                raise ConfigError("a module was given, so options_file and weight_file must be None")
            self._elmo_lstm = module
        elif options_file is None or weight_file is None:
            raise ConfigError("options_file and weight_file are needed unless a module is given")
        else:
            self._elmo_lstm = _ElmoBiLm(options_file, weight_file, requires_grad, vocab_to_cache)
        self._keep_sentence_boundaries = keep_sentence_boundaries
        self._dropout = nn.Dropout(p=dropout)
        self._scalar_mixes: list[ScalarMix] = []  # a plain list: their parameters are named scalar_mix_0.gamma, …
        for number in range(num_output_representations):
            mix = ScalarMix(
                self._elmo_lstm.num_layers,
                do_layer_norm=do_layer_norm,
                initial_scalar_parameters=scalar_mix_parameters,
                trainable=scalar_mix_parameters is None,
            )
            self.add_module(f"scalar_mix_{number}", mix)
            self._scalar_mixes.append(mix)

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Elmo:
        """From the settings of an AllenNLP configuration."""
        return cls(**{"num_output_representations": 1, **params})

    def get_output_dim(self) -> int:
        return self._elmo_lstm.get_output_dim()

    def reset_states(self) -> None:
        """Forget the state of earlier calls: the next sentences start from the zero state."""
        self._elmo_lstm._elmo_lstm.reset_states()

    def forward(self, inputs: Tensor | None, word_inputs: Tensor | None = None) -> dict[str, list[Tensor] | Tensor]:
        """[B, …, N, 50] ids → "elmo_representations": one [B, …, N, W] per mix, "mask": [B, …, N]."""
        outer = (inputs if inputs is not None else word_inputs).shape  # type: ignore[union-attr]
        leading = outer[:-2] if inputs is not None else outer[:-1]
        flat = None if inputs is None else inputs.reshape(-1, *inputs.shape[-2:])
        words = None if word_inputs is None else word_inputs.reshape(-1, word_inputs.shape[-1])
        output = self._elmo_lstm(flat, words)
        layers, mask = output["activations"], output["mask"]
        mixed = [mix(layers, mask) for mix in self._scalar_mixes]
        if not self._keep_sentence_boundaries:
            mask = mask[:, 2:]  # a sentence of n positions has n − 2 tokens, at 1 … n − 2
            mixed = [one[:, 1:-1] * mask[:, :, None] for one in mixed]
        mixed = [self._dropout(one) for one in mixed]
        return {
            "elmo_representations": [one.reshape(*leading, *one.shape[1:]) for one in mixed],
            "mask": mask.reshape(*leading, mask.shape[1]),
        }


class ElmoTokenEmbedder(nn.Module):
    """One representation, projected if ``projection_dim`` is given."""

    def __init__(
        self,
        options_file: str,
        weight_file: str,
        do_layer_norm: bool = False,
        dropout: float = 0.5,
        requires_grad: bool = False,
        projection_dim: int | None = None,
        vocab_to_cache: Sequence[str] | None = None,
        scalar_mix_parameters: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        self._elmo = Elmo(
            options_file,
            weight_file,
            1,
            requires_grad=requires_grad,
            do_layer_norm=do_layer_norm,
            dropout=dropout,
            vocab_to_cache=vocab_to_cache,
            scalar_mix_parameters=scalar_mix_parameters,
        )
        width = self._elmo.get_output_dim()
        self.output_dim = projection_dim or width
        self._projection = nn.Linear(width, projection_dim) if projection_dim else None

    def get_output_dim(self) -> int:
        return self.output_dim

    def forward(self, inputs: Tensor | None, word_inputs: Tensor | None = None) -> Tensor:
        """[B, …, N, 50] ids → [B, …, N, W]"""
        mixed: Tensor = self._elmo(inputs, word_inputs)["elmo_representations"][0]
        return mixed if self._projection is None else self._projection(mixed)
