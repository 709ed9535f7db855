"""The embed job in several processes, also more than there are cores: the same bytes, and nothing is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.command_line import PATIENCE
from helpers.tiny_models import tiny_elmo, tiny_model
from polyseme.elmo import Elmo
from polyseme.embed.description import Options
from polyseme.embed.job import embed_files
from polyseme.embed.parts import parts_folder
from polyseme.embed.processes import embed_in_processes
from polyseme.errors import JobError
from polyseme.formats.native import save_native
from polyseme.jobs.progress import Progress

WORDS = ["the", "bank", "present", "naïve", "日本語", "of", ".", "a"]


def load_tiny(threads: int) -> Elmo:
    return tiny_elmo()


def load_and_die(threads: int) -> Elmo:
    """Ends the process, as the system does when memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path, chance = tmp_path / "in.txt", random.Random(1)
    lines = (" ".join(chance.choices(WORDS, k=chance.randint(0, 12))) for _ in range(400))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def whole(text: Path) -> bytes:
    embed_files([text], text.with_name("whole.h5"), tiny_elmo())
    return text.with_name("whole.h5").read_bytes()


@pytest.mark.parametrize("processes", [2, 5])
def test_any_number_of_processes_writes_the_same_bytes(text: Path, whole: bytes, processes: int) -> None:
    out, told = text.with_name("out.h5"), list[Progress]()
    summary = embed_in_processes([text], out, load_tiny, processes=processes, threads=8, progress=told.append)
    assert out.read_bytes() == whole
    assert summary is not None and summary.documents == 400
    assert not parts_folder(out).exists()
    assert told[-1].ended


def test_a_finished_job_is_not_done_again_and_a_file_is_kept(text: Path, whole: bytes) -> None:
    out = text.with_name("out.h5")
    embed_in_processes([text], out, load_tiny, processes=2)
    before = out.stat().st_mtime_ns
    assert embed_in_processes([text], out, load_tiny, processes=2, resume=True) is None
    with pytest.raises(JobError, match="exists"):
        embed_in_processes([text], out, load_tiny, processes=2)
    with pytest.raises(JobError, match=r"written by another job: pool was none and is \"mean\""):
        embed_in_processes([text], out, load_tiny, Options(pool="mean"), processes=2, resume=True)
    assert out.stat().st_mtime_ns == before
    assert not parts_folder(out).exists()
    embed_in_processes([text], out, load_tiny, processes=2, overwrite=True)
    assert out.read_bytes() == whole


@pytest.mark.skipif(os.name != "posix", reason="uses SIGKILL")
def test_a_killed_process_is_noticed_and_the_job_goes_on(text: Path, whole: bytes) -> None:
    out = text.with_name("out.h5")
    embed_files([text], text.with_name("other.h5"), tiny_elmo())  # a neighbour that nobody touches
    with pytest.raises(JobError, match="ended with exit code -9"):
        embed_in_processes([text], out, load_and_die, processes=2)
    assert not out.exists()
    embed_in_processes([text], out, load_tiny, processes=2, resume=True)
    assert out.read_bytes() == whole


def test_another_number_of_processes_cannot_go_on(text: Path) -> None:
    out = text.with_name("out.h5")
    (parts_folder(out) / "1-of-4").mkdir(parents=True)
    with pytest.raises(JobError, match="started with --processes 4"):
        embed_in_processes([text], out, load_tiny, processes=2, resume=True)


def start_verb(model: Path, text: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "polyseme", "embed", str(text), "--model", str(model), "--lang", "whitespace"]
    command += ["--out", str(out), "--processes", "3", "--threads", "3", *more]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)


@pytest.mark.skipif(os.name != "posix", reason="uses signals of POSIX")
@pytest.mark.parametrize("killed", ["ctrl-c", "the first process"])
def test_after_ctrl_c_or_a_kill_no_process_is_left_and_the_bytes_are_the_same(
    text: Path, tmp_path: Path, killed: str
) -> None:
    save_native(tiny_model(), tmp_path / "tiny")
    text.write_bytes(text.read_bytes() * 10)
    out = tmp_path / "out.h5"
    job = start_verb(tmp_path / "tiny", text, out)
    while job.poll() is None and not list(parts_folder(out).glob("*/job.json")):
        time.sleep(0.01)
    if killed == "ctrl-c":
        os.killpg(job.pid, signal.SIGINT)  # as a terminal does: to all of them
        _, said = job.communicate(timeout=PATIENCE)
        assert job.returncode == 130 and "continue with the same command and --resume" in said
    else:
        os.kill(job.pid, signal.SIGKILL)
        job.communicate(timeout=PATIENCE)  # ends when no process holds the pipe any more
    again = start_verb(tmp_path / "tiny", text, out, "--resume")
    _, said = again.communicate(timeout=PATIENCE)
    assert again.returncode == 0, said
    embed_files([text], tmp_path / "whole.h5", tiny_elmo())
    assert out.read_bytes() == (tmp_path / "whole.h5").read_bytes()
