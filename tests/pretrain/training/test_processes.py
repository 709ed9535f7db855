"""Two processes, each with half of every step, train as one does; a run goes on with another number of them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.command_line import PATIENCE
from helpers.small_corpora import small_corpus
from polyseme.formats.detect import load
from polyseme.pretrain.training.checkpoint import read_checkpoint
from polyseme.pretrain.training.journal import read_journal

SMALL = [
    "--set=dropout=0.0",
    "--set=model.cell=12",
    "--set=model.projection=6",
    "--set=model.filters=[[1, 4], [2, 5]]",
    "--set=text.tokens=60",
    "--set=text.rows=6",
    "--set=text.steps=5",
    "--set=softmax.negatives=8",
    "--set=budget.validate_every=600",
    "--set=budget.validate_on=100",
    "--threads=1",
]


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def train(corpus: Path, out: Path, processes: int, tokens: int, *options: str, script: Path | None = None) -> int:
    """The exit code of ``polyseme pretrain``, or of a script that stands in for it."""
    launcher = (
        []
        if processes == 1
        else [
            "-m",
            "torch.distributed.run",
            f"--nproc_per_node={processes}",
            f"--master_port={free_port()}",
        ]
    )
    command = [
        sys.executable,
        *launcher,
        *(["-m", "polyseme"] if script is None else [str(script)]),
        "pretrain",
        str(corpus),
        "--out",
        str(out),
        "--recipe=tiny",
        f"--set=budget.tokens={tokens}",
        *SMALL,
        *options,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert script is not None or done.returncode == 0, done.stderr[-3000:]
    return done.returncode


#: polyseme, in the second of two processes with a difference.
SECOND = """
import os, signal
from types import SimpleNamespace
from polyseme.cli.app import main
from polyseme.pretrain.training import trainer

if os.environ["RANK"] == "1":
    {difference}

main()
"""

A_CLOCK_THAT_STANDS_STILL = "trainer.time = SimpleNamespace(monotonic=lambda: 0.0)"

CTRL_C_IN_STEP_6 = """
    take_step = trainer.train_step

    def interrupted(training, *args):
        if training.step == 5:
            signal.raise_signal(signal.SIGINT)
        return take_step(training, *args)

    trainer.train_step = interrupted
"""


def launch(corpus: Path, out: Path, tokens: int, *options: str) -> subprocess.Popen[str]:
    """``polyseme pretrain --processes 3``, more than there may be cores."""
    command = [sys.executable, "-m", "polyseme", "pretrain", str(corpus), "--out", str(out), "--recipe=tiny"]
    command += [f"--set=budget.tokens={tokens}", *SMALL, "--processes=3", *options]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def wait_for_checkpoint(job: subprocess.Popen[str], out: Path) -> None:
    while job.poll() is None and not (out / "last.safetensors").exists():
        time.sleep(0.05)
    assert job.poll() is None, job.communicate()


def trainers_of(job: subprocess.Popen[str]) -> list[int]:
    listed = Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text(encoding="utf-8")
    return [int(number) for number in listed.split()]


def script_in(folder: Path, difference: str) -> Path:
    path = folder / "second.py"
    path.write_text(SECOND.format(difference=difference), encoding="utf-8")
    return path


def losses(out: Path) -> list[float]:
    lines = read_journal(out / "log.jsonl")
    return [value for line in lines if "forward" in line for value in (line["forward"], line["backward"])]


@pytest.mark.parametrize("read", ["sentences", "windows"])
def test_two_processes_have_the_losses_of_one_and_one_goes_on_from_two(tmp_path: Path, read: str) -> None:
    small_corpus(tmp_path)
    corpus = tmp_path / "corpus"
    steady = [f"--set=text.read={read}", "--set=optimizer.schedule=constant", "--set=optimizer.warmup=0.0"]
    train(corpus, tmp_path / "one", 1, 1500, *steady)
    train(corpus, tmp_path / "two", 2, 1000, *steady)
    alone, together = losses(tmp_path / "one"), losses(tmp_path / "two")
    assert len(together) >= 40
    assert together[:40] == pytest.approx(alone[:40], abs=1e-4)

    train(corpus, tmp_path / "two", 1, 1500, *steady, "--resume")
    assert losses(tmp_path / "two") == pytest.approx(alone, abs=1e-4)


def test_the_clock_of_the_first_process_says_when_all_save(tmp_path: Path) -> None:
    """Windows carry states, which all processes gather: each must do so after the same step."""
    small_corpus(tmp_path)
    often = ["--set=text.read=windows", "--set=budget.checkpoint_minutes=1e-9"]
    script = script_in(tmp_path, A_CLOCK_THAT_STANDS_STILL)
    assert train(tmp_path / "corpus", tmp_path / "run", 2, 1000, *often, script=script) == 0
    assert load(tmp_path / "run" / "model").card["training"]["tokens_seen"] >= 1000


def test_ctrl_c_in_one_process_stops_all_after_the_same_step(tmp_path: Path) -> None:
    small_corpus(tmp_path)
    corpus, windows = tmp_path / "corpus", "--set=text.read=windows"
    train(corpus, tmp_path / "whole", 1, 1000, windows)
    assert train(corpus, tmp_path / "run", 2, 1000, windows, script=script_in(tmp_path, CTRL_C_IN_STEP_6)) != 0
    assert read_checkpoint(tmp_path / "run" / "last.safetensors")[1]["step"] == 6
    train(corpus, tmp_path / "run", 1, 1000, windows, "--resume")
    assert losses(tmp_path / "run") == pytest.approx(losses(tmp_path / "whole"), abs=1e-4)


def test_processes_that_pretrain_starts_itself_have_the_losses_of_one(tmp_path: Path) -> None:
    small_corpus(tmp_path)
    train(tmp_path / "corpus", tmp_path / "one", 1, 600)
    job = launch(tmp_path / "corpus", tmp_path / "three", 600)
    _, said = job.communicate(timeout=PATIENCE)
    assert job.returncode == 0, said
    assert losses(tmp_path / "three") == pytest.approx(losses(tmp_path / "one"), abs=1e-4)
    job = launch(tmp_path / "corpus", tmp_path / "three", 600)
    _, said = job.communicate(timeout=PATIENCE)
    assert job.returncode == 1 and "already holds a run" in said and "Traceback" not in said


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc")
@pytest.mark.parametrize("whom", ["ctrl-c", "a trainer", "the launcher"])
def test_processes_stop_together_and_go_on(tmp_path: Path, whom: str) -> None:
    small_corpus(tmp_path)
    corpus, out = tmp_path / "corpus", tmp_path / "run"
    often = "--set=budget.checkpoint_minutes=1e-9"
    job = launch(corpus, out, 100_000, often)
    wait_for_checkpoint(job, out)
    trainers = trainers_of(job)
    assert len(trainers) == 3
    if whom == "a trainer":
        os.kill(trainers[1], signal.SIGKILL)
    else:
        job.send_signal(signal.SIGINT if whom == "ctrl-c" else signal.SIGKILL)
    _, said = job.communicate(timeout=PATIENCE)
    if whom == "ctrl-c":
        assert job.returncode == 130, said
    elif whom == "a trainer":
        assert "process 2 of 3 was ended by signal 9; continue with --resume" in said
    until = time.monotonic() + PATIENCE
    while any(Path(f"/proc/{number}").exists() for number in trainers) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{number}").exists() for number in trainers)
    step = read_checkpoint(out / "last.safetensors")[1]["step"]
    train(corpus, out, 1, 600, "--resume", often)
    assert read_checkpoint(out / "last.safetensors")[1]["step"] > step
