"""What is trained: a biLM, its softmax, and the states of its layers."""

from __future__ import annotations

from contextlib import AbstractContextManager

import torch
from torch import Tensor, nn

from polyseme.formats.model import SoftmaxWeights
from polyseme.nn.bilm import BiLM, Direction
from polyseme.nn.lstm import CellState, ProjectedLSTM
from polyseme.nn.softmax import Softmax
from polyseme.nn.training_kernel import lowered
from polyseme.pretrain.training.batches import PackedBatch

#: States by direction, then by layer.
States = list[list[CellState]]


class LanguageModel(nn.Module):
    """A biLM and its softmax. With ``shared_words`` the softmax rows are the rows of the input's word table."""

    def __init__(self, bilm: BiLM, softmax: Softmax, *, padding: int, shared_words: bool = False) -> None:
        super().__init__()
        self.bilm, self.softmax = bilm, softmax
        self.padding = padding  #: the character id that pads short tokens
        self.shared_words = shared_words
        self.precision = torch.float32  #: of matrix products in training

    @property
    def device(self) -> torch.device:
        return self.softmax.bias.device

    def lowered(self) -> AbstractContextManager[object]:
        """A context for matrix products in the precision of training; gradients are taken outside, as torch advises."""
        if self.device.type == "cpu" and self.precision == torch.bfloat16:
            return lowered(self.precision)  # only the kernel's products: PyTorch's crash on some CPUs
        return torch.autocast(self.device.type, self.precision, enabled=self.precision != torch.float32)

    def softmax_weight(self) -> Tensor:
        """[V, D]"""
        words = self.bilm.token_encoder.words
        return words.weight[1:] if self.shared_words and words is not None else self.softmax.weight

    def softmax_weights(self) -> SoftmaxWeights:
        """A copy of the output layer as it is now."""
        return self.softmax.weights(self.softmax_weight())

    def network(self) -> list[nn.Parameter]:
        """The parameters with dense gradients: token encoder, forward and backward LSTMs, then clusters."""
        return [*self.bilm.parameters(), *self.softmax.cluster_parameters()]


def zero_states(bilm: BiLM, batch: PackedBatch) -> States:
    """The zero state for every sequence of the batch."""
    return [
        [cell.zero_state(reading.sizes[0]) for cell in lstm_layers(bilm, direction)]
        for direction, reading in enumerate(batch.readings)
    ]


def lstm_layers(bilm: BiLM, direction: int) -> list[ProjectedLSTM]:
    """The layers of one direction, bottom first."""
    stack = bilm.directions[direction]
    assert isinstance(stack, Direction)
    return [cell for cell in stack.cells if isinstance(cell, ProjectedLSTM)]
