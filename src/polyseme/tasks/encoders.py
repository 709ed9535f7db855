"""Parts that several task networks are built of."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class BiLSTM(nn.Module):
    """Bidirectional LSTM layers over sentences of different lengths; padding is never read."""

    def __init__(self, width: int, hidden: int, *, layers: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        self.lstm = nn.LSTM(
            width, hidden, layers, batch_first=True, bidirectional=True, dropout=dropout if layers > 1 else 0.0
        )
        self.width = 2 * hidden

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """[B, N, width in] and [B] → [B, N, 2 hidden], zeros where no token stands"""
        if x.shape[1] == 0:
            return x.new_zeros(x.shape[0], 0, self.width)
        whole = lengths.cpu().clamp(min=1)  # a sentence without tokens is read as one of padding, and masked below
        packed = pack_padded_sequence(x, whole, batch_first=True, enforce_sorted=False)
        out, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=x.shape[1])
        if whole.equal(lengths.cpu()):
            return out
        return out * (lengths > 0).to(x.device)[:, None, None]


class VariationalDropout(nn.Module):
    """Dropout that leaves out the same numbers of every token of a sentence."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        """[B, N, D] → [B, N, D]"""
        if not self.training or self.share == 0:
            return x
        kept = torch.empty(x.shape[0], 1, x.shape[2], device=x.device).bernoulli_(1 - self.share)
        return x * (kept / (1 - self.share))
