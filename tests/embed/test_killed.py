"""Killed at any moment or out of space: the final file is the same, and nothing half-written has its name."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from helpers.damage import flip_bit
from helpers.tiny_models import tiny_elmo, tiny_model
from polyseme.embed.assembly import assemble
from polyseme.embed.compute import WindowLimits
from polyseme.embed.description import Options, Shard
from polyseme.embed.job import embed_files
from polyseme.embed.parts import parts_folder
from polyseme.errors import JobError
from polyseme.formats.native import save_native

pytestmark = pytest.mark.skipif(os.name != "posix", reason="uses SIGKILL and limits of POSIX")
pytest.importorskip("pyarrow")

LIMITS = WindowLimits(window=300, part=600)

# One job in a process of its own. It says when it begins, so that the kills fall into the job and not into the imports,
# and never sleeps: parts, descriptions and the final file are all being written when a kill comes.
JOB = """
    import sys
    from pathlib import Path
    import torch
    torch.set_num_threads(1)
    from polyseme.elmo import Elmo
    from polyseme.embed.compute import WindowLimits
    from polyseme.embed.description import Options
    from polyseme.embed.job import embed_files
    model, text, out = sys.argv[1:]
    elmo = Elmo.from_pretrained(model, device="cpu", lang="whitespace")
    print("begun", flush=True)
    embed_files([text], out, elmo, Options(layers="all"), resume=True, limits=WindowLimits(window=300, part=600))
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "tiny"
    save_native(tiny_model(), folder)
    return folder


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    words = ["the", "bank", "present", "naïve", "日本語", "of", ".", "a"]
    chance = random.Random(1)
    path.write_text("".join(" ".join(chance.choices(words, k=chance.randint(0, 12))) + "\n" for _ in range(1500)))
    return path


def start(model: Path, text: Path, out: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(JOB), str(model), str(text), str(out)]
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert job.stdout is not None
    assert job.stdout.readline() == "begun\n", job.communicate()
    return job


@pytest.mark.slow
@pytest.mark.timeout(1800)  # twenty-two processes that import torch
@pytest.mark.parametrize("suffix", [".h5", ".parquet", ".npz"])
def test_twenty_kills_leave_the_same_file(tmp_path: Path, model: Path, text: Path, suffix: str) -> None:
    whole, out = tmp_path / f"whole{suffix}", tmp_path / f"out{suffix}"
    began = time.monotonic()
    assert start(model, text, whole).wait() == 0
    duration = time.monotonic() - began
    chance = random.Random(suffix)
    killed = 0
    for _ in range(20):
        job = start(model, text, out)
        time.sleep(chance.uniform(0, duration / 8))  # an eighth: most kills find the job unfinished
        job.send_signal(signal.SIGKILL)
        killed += job.wait() == -signal.SIGKILL
        job.communicate()
        if out.exists():
            assert out.read_bytes() == whole.read_bytes()
            out.unlink()  # begin again: the kills go on
    assert killed >= 10
    last = start(model, text, out)
    _, errors = last.communicate()
    assert last.returncode == 0, errors
    assert out.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([text.name, whole.name, out.name])


def test_a_kill_leaves_the_same_file(tmp_path: Path, model: Path, text: Path) -> None:
    embed_files([text], tmp_path / "whole.h5", tiny_elmo(), Options(layers="all"), limits=LIMITS)
    out = tmp_path / "out.h5"
    job = start(model, text, out)
    while job.poll() is None and len(list(parts_folder(out).glob("*/*.part"))) < 3:
        time.sleep(0.002)
    job.send_signal(signal.SIGKILL)
    assert job.wait() == -signal.SIGKILL
    job.communicate()
    assert not out.exists()
    embed_files([text], out, tiny_elmo(), Options(layers="all"), limits=LIMITS, resume=True)
    assert out.read_bytes() == (tmp_path / "whole.h5").read_bytes()


def embed_onto_a_full_disk(size: int, model: Path, text: Path, out: Path) -> str:
    """What is said where no file may be larger than ``size`` bytes."""
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))\n"
    command = [sys.executable, "-c", limit + textwrap.dedent(JOB), str(model), str(text), str(out)]
    failed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert failed.returncode == 1, failed.stderr
    assert "JobError: no space left for" in failed.stderr
    return failed.stderr


