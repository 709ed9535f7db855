"""A softmax in two steps, for large vocabularies (Grave et al., 2017): first a frequent word or a cluster of rare
ones, then the word within its cluster.

    words    0 … c1 − 1        c1 … c2 − 1       c2 … V − 1
             the head          cluster 0         cluster 1             cutoffs = (c1, c2)

    p(w) = p_head(w)                            for a word of the head
    p(w) = p_head(cluster) · p(w | cluster)     for any other

It is exact, and cheap if most targets are frequent: a cluster is computed only for the targets in it. Every word keeps
a row of the full width, so a flat and an adaptive softmax differ only in the clusters.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True, slots=True)
class Clusters:
    """Where each cluster begins, and the head's weights for each cluster."""

    cutoffs: tuple[int, ...]  #: first word of each cluster
    weight: Tensor  # [clusters, D]
    bias: Tensor  # [clusters]

    def bounds(self, words: int) -> list[tuple[int, int]]:
        """[first word, end) of each cluster."""
        return list(zip(self.cutoffs, (*self.cutoffs[1:], words), strict=True))


def head_logits(h: Tensor, weight: Tensor, bias: Tensor, clusters: Clusters) -> Tensor:
    """[R, D] outputs → [R, head + clusters]"""
    first = clusters.cutoffs[0]
    words = torch.addmm(bias[:first], h, weight[:first].t())
    return torch.cat([words, torch.addmm(clusters.bias, h, clusters.weight.t())], dim=1)


def adaptive_loss(h: Tensor, weight: Tensor, bias: Tensor, clusters: Clusters, targets: Tensor) -> Tensor:
    """Summed cross entropy of [R, D] outputs against [R] word ids."""
    first = clusters.cutoffs[0]
    bounds = clusters.bounds(len(weight))
    choice = targets.clone()
    for number, (start, stop) in enumerate(bounds):
        choice[(targets >= start) & (targets < stop)] = first + number
    loss = F.cross_entropy(head_logits(h, weight, bias, clusters), choice, reduction="sum")
    for start, stop in bounds:
        rows = ((targets >= start) & (targets < stop)).nonzero()[:, 0]
        logits = torch.addmm(bias[start:stop], h[rows], weight[start:stop].t())  # [r, words of the cluster]
        loss = loss + F.cross_entropy(logits, targets[rows] - start, reduction="sum")
    return loss


@torch.no_grad()
def adaptive_log_probabilities(h: Tensor, weight: Tensor, bias: Tensor, clusters: Clusters) -> Tensor:
    """[R, D] outputs → [R, V] ln p of every word."""
    first = clusters.cutoffs[0]
    head = torch.log_softmax(head_logits(h, weight, bias, clusters), dim=1)
    parts = [head[:, :first]]
    for number, (start, stop) in enumerate(clusters.bounds(len(weight))):
        within = torch.log_softmax(torch.addmm(bias[start:stop], h, weight[start:stop].t()), dim=1)
        parts.append(head[:, first + number, None] + within)
    return torch.cat(parts, dim=1)
