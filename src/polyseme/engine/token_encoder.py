"""The token encoder of ``polyseme.nn``, fast: all convolutions in one matrix product over trimmed tokens.

A character row ends in padding characters. All windows that lie in the padding are equal, and the maximum over windows
needs one of them: so a token of ℓ characters needs windows 0 … ℓ only. A filter narrower than the widest is filled up
with zeros. A window that reaches beyond the end of the row exists for no filter that needs the missing characters, so
it takes no part in that filter's maximum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor
from torch.nn.functional import pad

from polyseme.engine.product import Product
from polyseme.nn.config import BiLMConfig, CharacterConfig

#: Tokens that are encoded together, enough for the highways' full rate, and always the same number where there are
#: more, so that oneDNN compiles few kernels; and the windows in one product of the convolutions, few enough that its
#: output stays in the cache.
GROUP_TOKENS, PIECE_WINDOWS = 128, 512
#: Filters are filled up to a multiple of this: torch computes what is left over of its vectors in another way, and
#: which elements are left over would depend on the number of tokens.
VECTOR = 32


class TokenEncoder:
    """Id rows → token vectors, with the weights of a ``BiLM``."""

    def __init__(self, config: BiLMConfig, tensors: Mapping[str, Tensor], padding: int) -> None:
        """``padding`` is the id of the character that fills a row; of no meaning for a model without characters."""
        self.words = tensors.get("token_encoder.words.weight")  # [size + 1, dim]
        self.characters = CharacterCNN(config.characters, tensors, padding) if config.characters else None
        self.size = config.encoded_size
        self.projection: Product | None = None
        if config.project_tokens:
            weight, bias = tensors["token_encoder.projection.weight"], tensors["token_encoder.projection.bias"]
            self.projection = Product(weight.t(), bias)

    def groups(self, rows: Tensor) -> list[Tensor]:
        """[R, K] ids → the numbers of the rows, in groups that are encoded one after the other or at once."""
        if self.characters is None:
            order = torch.arange(len(rows))
        else:
            order = torch.argsort(self.characters.lengths(rows[:, -self.characters.columns :]), stable=True)
        return list(torch.split(order, GROUP_TOKENS))

    def encode(self, rows: Tensor) -> Tensor:
        """[R, K] ids of one group → [R, D]"""
        parts = []
        if self.words is not None:
            parts.append(self.words[rows[:, 0].to(self.words.device)])
        if self.characters is not None:
            parts.append(self.characters.encode(rows[:, -self.characters.columns :]))
        h = torch.cat(parts, dim=1) if len(parts) > 1 else parts[0]  # [R, encoded_size]
        return h if self.projection is None else self.projection(h.contiguous())


class CharacterCNN:
    """Character rows → [R, F]."""

    def __init__(self, config: CharacterConfig, tensors: Mapping[str, Tensor], padding: int) -> None:
        here = "token_encoder.characters."
        self.config, self.columns, self.padding = config, config.max_characters, padding
        self.widest = max(width for width, _ in config.filters)
        self.embedding = tensors[here + "embedding.weight"]  # [alphabet + 1, dim]
        numbers = range(len(config.filters))
        fill = -config.filter_count % VECTOR
        kernels = [tensors[f"{here}convolutions.{i}.weight"] for i in numbers]  # [count, dim, width]
        together = torch.cat(
            [pad(kernel, (0, self.widest - kernel.shape[2])) for kernel in kernels]
        )  # [F, dim, widest]
        self.windows = Product(pad(together.permute(2, 1, 0).flatten(0, 1), (0, fill)))  # [widest·dim, F + fill]
        self.bias = pad(torch.cat([tensors[f"{here}convolutions.{i}.bias"] for i in numbers]), (0, fill))
        self.activation: Callable[[Tensor], Tensor] = torch.relu_ if config.activation == "relu" else torch.tanh_
        self.highways = [highway(tensors, f"{here}highways.{k}.", fill) for k in range(config.highways)]

    def lengths(self, characters: Tensor) -> Tensor:
        """[R, C] ids → [R] columns before the padding that ends each row."""
        return ((characters != self.padding) * torch.arange(1, self.columns + 1)).amax(dim=1)

    def encode(self, characters: Tensor) -> Tensor:
        """[R, C] ids of one group → [R, F]"""
        longest = int(self.lengths(characters).max()) + 1
        pieces = characters.split_with_sizes(_sizes(len(characters), max(1, PIECE_WINDOWS // longest)))
        h = torch.cat([self._convolve(piece) for piece in pieces])  # [R, F + fill]
        h = self.activation(h.add_(self.bias))  # adding a bias and the activation commute with the maximum
        for layer in self.highways:
            transform, gate = layer(h).chunk(2, dim=1)
            h = torch.lerp(h, transform.relu_(), gate.sigmoid_())
        return h[:, : self.config.filter_count]

    def _convolve(self, characters: Tensor) -> Tensor:
        """[R, C] ids → [R, F + fill]: each filter's maximum over its windows."""
        rows, dim = len(characters), self.config.dim
        windows = min(int(self.lengths(characters).max()) + 1, self.columns)
        used = windows + self.widest - 1
        x = self.embedding[characters[:, :used].to(self.embedding.device)]  # [R, ≤ used, dim]
        x = pad(x, (0, 0, 0, used - x.shape[1]))  # [R, used, dim]
        spread = x.as_strided((rows, windows, self.widest * dim), (used * dim, dim, 1))
        y = self.windows(spread.reshape(rows * windows, -1)).view(rows, windows, -1)  # [R, windows, F + fill]
        if used > self.columns:
            begin = 0
            for width, count in self.config.filters:
                y[:, self.columns - width + 1 :, begin : begin + count] = -torch.inf
                begin += count
        return y.amax(dim=1)


def _sizes(total: int, size: int) -> list[int]:
    """``total`` in parts of ``size`` and a rest."""
    return [min(size, total - begin) for begin in range(0, total, size)]


def highway(tensors: Mapping[str, Tensor], here: str, fill: int) -> Product:
    """Both matrices of a highway layer as one product, F + fill → transform and gate of F + fill each."""
    weights = [pad(tensors[f"{here}{part}.weight"], (0, fill, 0, fill)) for part in ("transform", "gate")]
    biases = [pad(tensors[f"{here}{part}.bias"], (0, fill)) for part in ("transform", "gate")]
    return Product(torch.cat(weights).t(), torch.cat(biases))
