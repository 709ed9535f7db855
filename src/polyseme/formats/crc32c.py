"""crc32c (Castagnoli), the checksum of TensorFlow's files, in numpy: about a gigabyte per second.

A checksum is a remainder of polynomials, so leading zeros change nothing, and appending a number of zero words is a
linear map of the 32 bits of a remainder. The message is laid out in rows of ``n`` words. All ``n`` columns are read at
once, row by row; then the right half of the columns is combined with the left half until one column remains.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]
Tables = tuple[Words, Words]

POLYNOMIAL = 0x82F63B78  # reflected: the lowest bit is the highest power
MOST_COLUMNS = 1 << 14  # 64 KB of remainders, which fit in the cache
_ALL = 0xFFFFFFFF


def crc32c(*parts: bytes | memoryview | npt.NDArray[Any]) -> int:
    """The checksum of the concatenated parts."""
    message = np.concatenate([np.frombuffer(part, np.uint8) for part in parts])
    if len(message) < 8:
        return _of_few(message.tolist())
    columns = min(MOST_COLUMNS, 1 << (len(message) // 64).bit_length())
    missing = -len(message) % (4 * columns)
    begun = np.concatenate([np.zeros(missing, np.uint8), message])
    begun[missing : missing + 4] ^= 0xFF  # the initial value of a checksum: all bits set
    state = np.zeros(columns, np.uint32)
    onwards = _words_onwards(columns.bit_length() - 1)
    for row in begun.view("<u4").reshape(-1, columns):
        state = _mapped(onwards, state) ^ row
    while columns > 1:
        columns //= 2
        state = _mapped(_words_onwards(columns.bit_length() - 1), state[:columns]) ^ state[columns:]
    return int(_mapped(_words_onwards(0), state)[0]) ^ _ALL


def masked(checksum: int) -> int:
    """The checksum as TensorFlow and LevelDB store it: a checksum of data that contains checksums would be weak."""
    return ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & _ALL


def _of_few(message: list[int]) -> int:
    state = _ALL
    for byte in message:
        state = _bits_onwards(state ^ byte, 8)
    return state ^ _ALL


def _bits_onwards(state: int, bits: int) -> int:
    for _ in range(bits):
        state = state >> 1 ^ (POLYNOMIAL if state & 1 else 0)
    return state


def _mapped(tables: Tables, state: Words) -> Words:
    halves = state.view("<u2")
    found: Words = tables[0][halves[0::2]] ^ tables[1][halves[1::2]]
    return found


@cache
def _words_onwards(power: int) -> Tables:
    """The map of a remainder over 2**power zero words, by its low and its high 16 bits. [65536] each"""
    if power == 0:
        images = np.array([_bits_onwards(1 << bit, 32) for bit in range(32)], np.uint32)
    else:
        half = _words_onwards(power - 1)
        images = _mapped(half, _mapped(half, np.left_shift(np.uint32(1), np.arange(32, dtype=np.uint32))))
    return _table(images[:16]), _table(images[16:])


def _table(images: Words) -> Words:
    """The images of all 16-bit numbers, from those of the 16 bits."""
    table = np.zeros(1 << 16, np.uint32)
    for bit, image in enumerate(images):
        table[1 << bit : 2 << bit] = table[: 1 << bit] ^ image
    return table
