"""Several processes that train one model: torchrun starts them, and each reads its share of every step."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from polyseme.errors import JobError


@dataclass(frozen=True, slots=True)
class Processes:
    """Which process this is, and how many there are."""

    rank: int = 0
    world: int = 1
    device: str = "cpu"  #: where they exchange tensors

    @property
    def first(self) -> bool:
        """Whether this is the process that writes files and prints."""
        return self.rank == 0

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over all processes."""
        if self.world > 1:
            flat = torch.cat([t.flatten() for t in tensors])
            with _while_all_are_there():
                dist.all_reduce(flat)
            for tensor, total in zip(tensors, torch.split(flat, [t.numel() for t in tensors]), strict=True):
                tensor.copy_(total.view_as(tensor))

    def any(self, wish: bool) -> bool:
        """Whether ``wish`` is true in any process; all of them call this at the same point."""
        return self._sum(float(wish)) > 0

    def agree(self, value: float) -> float:
        """The first process's value, in all processes; all of them call this at the same point."""
        return self._sum(value if self.first else 0.0)

    def gather(self, tensor: Tensor) -> Tensor:
        """The tensors of all processes, concatenated; they may have different numbers of rows."""
        if self.world == 1:
            return tensor
        parts: list[Tensor | None] = [None] * self.world
        with _while_all_are_there():
            dist.all_gather_object(parts, tensor.cpu())
        return torch.cat([part for part in parts if part is not None]).to(tensor.device)

    def _sum(self, value: float) -> float:
        total = torch.tensor(value, dtype=torch.float64, device=self.device)
        self.add_up([total])
        return float(total)

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.world > 1:
            with _while_all_are_there():
                dist.barrier()


@contextmanager
def _while_all_are_there() -> Iterator[None]:
    """Turn the connection error that a killed process causes in the others into a JobError."""
    try:
        yield
    except RuntimeError:
        raise JobError("another process of this training has ended; start all of them again with --resume") from None


@contextmanager
def join_processes(device: str) -> Iterator[Processes]:
    """The processes that torchrun started, or this one alone."""
    if "RANK" not in os.environ or int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield Processes()
        return
    dist.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    try:
        yield Processes(dist.get_rank(), dist.get_world_size(), device)
    finally:
        dist.destroy_process_group()
