"""A download that is killed again and again ends with the right bytes, and asks for every byte about once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.command_line import signals
from helpers.faulty_server import Asked, Served, serving
from helpers.release_files import list_releases
from helpers.small_models import small_model
from polyseme.bilm_config import BiLMConfig, CharacterConfig
from polyseme.formats.bilm_tf import save_bilm_tf
from polyseme.formats.releases.store import downloads, verify

KILLS = 20
PATIENCE = 120.0  # seconds until a process has got a little further; the machine may be busy

#: Without the check of the content, and so without torch: the processes are to spend their time with downloading.
LIGHT = """
from polyseme.formats.releases.downloading import pull
from polyseme.formats.releases.known import find_release
pull(find_release("big"), lambda folder: None)
"""

pytestmark = signals


def test_a_download_that_is_killed_twenty_times(home: Path) -> None:
    content = random.Random(0).randbytes(6 << 20)
    served = Served(content, stalls_after=len(content) // (KILLS + 2))
    with serving({"/file.bin": served}) as (address, asked):
        list_releases(home, {"name": "big", "sources": [{"file.bin": f"{address}/file.bin"}]})
        kill_again_and_again([sys.executable, "-c", LIGHT], home, len(content))
        served.stalls_after = None
        subprocess.run([sys.executable, "-c", LIGHT], check=True, capture_output=True, timeout=PATIENCE)
    assert (home / "releases" / "big" / "model" / "file.bin").read_bytes() == content
    check_what_was_asked(asked, len(content))


@pytest.mark.slow
def test_the_original_model_killed_twenty_times(home: Path, tmp_path: Path) -> None:
    """374 MB by the command, which looks at the weights in the end."""
    network = BiLMConfig(characters=CharacterConfig(alphabet=261), cell=4096, projection=512)
    save_bilm_tf(small_model(network), tmp_path / "original")
    files = {path.name: path for path in sorted((tmp_path / "original").iterdir())}
    size = files["weights.hdf5"].stat().st_size
    assert size > 374e6
    command = [sys.executable, "-m", "polyseme", "pull", "big"]
    served = {f"/{name}": Served(path, stalls_after=size // (KILLS + 2)) for name, path in files.items()}
    with serving(served) as (address, asked):
        list_releases(home, {"name": "big", "sources": [{name: f"{address}/{name}" for name in files}]})
        kill_again_and_again(command, home, size)
        served["/weights.hdf5"].stalls_after = None
        subprocess.run(command, check=True, capture_output=True, timeout=600)
    (download,) = downloads()
    verify(download)
    assert (download.model / "weights.hdf5").read_bytes() == files["weights.hdf5"].read_bytes()
    check_what_was_asked(asked, size)


def kill_again_and_again(command: list[str], home: Path, size: int) -> None:
    """Start it so often; each time, when a little more of the file is here, kill it. More does not come."""
    least = size // (KILLS + 10)
    for _ in range(KILLS):
        before = here(home)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        give_up = time.monotonic() + PATIENCE
        while here(home) < before + least and process.poll() is None and time.monotonic() < give_up:
            time.sleep(0.002)
        assert here(home) >= before + least, "it ended, or came to a halt"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert not list(downloads())


def here(home: Path) -> int:
    """How much of the large file has come."""
    return max((path.stat().st_size for path in home.glob("releases/big.partial/0/*.partial")), default=0)


def check_what_was_asked(asked: list[Asked], size: int) -> None:
    """Every process went on where the one before it was."""
    starts = [int(one.range.removeprefix("bytes=").removesuffix("-")) for one in asked if one.range]
    assert len(starts) == KILLS
    assert starts == sorted(starts) and starts[-1] > size // 2
