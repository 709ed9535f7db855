"""A mapped file is as large as it should be, and gives its memory back."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import pytest

from polyseme.errors import InputError
from polyseme.jobs.mapped import map_file, release

BYTES = np.dtype("u1")


def resident() -> int:
    """Bytes of mapped files that are in this process's memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("RssFile:"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "numbers.bin").write_bytes(bytes(range(256)) * 2**17)  # 32 MB
    return tmp_path / "numbers.bin"


def test_what_is_mapped_is_the_file(file: Path) -> None:
    array = map_file(file, np.dtype("<u4"), 2**23)
    assert array[1] == 0x07060504 and not array.flags.writeable


@pytest.mark.parametrize("count", [2**25 - 1, 2**25 + 1])
def test_another_size_is_refused(file: Path, count: int) -> None:
    with pytest.raises(InputError, match=r"numbers\.bin has \d+ bytes where"):
        map_file(file, BYTES, count)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.bin is missing"):
        map_file(tmp_path / "nothing.bin", BYTES, 1)


@pytest.mark.skipif(not hasattr(mmap, "MADV_DONTNEED"), reason="the system has no such call")
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say what is resident")
def test_memory_is_given_back_and_the_numbers_stay(file: Path) -> None:
    array = map_file(file, BYTES, 2**25)
    before = int(array.sum())
    held = resident()
    release(array, np.ones(3))
    assert resident() < held - 2**24
    assert int(array.sum()) == before
