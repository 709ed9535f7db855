"""Two processes, each with half of every step, train as one does; a run goes on with another number of them."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from small import small_corpus

from polyseme.pretrain.journal import read_journal

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


def train(corpus: Path, out: Path, processes: int, tokens: int, *options: str) -> None:
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
        "-m",
        "polyseme",
        "pretrain",
        str(corpus),
        "--out",
        str(out),
        "--recipe=tiny",
        f"--set=budget.tokens={tokens}",
        *SMALL,
        *options,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


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
