"""The readers of sequences against PyTorch's own, which read each sequence alone."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from polyseme.tasks.parts.encoders import BiGRU, BiLSTM, BiRNN

WIDTH, HIDDEN = 5, 3


def padded(lengths: list[int]) -> tuple[Tensor, Tensor]:
    x = torch.randn(len(lengths), max(lengths), WIDTH, generator=torch.Generator().manual_seed(0))
    return x, torch.tensor(lengths)


def torchs_own(ours: BiRNN, layers: int) -> nn.LSTM | nn.GRU:
    """One bidirectional network with the same numbers."""
    theirs = ours.kind(WIDTH, HIDDEN, layers, batch_first=True, bidirectional=True)
    for number in range(layers):
        for side, ending in ((ours.from_left, ""), (ours.from_right, "_reverse")):
            for name, value in side[number].named_parameters():
                getattr(theirs, name.replace("_l0", f"_l{number}") + ending).data.copy_(value)
    return theirs


@pytest.mark.parametrize("lengths", [[4, 1, 6], [3], [2, 0, 5], [0, 0]])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("kind", [BiLSTM, BiGRU])
def test_each_sentence_is_read_as_if_it_were_alone(kind: type[BiRNN], layers: int, lengths: list[int]) -> None:
    ours = kind(WIDTH, HIDDEN, layers=layers, dropout=0.5).eval()
    theirs = torchs_own(ours, layers)
    x, counts = padded(lengths)
    found = ours(x, counts)
    assert found.shape == (len(lengths), max(lengths), 2 * HIDDEN)
    for row, length in enumerate(lengths):
        if length:
            torch.testing.assert_close(found[row, :length], theirs(x[row : row + 1, :length])[0][0])
        assert not found[row, length:].any()


@pytest.mark.parametrize("kind", [BiLSTM, BiGRU])
def test_padding_has_no_gradient(kind: type[BiRNN]) -> None:
    x, counts = padded([3, 5])
    x.requires_grad_()
    kind(WIDTH, HIDDEN)(x, counts).square().sum().backward()
    assert x.grad is not None
    assert x.grad[0, :3].all() and not x.grad[0, 3:].any()


def test_two_new_lstms_on_top_of_each_other_tell_sentences_apart() -> None:
    """With PyTorch's own start what they say of two sentences differs half as much, and learning begins late."""
    torch.manual_seed(0)
    x, lengths = torch.randn(50, 12, 100), torch.full((50,), 12)
    with torch.no_grad():
        said = BiLSTM(200, 100)(BiLSTM(100, 100)(x, lengths), lengths)
    assert float(said.std(dim=0).mean()) > 0.06


def test_a_new_lstm_remembers() -> None:
    layer = BiLSTM(WIDTH, HIDDEN).from_left[0]
    forget = (layer.bias_ih_l0 + layer.bias_hh_l0).detach()[HIDDEN : 2 * HIDDEN]
    assert forget.tolist() == [1.0] * HIDDEN
