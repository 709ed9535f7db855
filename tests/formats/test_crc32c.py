"""crc32c on numpy: the values that its definition gives, for every length."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.formats.crc32c import crc32c, masked


def bit_by_bit(message: bytes) -> int:
    """The definition."""
    state = 0xFFFFFFFF
    for byte in message:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        (b"\0" * 32, 0x8A9136AA),  # the examples of RFC 3720, B.4
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
    ],
)
def test_published_examples(message: bytes, expected: int) -> None:
    assert crc32c(message) == expected


@given(st.binary(max_size=3000), st.integers(0, 3000))
def test_it_is_its_definition_also_in_parts(message: bytes, cut: int) -> None:
    assert crc32c(message[:cut], message[cut:]) == bit_by_bit(message)


def test_many_rows() -> None:
    message = bytes(range(256)) * 700  # more than one row of the widest layout
    assert crc32c(message) == bit_by_bit(message)


def test_the_mask_is_that_of_leveldb() -> None:
    checksum = crc32c(b"foo")
    assert masked(checksum) != checksum
    rotated = (masked(checksum) - 0xA282EAD8) & 0xFFFFFFFF
    assert (rotated >> 17 | rotated << 15) & 0xFFFFFFFF == checksum
