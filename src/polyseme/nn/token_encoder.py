"""A token becomes a vector: from its characters, from a table of words, or from both.

characters ── embedding ── convolutions ── max ── activation ── highways ──┐
word ──────── embedding ──────────────────────────────────────────────────┴── projection ── token vector
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from polyseme.bilm_config import BiLMConfig, CharacterConfig
from polyseme.nn.training_kernel import KernelCharacters, takes_characters, training_kernel


class Highway(nn.Module):
    """``h ← g · relu(transform(h)) + (1 − g) · h`` with ``g = σ(gate(h))``; always relu, as in the original."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.transform = nn.Linear(size, size)
        self.gate = nn.Linear(size, size)

    def forward(self, h: Tensor) -> Tensor:
        g = torch.sigmoid(self.gate(h))  # [R, F]
        return torch.lerp(h, torch.relu(self.transform(h)), g)


class CharacterCNN(nn.Module):
    """Character ids of tokens → one vector per token."""

    def __init__(self, config: CharacterConfig) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.alphabet + 1, config.dim, padding_idx=0)
        self.convolutions = nn.ModuleList(nn.Conv1d(config.dim, count, width) for width, count in config.filters)
        self.highways = nn.ModuleList(Highway(config.filter_count) for _ in range(config.highways))
        self.activation = torch.relu if config.activation == "relu" else torch.tanh

    def forward(self, characters: Tensor) -> Tensor:
        """[R, C] ids → [R, F]"""
        h = self.activation(self._largest_windows(characters))  # [R, F]
        for highway in self.highways:
            h = highway(h)
        return h

    def _largest_windows(self, characters: Tensor) -> Tensor:
        """[R, C] ids → [R, F] the maximum of each filter. In training on a CPU, the kernel computes it."""
        kernel = training_kernel(self.embedding.weight) if torch.is_grad_enabled() else None
        if kernel is not None and takes_characters(kernel, self.embedding.embedding_dim):
            filters, biases = zip(*((conv.weight, conv.bias) for conv in self.convolutions), strict=True)
            largest: Tensor = KernelCharacters.apply(  # type: ignore[no-untyped-call]
                characters, self.embedding.weight, torch.cat(biases), kernel, *filters
            )
            return largest
        x = self.embedding(characters).transpose(1, 2)  # [R, dim, C]
        # The maximum includes padding characters: the original models were trained like this.
        # max, not amax: equal results, and half the time in the backward pass.
        return torch.cat([conv(x).max(dim=2).values for conv in self.convolutions], dim=1)


class TokenEncoder(nn.Module):
    """Id rows of tokens → token vectors; the context-free layer of the biLM."""

    def __init__(self, config: BiLMConfig) -> None:
        super().__init__()
        self.words = nn.Embedding(config.words.size + 1, config.words.dim, padding_idx=0) if config.words else None
        self.characters = CharacterCNN(config.characters) if config.characters else None
        self.projection = nn.Linear(config.encoded_size, config.projection) if config.project_tokens else None
        self.reset_parameters()

    def forward(self, rows: Tensor) -> Tensor:
        """[R, K] ids, the word id (if the model has words) before the character ids → [R, D]"""
        parts = []
        if self.words is not None:
            parts.append(self.words(rows[:, 0]))
            rows = rows[:, 1:]
        if self.characters is not None:
            parts.append(self.characters(rows))
        h = torch.cat(parts, dim=1) if len(parts) > 1 else parts[0]  # [R, encoded_size]
        return self.projection(h) if self.projection is not None else h

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """The original's initial values."""
        if self.words is not None:
            nn.init.xavier_uniform_(self.words.weight)
            self.words.weight[0] = 0
        if self.characters is not None:
            _initialise_cnn(self.characters)
        if self.projection is not None:
            nn.init.normal_(self.projection.weight, std=1 / math.sqrt(self.projection.in_features))
            nn.init.zeros_(self.projection.bias)


def _initialise_cnn(cnn: CharacterCNN) -> None:
    nn.init.uniform_(cnn.embedding.weight, -1, 1)
    cnn.embedding.weight[0] = 0
    for conv in cnn.convolutions:
        assert isinstance(conv, nn.Conv1d) and conv.bias is not None
        if cnn.activation is torch.relu:
            nn.init.uniform_(conv.weight, -0.05, 0.05)
        else:
            nn.init.normal_(conv.weight, std=1 / math.sqrt(conv.in_channels * conv.kernel_size[0]))
        nn.init.zeros_(conv.bias)
    for highway in cnn.highways:
        assert isinstance(highway, Highway)
        for linear in (highway.transform, highway.gate):
            nn.init.normal_(linear.weight, std=1 / math.sqrt(linear.in_features))
            nn.init.zeros_(linear.bias)
        nn.init.constant_(highway.gate.bias, -2.0)  # at first a highway passes its input through
