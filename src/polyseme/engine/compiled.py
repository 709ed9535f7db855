"""The engine's network in the kernel: the numbers of ``recurrence`` and ``token_encoder``.

The packed LSTM of one direction is one call a chunk (recurrence.c); the token encoder is characters.c and linear.c.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.bilm_config import BiLMConfig, CharacterConfig
from polyseme.engine.bilm_reader import ReadingJob
from polyseme.engine.weights import CharacterWeights, LayerWeights, LinearWeights, Precision, TokenWeights, fits_half
from polyseme.kernel.library import Library
from polyseme.kernel.matrix import Kind, Matrix, PackedMatrix, pack

Floats = npt.NDArray[np.float32]
Address = ctypes.c_void_p
Number = ctypes.c_int64

#: Cells are filled up to a multiple of this, whatever the instruction set, with cells that stay 0.
CELLS = 16
Ids = npt.NDArray[np.int64]

#: Features are filled up to a multiple of this, whatever the instruction set, with features that stay 0.
FEATURES = 16


class LayerStruct(ctypes.Structure):
    """``Layer`` of recurrence.c"""

    _fields_ = [("input", Matrix), ("recurrent", Matrix), ("projection", Matrix), ("bias", Address)]


class StackStruct(ctypes.Structure):
    """``Stack`` of recurrence.c"""

    _fields_ = [
        ("layers", Number),
        ("size", Number),
        ("cell", Number),
        ("skip_connections", Number),
        ("cell_clip", ctypes.c_float),
        ("projection_clip", ctypes.c_float),
        ("output_factor", ctypes.c_float),
        ("layer", ctypes.POINTER(LayerStruct)),
    ]


class BatchStruct(ctypes.Structure):
    """``Batch`` of recurrence.c"""

    _fields_ = [
        ("sentences", Number),
        ("lengths", Address),
        ("rows", Address),
        ("table", Address),
        ("out", Address),
        ("width", Number),
        ("column", Number),
        ("backward", Number),
        ("keep_boundaries", Number),
        ("start_h", Address),
        ("start_c", Address),
        ("final_h", Address),
        ("final_c", Address),
    ]


class CompiledDirection:
    """The stack of layers that reads one way; several threads may run it at once."""

    def __init__(
        self, library: Library, config: BiLMConfig, layers: Sequence[LayerWeights], precision: Precision
    ) -> None:
        self.config = config
        self._packed = [PackedLayer(library, config, weights, precision) for weights in layers]
        self._layers = (LayerStruct * len(layers))(*(layer.struct for layer in self._packed))
        self._stack = StackStruct(
            len(layers),
            config.projection,
            config.cell,
            config.skip_connections,
            math.inf if config.cell_clip is None else config.cell_clip,
            math.inf if config.projection_clip is None else config.projection_clip,
            output_factor(config.cell),
            self._layers,
        )
        self._space_needed = library.function("polyseme_reading_space", Number, Address, Number)
        self._read = library.function("polyseme_read", Number, Address, Address, Number, Address)
        self._free: list[npt.NDArray[np.uint8]] = []  #: memory of calls that have ended, for later ones

    def read(self, reading: ReadingJob) -> Iterator[None]:
        """Read a batch; pauses after every chunk."""
        batch, config, stack = reading.batch, self.config, ctypes.addressof(self._stack)
        numbers, count = batch.sentences, len(batch.sentences)
        lengths = np.array(batch.lengths, dtype=np.int64)
        first = address(reading.rows)
        rows = np.array([first + 8 * reading.begins[number] for number in numbers], dtype=np.uint64)
        out = np.array([address(reading.layers[number]) for number in numbers], dtype=np.uint64)
        start = reading.start_states()
        before = [None, None] if start is None else [np.ascontiguousarray(part, np.float32) for part in start]
        after: list[Floats | None] = [None, None]
        if reading.call.final is not None:
            shape = (config.layers, count)
            after = [np.empty((*shape, config.projection), np.float32), np.empty((*shape, config.cell), np.float32)]
        struct = BatchStruct(
            count,
            address(lengths),
            address(rows),
            address(reading.table),
            address(out),
            config.width,
            reading.direction * config.projection,
            reading.direction == 1,
            reading.call.keep_boundaries,
            *(None if part is None else address(part) for part in (*before, *after)),
        )
        space = self._take_space(self._space_needed(stack, count))
        step, where, memory = 0, ctypes.addressof(struct), address(space)
        while step < batch.lengths[0]:
            step = self._read(stack, where, step, memory)
            yield
        self._free.append(space)
        if after[0] is not None and after[1] is not None:
            reading.keep_states(after[0], after[1])

    def _take_space(self, size: int) -> npt.NDArray[np.uint8]:
        try:
            space = self._free.pop()
        except IndexError:
            space = np.empty(0, np.uint8)
        return space if len(space) >= size else np.empty(size, np.uint8)


class PackedLayer:
    """The arrays of one layer."""

    def __init__(self, library: Library, config: BiLMConfig, weights: LayerWeights, precision: Precision) -> None:
        vector = library.panel // 4
        fill = -config.cell % CELLS

        def by_panels(gates: Floats) -> Floats:
            """[…, 4H] → […, H / vector · 4 · vector]: the four gates of a few cells stand together."""
            apart = gates.reshape(-1, 4, config.cell)
            apart = np.pad(apart, ((0, 0), (0, 0), (0, fill)))
            return apart.reshape(len(apart), 4, -1, vector).swapaxes(1, 2).reshape(*gates.shape[:-1], -1)

        self.input = pack(library, by_panels(weights.input), kind_for(weights.input, precision))
        self.recurrent = pack(library, by_panels(weights.recurrent), kind_for(weights.recurrent, precision))
        self.bias = by_panels(weights.bias)
        self.projection: PackedMatrix | None = None
        if weights.projection is not None:
            kind = Kind.INT8_WIDE if precision == "int8" else kind_for(weights.projection, precision)
            self.projection = pack(library, np.pad(weights.projection, ((0, fill), (0, 0))), kind)

    @property
    def struct(self) -> LayerStruct:
        projection = Matrix() if self.projection is None else self.projection.struct
        return LayerStruct(self.input.struct, self.recurrent.struct, projection, address(self.bias))


def kind_for(weight: Floats, precision: Precision) -> Kind:
    """How a matrix is stored: as few bits as asked for, and float16 for float32 too where nothing is lost."""
    if precision == "int8":
        return Kind.INT8
    return Kind.FLOAT16 if precision == "float16" or fits_half(weight) else Kind.FLOAT32


def output_factor(cell: int) -> float:
    """What a cell's output, at most 1, is multiplied with to be rounded to 16 bits: no sum over cells may overflow."""
    filled = -(-cell // CELLS) * CELLS
    return float(2 ** min(14, int(math.log2((2**31 - 1) / (127 * filled)))))


def address(array: npt.NDArray[np.generic]) -> int:
    """Where an array begins; quicker than ``array.ctypes.data``."""
    where: int = array.__array_interface__["data"][0]
    return where


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
