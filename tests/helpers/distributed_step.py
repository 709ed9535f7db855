"""One process of a training step with ElmoRepresentations under DistributedDataParallel (run by test_distributed.py).

    python -m helpers.distributed_step RANK WORLD MEETING_FILE RESULT_FILE

The result file gets, for a frozen and for a trainable biLM, the parameters after the step and the loss.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from helpers.reference.cases import CASES
from helpers.reference.port import bilm_of
from polyseme.nn.mix import ElmoRepresentations

CASE = CASES["both clips bind"]
SHARES = ([["The", "cat", "sat"], ["x"]], [["naïve"], [], ["日本語", "."]])  # the ranks see other sizes and lengths


class Task(nn.Module):
    """ELMo at the input of a linear layer and once more at its output, as the tasks of the paper use it."""

    def __init__(self, trainable: bool) -> None:
        super().__init__()
        self.elmo = ElmoRepresentations(bilm_of(CASE.model()), count=2, dropout=0.0, trainable=trainable)
        self.inner = nn.Linear(12, 5)
        self.outer = nn.Linear(5 + 12, 1)

    def forward(self, ids: Tensor) -> Tensor:
        (at_input, at_output), _ = self.elmo(ids)
        scores: Tensor = self.outer(torch.cat([torch.tanh(self.inner(at_input)), at_output], dim=-1))  # [B, N, 1]
        return scores.square().sum()


def train_one_step(trainable: bool, rank: int | None = None) -> dict[str, Any]:
    """Parameters and loss after one step. Without a rank, in this process alone, on the mean loss of all shares:
    what the processes of a group must agree with."""
    torch.manual_seed(7)
    task = Task(trainable).train()
    model: nn.Module = task if rank is None else nn.parallel.DistributedDataParallel(task)
    shares = SHARES if rank is None else SHARES[rank : rank + 1]
    loss = torch.stack([model(CASE.polyseme_ids(share)) for share in shares]).mean() + task.elmo.penalty(0.01)
    loss.backward()  # type: ignore[no-untyped-call]
    torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1).step()
    return {"parameters": dict(task.state_dict()), "loss": loss.detach()}


def main(rank: int, world: int, meeting: Path, result: Path) -> None:
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=meeting.as_uri(), rank=rank, world_size=world, timeout=timedelta(seconds=120)
    )
    torch.save({name: train_one_step(name == "trainable", rank) for name in ("frozen", "trainable")}, result)
    dist.barrier()  # a group that one process leaves while the other is at work can end it
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]))
