"""The token encoder in the kernel: the numbers of ``token_encoder`` (characters.c, linear.c)."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.bilm_config import BiLMConfig, CharacterConfig
from polyseme.engine.compiled import Address, Number, address, kind_for
from polyseme.engine.weights import CharacterWeights, LinearWeights, Precision, TokenWeights
from polyseme.kernel.library import Library
from polyseme.kernel.matrix import Kind, Matrix, pack

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]

#: Features are filled up to a multiple of this, whatever the instruction set, with features that stay 0.
FEATURES = 16


class ConvolutionStruct(ctypes.Structure):
    """``Convolution`` of characters.c"""

    _fields_ = [("filters", Matrix), ("width", Number), ("count", Number)]


class HighwayStruct(ctypes.Structure):
    """``Highway`` of characters.c"""

    _fields_ = [("matrix", Matrix), ("bias", Address)]


class CNNStruct(ctypes.Structure):
    """``CharacterCNN`` of characters.c"""

    _fields_ = [
        ("dim", Number),
        ("columns", Number),
        ("convolutions", Number),
        ("highways", Number),
        ("features", Number),
        ("stride", Number),
        ("tanh", Number),
        ("embedding", Address),
        ("bias", Address),
        ("convolution", ctypes.POINTER(ConvolutionStruct)),
        ("highway", ctypes.POINTER(HighwayStruct)),
    ]


class CompiledTokenEncoder:
    """Id rows → token vectors; several threads may run it at once."""

    def __init__(self, library: Library, config: BiLMConfig, weights: TokenWeights, precision: Precision) -> None:
        self.size, self.words = config.encoded_size, weights.words
        self.characters = self.projection = None
        if config.characters is not None and weights.characters is not None:
            self.characters = CompiledCNN(library, config.characters, weights.characters, precision)
        if weights.projection is not None:
            self.projection = CompiledLinear(library, weights.projection, precision)

    def encode(self, rows: Ids, lengths: Ids) -> Floats:
        """[R, K] ids and how many characters each row has before its padding → [R, D]"""
        h = np.empty((len(rows), self.size), np.float32)  # word vector, then filters, as far as they exist
        if self.words is not None:
            h[:, : self.words.shape[1]] = self.words[rows[:, 0]]
        if self.characters is not None:
            self.characters.encode(rows[:, -self.characters.columns :], lengths, h)
        return h if self.projection is None else self.projection(h)


class CompiledCNN:
    """Character rows → [R, F]."""

    def __init__(
        self, library: Library, config: CharacterConfig, weights: CharacterWeights, precision: Precision
    ) -> None:
        self.columns, self.features = config.max_characters, config.filter_count
        fill = -self.features % FEATURES
        self._embedding = np.ascontiguousarray(weights.embedding)
        self._bias = np.pad(weights.bias, (0, fill))
        filters = [pack(library, one, float_kind(one, precision)) for one in weights.filters]
        highways = [self._pack_highway(library, *both, fill, precision) for both in weights.highways]
        self._convolutions = (ConvolutionStruct * len(filters))(
            *(ConvolutionStruct(one.struct, *shape) for one, shape in zip(filters, config.filters, strict=True))
        )
        self._highways = (HighwayStruct * len(highways))(
            *(HighwayStruct(matrix.struct, address(bias)) for matrix, bias in highways)
        )
        self._alive = (filters, highways)  # what the structures point into
        self._struct = CNNStruct(
            config.dim,
            self.columns,
            len(filters),
            len(highways),
            self.features,
            self.features + fill,
            config.activation == "tanh",
            address(self._embedding),
            address(self._bias),
            self._convolutions,
            self._highways,
        )
        where = ctypes.addressof(self._struct)
        self._space = library.function("polyseme_characters_space", Number, Address)(where)
        self._encode = library.function(
            "polyseme_encode_characters", None, Address, Address, Address, Number, Address, Number, Address
        )

    def encode(self, characters: Ids, lengths: Ids, to: Floats) -> None:
        """[R, C] ids → the last F columns of ``to``"""
        characters, lengths = np.ascontiguousarray(characters), np.ascontiguousarray(lengths)
        if characters.size and not 0 <= characters.min() <= characters.max() < len(self._embedding):
            raise IndexError(f"a character id is not one of the {len(self._embedding)} of the model")
        memory = np.empty(self._space, np.uint8)
        where, stride = ctypes.addressof(self._struct), to.shape[1]
        first = address(to) + 4 * (stride - self.features)
        self._encode(where, address(characters), address(lengths), len(characters), first, stride, address(memory))

    @staticmethod
    def _pack_highway(
        library: Library, transform: LinearWeights, gate: LinearWeights, fill: int, precision: Precision
    ) -> tuple[Any, Floats]:
        """Both matrices as one: half a panel of the transform, half a panel of its gates."""
        half = library.panel // 2

        def together(a: Floats, b: Floats) -> Floats:
            """[…, F] each → […, 2 F filled up]"""
            parts = [np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, -x.shape[-1] % half)]) for x in (a, b)]
            panels = [x.reshape(*x.shape[:-1], -1, 1, half) for x in parts]
            return np.concatenate(panels, axis=-2).reshape(*a.shape[:-1], -1)

        weight = together(transform.weight, gate.weight)
        return pack(library, weight, float_kind(weight, precision)), together(transform.bias, gate.bias)


class CompiledLinear:
    """``x @ weight + bias``"""

    def __init__(self, library: Library, weights: LinearWeights, precision: Precision) -> None:
        self._columns = weights.weight.shape[1]
        self._packed = pack(library, weights.weight, float_kind(weights.weight, precision))
        self._struct = self._packed.struct
        self._bias = np.pad(weights.bias, (0, -self._columns % library.panel))
        self._space = library.function("polyseme_linear_space", Number)()
        self._run = library.function(
            "polyseme_linear", None, Address, Address, Address, Number, Number, Address, Number, Address
        )

    def __call__(self, x: Floats) -> Floats:
        """[R, in] → [R, out]"""
        y = np.empty((len(x), self._columns), np.float32)
        memory = np.empty(self._space, np.uint8)
        where = ctypes.addressof(self._struct)
        self._run(where, address(self._bias), address(x), *x.shape, address(y), self._columns, address(memory))
        return y


def float_kind(weight: Floats, precision: Precision) -> Kind:
    """Tokens are encoded once: 8 bits would gain little and cost the layer that all others stand on."""
    return kind_for(weight, "float16" if precision == "int8" else precision)
