"""ElmoRepresentations trains under DistributedDataParallel: two real processes, one step, the same weights in both."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
import torch

from helpers.distributed_step import train_one_step

pytestmark = pytest.mark.skipif(
    not (torch.distributed.is_available() and torch.distributed.is_gloo_available()), reason="torch without gloo"
)


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each of two processes had after the step: {"frozen" or "trainable": {"parameters", "loss"}}."""
    folder = tmp_path_factory.mktemp("distributed")
    results = [folder / f"{rank}.pt" for rank in range(2)]
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "helpers.distributed_step", str(rank), "2", str(folder / "meeting"), str(result)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank, result in enumerate(results)
    ]
    try:
        for process in processes:
            _, said = process.communicate(timeout=300)
            assert process.returncode == 0, said
    finally:
        for process in processes:
            process.kill()
    return [torch.load(result, weights_only=True) for result in results]


@pytest.mark.parametrize("mode", ["frozen", "trainable"])
def test_one_step_in_two_processes(two_processes: list[dict[str, Any]], mode: str) -> None:
    alone = train_one_step(mode == "trainable")
    first, second = (process[mode] for process in two_processes)
    assert first["loss"] != second["loss"]  # each saw its own share
    assert first["parameters"].keys() == alone["parameters"].keys()
    for name, value in first["parameters"].items():
        assert torch.equal(value, second["parameters"][name]), name
        torch.testing.assert_close(value, alone["parameters"][name], atol=1e-5, rtol=1e-5)


def test_the_step_moves_the_bilm_only_when_it_is_trainable(two_processes: list[dict[str, Any]]) -> None:
    frozen, tuned = two_processes[0]["frozen"]["parameters"], two_processes[0]["trainable"]["parameters"]
    names = {name for name in frozen if name.startswith("elmo.bilm.")}
    assert {name for name in names if not torch.equal(tuned[name], frozen[name])} == names
