"""The token encoder of ``polyseme.nn``, fast: all convolutions in one matrix product over trimmed tokens.

A character row ends in padding characters. All windows that lie in the padding are equal, and the maximum over windows
needs one of them; so a token of ℓ characters needs windows 0 … ℓ only, and ℓ + width columns. Where the row is too
short for that, the widths run one by one over the windows that exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from polyseme.nn.config import BiLMConfig, CharacterConfig

#: Windows in one product: large enough for the full rate, small enough that its output stays in the cache.
CHUNK_WINDOWS = 2048


class TokenEncoder:
    """Id rows → token vectors, with the weights of a ``BiLM``."""

    def __init__(self, config: BiLMConfig, tensors: Mapping[str, Tensor], padding: int | None) -> None:
        """``padding`` is the id of the character that fills a row; None for a model without characters."""
        self.words = tensors.get("token_encoder.words.weight")
        self.characters = None
        if config.characters is not None and padding is not None:
            self.characters = CharacterCNN(config.characters, tensors, padding)
        self.projection: tuple[Tensor, Tensor] | None = None
        if config.project_tokens:
            weight, bias = tensors["token_encoder.projection.weight"], tensors["token_encoder.projection.bias"]
            self.projection = weight.t().contiguous(), bias

    def jobs(self, rows: Tensor) -> list[Tensor]:
        """[R, K] ids → the rows, by number, in groups that can be encoded one after the other or at once."""
        if self.characters is None:
            return [
                torch.arange(begin, min(begin + CHUNK_WINDOWS, len(rows)))
                for begin in range(0, len(rows), CHUNK_WINDOWS)
            ]
        return self.characters.groups(rows[:, -self.characters.columns :])

    def encode(self, rows: Tensor) -> Tensor:
        """[R, K] ids of one group → [R, D]"""
        parts = []
        if self.words is not None:
            parts.append(self.words[rows[:, 0].to(self.words.device)])
        if self.characters is not None:
            parts.append(self.characters.encode(rows[:, -self.characters.columns :]))
        h = torch.cat(parts, dim=1) if len(parts) > 1 else parts[0]  # [R, encoded_size]
        if self.projection is None:
            return h
        weight, bias = self.projection
        return torch.addmm(bias, h, weight)


class CharacterCNN:
    """Character rows → [R, F]."""

    def __init__(self, config: CharacterConfig, tensors: Mapping[str, Tensor], padding: int) -> None:
        here = "token_encoder.characters."
        self.columns, self.padding, self.dim = config.max_characters, padding, config.dim
        self.widths = [width for width, _ in config.filters]
        self.embedding = tensors[here + "embedding.weight"]  # [alphabet + 1, dim]
        kernels = [tensors[f"{here}convolutions.{i}.weight"] for i in range(len(self.widths))]  # [count, dim, width]
        self.by_width = [kernel.permute(2, 1, 0).flatten(0, 1).contiguous() for kernel in kernels]  # [width·dim, count]
        self.widest = max(self.widths)
        self.together = torch.cat([_fill_rows(k, self.widest * self.dim) for k in self.by_width], dim=1)  # [·, F]
        self.bias = torch.cat([tensors[f"{here}convolutions.{i}.bias"] for i in range(len(self.widths))])  # [F]
        self.activation: Callable[[Tensor], Tensor] = torch.relu_ if config.activation == "relu" else torch.tanh_
        self.highways = [
            (
                torch.cat([tensors[f"{here}highways.{k}.{part}.weight"] for part in ("transform", "gate")])
                .t()
                .contiguous(),
                torch.cat([tensors[f"{here}highways.{k}.{part}.bias"] for part in ("transform", "gate")]),
            )
            for k in range(config.highways)
        ]  # [F, 2F], [2F]

    def groups(self, characters: Tensor) -> list[Tensor]:
        """[R, C] ids → row numbers, sorted by length, in groups of about ``CHUNK_WINDOWS`` windows."""
        lengths = self.lengths(characters)
        order = torch.argsort(lengths, stable=True)
        groups: list[Tensor] = []
        begin = 0
        sizes = lengths[order].tolist()
        for end in range(1, len(sizes) + 1):
            full = end < len(sizes) and (end + 1 - begin) * (sizes[end] + 1) > CHUNK_WINDOWS
            # A token's path must not depend on its neighbours: long ones, which need the other path, stay apart.
            turn = end < len(sizes) and self._fits(sizes[end - 1]) and not self._fits(sizes[end])
            if full or turn or end == len(sizes):
                groups.append(order[begin:end])
                begin = end
        return groups

    def lengths(self, characters: Tensor) -> Tensor:
        """[R, C] ids → [R] columns before the padding that ends each row."""
        used = characters != self.padding
        return (used * torch.arange(1, self.columns + 1)).amax(dim=1)

    def encode(self, characters: Tensor) -> Tensor:
        """[R, C] ids of one group → [R, F]"""
        length = int(self.lengths(characters).max())
        x = self.embedding[characters.to(self.embedding.device)]  # [R, C, dim]
        if self._fits(length):
            h = self._convolve(x, self.together, self.widest, length)
        else:
            pairs = zip(self.by_width, self.widths, strict=True)
            h = torch.cat([self._convolve(x, kernel, width, length) for kernel, width in pairs], dim=1)
        # Adding the bias and a monotone activation commute with the maximum.
        h = self.activation(h.add_(self.bias))  # [R, F]
        for weight, bias in self.highways:
            transform, gate = torch.addmm(bias, h, weight).chunk(2, dim=1)  # [R, F] each
            h = torch.lerp(h, transform.relu_(), gate.sigmoid_())
        return h

    def _fits(self, length: int) -> bool:
        """Whether a window of padding follows the last character, for every width."""
        return length + self.widest <= self.columns

    def _convolve(self, x: Tensor, kernel: Tensor, width: int, length: int) -> Tensor:
        """[R, C, dim] → [R, count]: the maximum over windows 0 … length, as far as the row has them."""
        windows = min(length, self.columns - width) + 1
        rows = len(x)
        spread = x.as_strided((rows, windows, width * self.dim), (self.columns * self.dim, self.dim, 1))
        y = spread.reshape(rows * windows, width * self.dim) @ kernel
        return y.view(rows, windows, -1).amax(dim=1)


def _fill_rows(matrix: Tensor, rows: int) -> Tensor:
    return torch.nn.functional.pad(matrix, (0, 0, 0, rows - matrix.shape[0]))