@pytest.mark.parametrize("suffix", [".h5", ".parquet", ".npz"])
def test_a_full_disk_while_the_file_is_put_together(tmp_path: Path, model: Path, text: Path, suffix: str) -> None:
    """A limit on the size of a file stands for the disk: parts fit, the whole does not."""
    whole, out = tmp_path / f"whole{suffix}", tmp_path / f"out{suffix}"
    embed_files([text], whole, tiny_elmo(), Options(layers="all"), limits=LIMITS)
    assert "--resume" in embed_onto_a_full_disk(300_000, model, text, out)
    assert not out.exists()
    assert not list(tmp_path.glob("*.partial"))
    embed_files([text], out, tiny_elmo(), Options(layers="all"), limits=LIMITS, resume=True)
    assert out.read_bytes() == whole.read_bytes()


def test_a_full_disk_while_parts_are_written(tmp_path: Path, model: Path, text: Path) -> None:
    out = tmp_path / "out.h5"
    assert "what is finished is safe" in embed_onto_a_full_disk(20_000, model, text, out)
    assert not list(parts_folder(out).glob("*/*.partial"))
    embed_files([text], out, tiny_elmo(), Options(layers="all"), limits=LIMITS, resume=True)
    embed_files([text], tmp_path / "whole.h5", tiny_elmo(), Options(layers="all"), limits=LIMITS)
    assert out.read_bytes() == (tmp_path / "whole.h5").read_bytes()


def test_a_kill_while_finished_parts_are_removed_does_no_harm(tmp_path: Path, text: Path) -> None:
    out = tmp_path / "out.h5"
    embed_files([text], out, tiny_elmo(), limits=LIMITS)
    before = out.read_bytes()
    left = parts_folder(out).with_name(parts_folder(out).name + ".old") / "1-of-1"
    left.mkdir(parents=True)
    (left / "000001.part").write_bytes(b"what a killed removal leaves")
    embed_files([text], out, tiny_elmo(), limits=LIMITS, overwrite=True)
    assert out.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [text.name, out.name]


@pytest.mark.parametrize("which", [[0], [2], [1, 3], [1, 2], [-1], [0, -1]], ids=str)
def test_damaged_parts_are_computed_again_on_resume(tmp_path: Path, text: Path, which: list[int]) -> None:
    """Each alone, where the next one is whole; else everything behind it, because nobody knows where it ended."""
    out, share = tmp_path / "out.h5", Shard(0, 2)
    for index in (0, 1):
        embed_files([text], out, tiny_elmo(), limits=LIMITS, shard=Shard(index, 2))
    parts = sorted((parts_folder(out) / share.name).glob("*.part"))
    assert len(parts) > 6
    whole = {path: path.read_bytes() for path in parts}
    for number in which:
        flip_bit(parts[number], seed=number)
    with pytest.raises(JobError, match=f"{parts[which[0]].name} is damaged: .*--resume, which computes that part anew"):
        assemble(out)
    before = {path: path.stat().st_mtime_ns for path in parts}
    embed_files([text], out, tiny_elmo(), limits=LIMITS, shard=share, resume=True)
    assert {path: path.read_bytes() for path in parts} == whole
    touched = [number for number, path in enumerate(parts) if path.stat().st_mtime_ns != before[path]]
    expected = list(range(1, len(parts))) if which == [1, 2] else sorted(number % len(parts) for number in which)
    assert touched == expected
    assemble(out)
    embed_files([text], tmp_path / "whole.h5", tiny_elmo(), limits=LIMITS)
    assert out.read_bytes() == (tmp_path / "whole.h5").read_bytes()


@pytest.mark.parametrize("options", [Options(words=("bank",)), Options(pool="mean")], ids=["words", "pool"])
def test_a_damaged_part_of_target_words_or_pooled_documents(tmp_path: Path, text: Path, options: Options) -> None:
    out = tmp_path / "out.npz"
    for index in (0, 1):
        embed_files([text], out, tiny_elmo(), options, limits=LIMITS, shard=Shard(index, 2))
    part = min((parts_folder(out) / "1-of-2").glob("*.part"))
    whole = part.read_bytes()
    flip_bit(part)
    embed_files([text], out, tiny_elmo(), options, limits=LIMITS, shard=Shard(0, 2), resume=True)
    assert part.read_bytes() == whole


def test_a_job_that_another_version_began_goes_on(tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out.h5"

    def stop(_: object) -> None:
        if list(parts_folder(out).glob("*/*.part")):
            raise KeyboardInterrupt

    monkeypatch.setattr("polyseme.__version__", "0.0.9")
    with pytest.raises(KeyboardInterrupt):
        embed_files([text], out, tiny_elmo(), limits=LIMITS, progress=stop)
    monkeypatch.undo()
    embed_files([text], out, tiny_elmo(), limits=LIMITS, resume=True)
    embed_files([text], tmp_path / "whole.h5", tiny_elmo(), limits=LIMITS)
    assert out.read_bytes() == (tmp_path / "whole.h5").read_bytes()
