"""Killed at any moment, an index is built on to the same bytes."""

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

from helpers.tiny_models import tiny_elmo, tiny_model
from polyseme import Index
from polyseme.embed.compute import WindowLimits
from polyseme.errors import InputError, JobError
from polyseme.formats.native import save_native
from polyseme.index.builder import build_index
from polyseme.jobs.progress import Progress

LIMITS = WindowLimits(window=60, part=150)

JOB = """
    import sys
    from pathlib import Path
    import torch
    torch.set_num_threads(1)
    from polyseme.elmo import Elmo
    from polyseme.index.builder import build_index
    from polyseme.embed.compute import WindowLimits
    model, text, out = sys.argv[1:]
    elmo = Elmo.from_pretrained(model, device="cpu", lang="whitespace")
    print("begun", flush=True)
    build_index(elmo, [text], Path(out), (0, 2), resume=True, limits=WindowLimits(window=60, part=150))
"""


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    words = ["the", "bank", "present", "naïve", "日本語", "of", ".", "a", *map(str, range(500))]
    chance = random.Random(1)
    path.write_text("".join(" ".join(chance.choices(words, k=chance.randint(0, 12))) + "\n" for _ in range(300)))
    return path


def build(text: Path, folder: Path, **options: object) -> None:
    build_index(tiny_elmo(), [text], folder, (0, 2), limits=LIMITS, **options)  # type: ignore[arg-type]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def stopping_after(parts: int, folder: Path) -> object:
    """A report that interrupts the work after some windows."""
    told: list[Progress] = []

    def report(progress: Progress) -> None:
        told.append(progress)
        if len(told) > parts:
            raise KeyboardInterrupt

    return report


@pytest.mark.parametrize("windows", [0, 2, 3, 7])
def test_interrupted_it_goes_on_to_the_same_bytes(text: Path, tmp_path: Path, windows: int) -> None:
    build(text, tmp_path / "whole")
    out = tmp_path / "out"
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            build(text, out, progress=stopping_after(windows, out), resume=True)
        assert not out.exists()
    build(text, out, resume=True)
    assert contents(out) == contents(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out", "whole"]


@pytest.mark.skipif(os.name != "posix", reason="uses SIGKILL")
def test_killed_it_goes_on_to_the_same_bytes(text: Path, tmp_path: Path) -> None:
    save_native(tiny_model(), tmp_path / "model")
    build(text, tmp_path / "whole")
    out = tmp_path / "out"
    killed = 0
    for kill in range(3):
        command = [sys.executable, "-c", textwrap.dedent(JOB), str(tmp_path / "model"), str(text), str(out)]
        job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert job.stdout is not None
        assert job.stdout.readline() == "begun\n", job.communicate()
        tokens, before = tmp_path / "out.partial" / "tokens.bin", size(tmp_path / "out.partial" / "tokens.bin")
        while job.poll() is None and size(tokens) < before + 1500 * kill:
            time.sleep(0.001)
        job.send_signal(signal.SIGKILL)
        killed += job.wait() == -signal.SIGKILL
        job.communicate()
    assert killed >= 2
    build(text, out, resume=True)
    assert contents(out) == contents(tmp_path / "whole")


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def test_what_was_begun_is_not_overwritten_or_mixed(text: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        build(text, out, progress=stopping_after(5, out))
    with pytest.raises(JobError, match=r"was started; continue with --resume, or delete .*out.partial"):
        build(text, out)
    with pytest.raises(JobError, match=r'another index was begun in .*: fingerprint was "1:.*" and is "1:'):
        build_index(tiny_elmo(seed=1), [text], out, (0, 2), resume=True)
    with pytest.raises(JobError, match=r"another index was begun in .*: layers was \[0, 2\] and is \[2\]; delete it"):
        build_index(tiny_elmo(), [text], out, (2,), resume=True)
    text.write_text(text.read_text() + "more\n")
    with pytest.raises(JobError, match=r"begun in .*: size of .*in.txt was \d+ and is \d+; sha256 of .*in.txt was"):
        build(text, out, resume=True)


@pytest.mark.parametrize("content", ["", "\n\n", " \n\t \n"])
@pytest.mark.parametrize("resume", [False, True])
def test_an_input_without_words_does_not_block_the_corrected_one(
    text: Path, tmp_path: Path, content: str, resume: bool
) -> None:
    corrected, out = text.read_text(), tmp_path / "out"
    text.write_text(content)
    with pytest.raises(InputError, match=r"there is no (text|word) to index"):
        build(text, out, resume=resume)
    assert list(tmp_path.iterdir()) == [text]
    text.write_text(corrected)
    build(text, out, resume=resume)
    assert len(Index.open(out, tiny_elmo())) == len(corrected.split())


def test_an_input_that_is_gone_costs_nothing_that_was_safe(text: Path, tmp_path: Path) -> None:
    content, out = text.read_text(), tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        build(text, out, progress=stopping_after(7, out))
    text.unlink()
    with pytest.raises(InputError, match=r"in\.txt"):
        build(text, out, resume=True)
    text.write_text(content)
    build(text, out, resume=True)
    build(text, tmp_path / "whole")
    assert contents(out) == contents(tmp_path / "whole")


def test_files_that_lost_something_are_named(text: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        build(text, out, progress=stopping_after(5, out))
    (tmp_path / "out.partial" / "layer-2.f2").write_bytes(b"")
    with pytest.raises(JobError, match=r"layer-2.f2 has 0 bytes where \d+ were expected; delete it"):
        build(text, out, resume=True)


def test_a_finished_index_stays_as_it_is(text: Path, tmp_path: Path) -> None:
    build(text, tmp_path / "out")
    before = contents(tmp_path / "out")
    build(text, tmp_path / "out", resume=True)
    assert contents(tmp_path / "out") == before
    with pytest.raises(JobError, match=r"layers was \[0, 2\] and is \[1\]"):
        build_index(tiny_elmo(), [text], tmp_path / "out", (1,), resume=True)


def test_progress_reaches_the_end(text: Path, tmp_path: Path) -> None:
    told: list[Progress] = []
    build(text, tmp_path / "out", progress=told.append)
    assert told[-1].done == told[-1].total == sum(map(len, text.read_text().splitlines()))
    assert told[-1].tokens == len(text.read_text().split())
    assert [one.tokens for one in told] == sorted(one.tokens for one in told)
    assert len(Index.open(tmp_path / "out", tiny_elmo())) == told[-1].tokens
