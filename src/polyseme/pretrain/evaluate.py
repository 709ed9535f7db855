"""How well a language model predicts text it has not seen: exact, with the full softmax, in both directions."""

from __future__ import annotations

import torch
from torch import Tensor

from polyseme.nn.softmax import target_log_probabilities
from polyseme.pretrain.batches import Batch
from polyseme.pretrain.objective import LanguageModel, States, read_without_gradient


@torch.no_grad()
def target_losses(model: LanguageModel, batch: Batch, states: States) -> tuple[list[Tensor], States]:
    """For each direction the negative log-probability of each target [R], and the states after the batch."""
    outputs, finals = read_without_gradient(model, batch, states)
    weight, bias = model.softmax_weight().detach(), model.softmax.bias.detach()
    losses = [
        -target_log_probabilities(h, weight, bias, reading.targets)
        for h, reading in zip(outputs, batch.readings, strict=True)
    ]
    return losses, finals
