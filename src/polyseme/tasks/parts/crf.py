"""Linear-chain conditional random field: the probability of a whole sequence of tags, and the best one.

    score(y | x) = start[y1] + Σ emissions[n, yn] + Σ transitions[y(n-1), yn] + end[yN]
    log p(y | x) = score(y | x) - log Σ over allowed y' of exp score(y' | x)

Sequences that the tag scheme forbids have probability 0, both in training and in decoding.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from polyseme.tasks.spans import Scheme, may_end, may_follow, may_start

#: Added to forbidden scores: far below every real score, and finite, so that no gradient becomes inf - inf.
FORBIDDEN = -1e4


class CRF(nn.Module):
    """Scores of neighbouring tags. ``allowed``, ``start`` and ``end`` are True where the scheme allows it."""

    forbidden: Tensor
    forbidden_start: Tensor
    forbidden_end: Tensor

    def __init__(self, allowed: Tensor, start: Tensor, end: Tensor) -> None:
        """[K, K] from, to; [K]; [K], all bool"""
        super().__init__()
        count = len(start)
        self.transitions = nn.Parameter(torch.zeros(count, count))  # [K, K] from, to
        self.start = nn.Parameter(torch.zeros(count))
        self.end = nn.Parameter(torch.zeros(count))
        for name, mask in (("forbidden", allowed), ("forbidden_start", start), ("forbidden_end", end)):
            self.register_buffer(name, torch.where(mask, 0.0, FORBIDDEN), persistent=False)

    @classmethod
    def of(cls, tags: list[str], scheme: Scheme) -> CRF:
        """A CRF for these tags and their scheme."""
        allowed = torch.tensor([[may_follow(a, b, scheme) for b in tags] for a in tags])
        return cls(
            allowed,
            torch.tensor([may_start(tag, scheme) for tag in tags]),
            torch.tensor([may_end(tag, scheme) for tag in tags]),
        )

    def forward(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """[B, N, K], [B, N], [B, N] → -log p of each sequence. [B]"""
        return self._normaliser(emissions, mask) - self._score(emissions, tags, mask)

    def _score(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        start, transitions, end = self._tables()
        if emissions.shape[1] == 0:
            return emissions.new_zeros(len(emissions))
        here = mask.to(emissions.dtype)
        emitted = (emissions.gather(2, tags[:, :, None])[:, :, 0] * here).sum(dim=1)
        moved = (transitions[tags[:, :-1], tags[:, 1:]] * here[:, 1:]).sum(dim=1)
        last = tags.gather(1, (mask.sum(dim=1, keepdim=True) - 1).clamp(min=0))[:, 0]
        return (emitted + moved + start[tags[:, 0]] + end[last]) * mask[:, 0]

    def _normaliser(self, emissions: Tensor, mask: Tensor) -> Tensor:
        start, transitions, end = self._tables()
        if emissions.shape[1] == 0:
            return emissions.new_zeros(len(emissions))
        reached = start + emissions[:, 0]  # [B, K] log sum over all paths to each tag
        for n in range(1, emissions.shape[1]):
            stepped = torch.logsumexp(reached[:, :, None] + transitions, dim=1) + emissions[:, n]
            reached = torch.where(mask[:, n, None], stepped, reached)
        return torch.logsumexp(reached + end, dim=1) * mask[:, 0]

    def marginals(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """The marginal probability of each tag at each position. [B, N, K]

        They are the derivatives of the normaliser, so no backward pass over the sentence has to be written.
        """
        with torch.enable_grad():
            given = emissions.detach().requires_grad_()
            (found,) = torch.autograd.grad(self._normaliser(given, mask).sum(), given)
        return found

    @torch.no_grad()
    def best(self, emissions: Tensor, mask: Tensor) -> list[list[int]]:
        """The likeliest allowed sequence of each sentence (Viterbi)."""
        start, transitions, end = self._tables()
        lengths = mask.sum(dim=1).tolist()
        if emissions.shape[1] == 0:
            return [[] for _ in lengths]
        reached = start + emissions[:, 0]  # [B, K]
        came_from = []
        for n in range(1, emissions.shape[1]):
            best, origin = (reached[:, :, None] + transitions).max(dim=1)  # [B, K] each
            came_from.append(origin)
            reached = torch.where(mask[:, n, None], best + emissions[:, n], reached)
        last = (reached + end).argmax(dim=1).tolist()
        back = torch.stack(came_from).tolist() if came_from else []  # [N-1, B, K]
        return [_trace(back, row, tag, length) for row, (tag, length) in enumerate(zip(last, lengths, strict=True))]

    def _tables(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.start + self.forbidden_start, self.transitions + self.forbidden, self.end + self.forbidden_end


def _trace(came_from: list[list[list[int]]], row: int, last: int, length: int) -> list[int]:
    if length == 0:
        return []
    path = [last]
    for n in range(length - 2, -1, -1):
        path.append(came_from[n][row][path[-1]])
    return path[::-1]
