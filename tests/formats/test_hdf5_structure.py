"""Addresses in HDF5 on which libhdf5 never ends, or ends the process: refused before it sees them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from polyseme.embed.records import read
from polyseme.errors import FormatError, InputError
from polyseme.formats.hdf5_file import open_hdf5
from polyseme.formats.hdf5_structure import TextReader, open_structure

pytestmark = pytest.mark.timeout(60)
Damage = Callable[[bytearray], None]


def write_good(path: Path, **how: str) -> bytearray:
    """Arrays, one of them in chunks, a group within a group, and texts."""
    with h5py.File(path, "w", **how) as file:
        file.attrs["polyseme"] = "{}"
        for number in range(30):
            file.create_dataset(str(number), data=np.ones((3, 4), np.float32)).attrs["record"] = "é" * number
        file.create_dataset("chunks", data=np.ones((30, 4), np.float32), chunks=(1, 4))
        file.create_dataset("a/b/c", data=np.ones(3, np.float32))
    return bytearray(path.read_bytes())


def room_that_leads_to_itself(data: bytearray) -> None:
    heap = data.find(b"HEAP")
    _, free, start = struct.unpack_from("<QQQ", data, heap + 8)
    assert free != 1
    struct.pack_into("<Q", data, start + free, free)


def room_that_leads_round(data: bytearray) -> None:
    heap = data.find(b"HEAP")
    size, free, start = struct.unpack_from("<QQQ", data, heap + 8)
    other = size - 16
    assert other >= free + 16
    struct.pack_into("<QQ", data, start + free, other, 16)
    struct.pack_into("<QQ", data, start + other, free, 16)


def tree_in_itself(data: bytearray) -> None:
    tree = data.find(b"TREE\0")
    data[tree + 5] = 1
    struct.pack_into("<Q", data, tree + 32, tree)


def chunks_in_themselves(data: bytearray) -> None:
    tree = data.find(b"TREE\1")
    assert tree > 0
    data[tree + 5] = 1
    struct.pack_into("<Q", data, tree + 24 + 32, tree)


def cached_heap_elsewhere(data: bytearray) -> None:
    struct.pack_into("<Q", data, 56 + 32, 1 << 40)


@pytest.mark.parametrize(
    "damage",
    [room_that_leads_to_itself, room_that_leads_round, tree_in_itself, chunks_in_themselves, cached_heap_elsewhere],
)
def test_addresses_that_lead_nowhere_are_refused(tmp_path: Path, damage: Damage) -> None:
    path = tmp_path / "weights.h5"
    data = write_good(path)
    damage(data)
    path.write_bytes(data)
    with pytest.raises(FormatError, match=r"weights\.h5 cannot be read as HDF5: it is damaged"), open_hdf5(path):
        pass
    with pytest.raises(InputError, match="is damaged"):
        list(read(path))


@pytest.mark.parametrize("how", [{}, {"libver": "earliest"}, {"libver": "latest"}])
def test_a_good_file_is_read_whatever_its_layout(tmp_path: Path, how: dict[str, str]) -> None:
    path = tmp_path / "weights.h5"
    write_good(path, **how)
    with open_hdf5(path) as file:
        assert len(file.arrays) == 32
        assert file.arrays["chunks"].read().shape == (30, 4)


def test_a_file_behind_something_else_is_read(tmp_path: Path) -> None:
    path = tmp_path / "weights.h5"
    with h5py.File(path, "w", userblock_size=1024) as file:
        file["a/b"] = np.ones(3, np.float32)
    with open_hdf5(path) as opened:
        assert opened.arrays["a/b"].read().tolist() == [1, 1, 1]


def test_parts_within_each_other_end_in_proportion_to_the_file(tmp_path: Path) -> None:
    """Every entry of a table of names leads to the same few bytes, which lead on to all others."""
    path = tmp_path / "weights.h5"
    data = write_good(path)
    header = struct.unpack_from("<Q", data, 64)[0]
    struct.pack_into("<I", data, header + 8, len(data))  # a header as long as the file
    path.write_bytes(data)
    with pytest.raises(FormatError), open_hdf5(path):
        pass


def test_texts_are_those_that_h5py_reads(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    write_good(path)
    with h5py.File(path) as file, open_structure(path) as structure:
        texts = TextReader(structure)
        for number in range(30):
            address = h5py.h5o.get_info(file[str(number)].id).addr
            assert texts.attribute(address, "record") == file[str(number)].attrs["record"] == "é" * number
            assert texts.attribute(address, "other") is None


def test_a_text_that_says_it_has_4_GB_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    data = write_good(path)
    heap = struct.pack("<Q", data.find(b"GCOL"))
    place = data.find(heap) - 4
    struct.pack_into("<I", data, place, (1 << 32) - 1)
    path.write_bytes(data)
    with pytest.raises(InputError, match="a text that is not where it should be"):
        list(read(path))


def test_an_attribute_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["0"] = np.ones((3, 4), np.float32)
        file.attrs["polyseme"] = 7
    with pytest.raises(InputError, match="'polyseme' is no text"):
        list(read(path))


def test_vectors_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("0", data=["a", "b"], dtype=h5py.string_dtype())
    with pytest.raises(InputError, match="'0' is not an array of numbers"):
        list(read(path))
