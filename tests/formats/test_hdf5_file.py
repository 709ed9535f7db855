"""A disk that runs full while HDF5 is written: an error, where libhdf5 would end the process."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from polyseme.formats.hdf5_file import open_hdf5, write_hdf5


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
