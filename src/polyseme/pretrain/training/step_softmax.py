"""The softmax of one training step: over all words (full or adaptive), or over targets and sampled negatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from polyseme.nn.adaptive import Clusters, adaptive_loss
from polyseme.nn.softmax import Negatives, full_loss, sampled_loss


@dataclass(frozen=True, slots=True)
class StepSoftmax:
    """The softmax of one step: the rows it uses, and the negatives of each direction (None: all words)."""

    rows: Tensor  # [Q] word ids, increasing
    negatives: tuple[Negatives, ...] | None
    words: int  # V
    cutoffs: tuple[int, ...] = ()  #: of an adaptive softmax

    def loss(self, direction: int, h: Tensor, rows: Sequence[Tensor], targets: Tensor) -> Tensor:
        """Summed loss of [R, D] outputs against [R] word ids.

        ``rows`` are the weight and bias of the rows of this step, then those of the clusters, if there are any.
        """
        weight, bias, *clusters = rows
        if self.cutoffs:
            return adaptive_loss(h, weight, bias, Clusters(self.cutoffs, *clusters), targets)
        if self.negatives is None:
            return full_loss(h, weight, bias, targets)
        negatives = self.negatives[direction]
        corrections = (
            negatives.log_expected_count(targets, self.words).to(h),
            negatives.log_expected_count(negatives.ids, self.words).to(h),
        )
        here = torch.searchsorted(self.rows, targets), torch.searchsorted(self.rows, negatives.ids)
        return sampled_loss(h, weight, bias, *here, corrections)


def full_softmax(words: int, cutoffs: tuple[int, ...] = (), device: torch.device | None = None) -> StepSoftmax:
    """The softmax over all words; with ``cutoffs``, an adaptive one."""
    return StepSoftmax(torch.arange(words, device=device), None, words, cutoffs)


def sampled_softmax(words: int, targets: Tensor, negatives: tuple[Negatives, ...]) -> StepSoftmax:
    """The softmax over the targets of the whole step and the negatives of each direction, on the targets' device."""
    negatives = tuple(n.to(targets.device) for n in negatives)
    return StepSoftmax(torch.unique(torch.cat([targets, *(n.ids for n in negatives)])), negatives, words)
