"""A disk that runs full while HDF5 is written: an error, where libhdf5 would end the process."""

from __future__ import annotations

import io
import os
import random
from pathlib import Path

import numpy as np
import pytest

from polyseme.formats.hdf5_file import Disk, open_hdf5, write_hdf5


@pytest.mark.parametrize("size", [100, 5_000, 50_000])
def test_a_full_disk_is_an_error(tmp_path: Path, size: int) -> None:
    resource = pytest.importorskip("resource", reason="the limits of a process are those of POSIX")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
            write_hdf5(tmp_path / "weights.hdf5", {"a": np.ones(30_000, np.float32), "b": np.ones(3, np.float32)})
        except OSError:
            code = 7
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_what_was_written_is_read(tmp_path: Path) -> None:
    write_hdf5(tmp_path / "weights.hdf5", {"a": np.arange(3, dtype=np.float32)})
    with open_hdf5(tmp_path / "weights.hdf5") as file:
        assert file.arrays["a"].read().tolist() == [0, 1, 2]


def test_gathered_writes_give_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes and reads anywhere, in any order, against a file in memory."""
    monkeypatch.setattr("polyseme.formats.hdf5_file.GATHERED_BYTES", 64)
    chance = random.Random(1)
    for trial in range(300):
        expected, path = io.BytesIO(), tmp_path / str(trial)
        with Disk(path) as disk:
            for _ in range(30):
                end = len(expected.getvalue())
                place = chance.choice([end, end, end + chance.randint(0, 90), chance.randint(0, end)])
                for file in (disk, expected):
                    file.seek(place)
                    assert file.tell() == place
                if chance.random() < 0.2:
                    ours, theirs = bytearray(20), bytearray(20)
                    assert disk.readinto(ours) == expected.readinto(theirs)
                    assert ours == theirs
                    continue
                data = chance.randbytes(chance.choice([1, 5, 30, 63, 64, 65, 200]))
                assert disk.write(data) == expected.write(data)
                assert disk.tell() == expected.tell()
        assert path.read_bytes() == expected.getvalue()
