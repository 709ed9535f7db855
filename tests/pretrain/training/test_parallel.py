"""How many cores training takes."""

from __future__ import annotations

import pytest
import torch

from polyseme.pretrain.training.parallel import on_cores


@pytest.mark.parametrize("cores", [1, 2])
def test_operations_have_one_thread_while_training(cores: int) -> None:
    """So that a run on one core takes one core, and a run on two does not wait for barriers between them."""
    before = torch.get_num_threads()
    with on_cores(cores) as run:
        assert run([torch.get_num_threads, torch.get_num_threads]) == [1, 1]
    assert torch.get_num_threads() == before
