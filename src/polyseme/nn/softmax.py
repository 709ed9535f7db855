"""The output layer of the language model, shared by both directions, and its training losses.

``full_loss`` is the cross entropy over all words. ``sampled_loss`` compares each target with a few words drawn from
a log-uniform distribution (words are sorted by frequency), corrected so that its minimum is that of the full loss:

    p(k) = ln((k + 2) / (k + 1)) / ln(V + 1)         drawn until S distinct words are found, after some ``tries``
    E(k) = 1 − (1 − p(k))^tries                      the probability that word k is among them
    logit(k) − ln E(k)                               replaces the logit

Both losses compute their gradients in the forward pass, in blocks of rows, so that the logits of a batch are never
all in memory at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from polyseme.formats.model import ClusterWeights, SoftmaxWeights
from polyseme.nn.adaptive import Clusters, adaptive_log_probabilities
from polyseme.nn.numpy_weights import array_of, tensors_of
from polyseme.nn.precision import Products
from polyseme.nn.training_kernel import sampled_softmax, takes_negatives, training_kernel

#: Logits in memory at once in training: 4 MB, which stay in the cache.
BLOCK_LOGITS = 1 << 20
#: The same in evaluation, over all words, where few rows at a time would be slow.
EVALUATION_LOGITS = 1 << 23


class Softmax(nn.Module):
    """One row of weights and one bias per word; with ``cutoffs``, an adaptive softmax and its clusters."""

    def __init__(self, words: int, size: int, cutoffs: tuple[int, ...] = ()) -> None:
        super().__init__()
        self.cutoffs = cutoffs
        self.weight = nn.Parameter(torch.empty(words, size))  # [V, D]
        self.bias = nn.Parameter(torch.zeros(words))  # [V]
        nn.init.normal_(self.weight, std=1 / math.sqrt(size))
        if cutoffs:
            self.cluster_weight = nn.Parameter(torch.empty(len(cutoffs), size))  # [clusters, D]
            self.cluster_bias = nn.Parameter(torch.zeros(len(cutoffs)))  # [clusters]
            nn.init.normal_(self.cluster_weight, std=1 / math.sqrt(size))

    @classmethod
    def of(cls, weights: SoftmaxWeights) -> Softmax:
        """A softmax to train, with these weights."""
        clusters = weights.clusters
        words, size = weights.weight.shape
        softmax = cls(words, size, clusters.cutoffs if clusters else ())
        state = {"weight": weights.weight, "bias": weights.bias}
        if clusters:
            state |= {"cluster_weight": clusters.weight, "cluster_bias": clusters.bias}
        softmax.load_state_dict(tensors_of(state))
        return softmax

    def cluster_parameters(self) -> list[nn.Parameter]:
        """Weight and bias of the clusters, if there are any."""
        return [self.cluster_weight, self.cluster_bias] if self.cutoffs else []

    def clusters(self) -> Clusters | None:
        """The head's weights for the clusters, if there are any."""
        return Clusters(self.cutoffs, self.cluster_weight, self.cluster_bias) if self.cutoffs else None

    def weights(self, weight: Tensor | None = None) -> SoftmaxWeights:
        """A copy of the current weights; ``weight`` replaces the rows if another part of the network holds them."""
        clusters = None
        if self.cutoffs:
            clusters = ClusterWeights(self.cutoffs, array_of(self.cluster_weight), array_of(self.cluster_bias))
        return SoftmaxWeights(array_of(self.weight if weight is None else weight), array_of(self.bias), clusters)


@torch.no_grad()
def log_probabilities(h: Tensor, weight: Tensor, bias: Tensor, clusters: Clusters | None = None) -> Tensor:
    """[R, D] top outputs of one direction → [R, V] ln p of every word."""
    if clusters is not None:
        return adaptive_log_probabilities(h, weight, bias, clusters)
    return torch.log_softmax(torch.addmm(bias, h, weight.t()), dim=1)


@torch.no_grad()
def target_log_probabilities(
    h: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, clusters: Clusters | None = None
) -> Tensor:
    """[R, D] top outputs, [R] word ids → [R] ln p of each target, in blocks of rows."""
    found = h.new_empty(len(h))
    for rows in _blocks(len(h), len(weight), EVALUATION_LOGITS):
        found[rows] = log_probabilities(h[rows], weight, bias, clusters).gather(1, targets[rows, None])[:, 0]
    return found


@dataclass(frozen=True, slots=True)
class Negatives:
    """Distinct words, in increasing order, and the number of draws it took to find them."""

    ids: Tensor  # [S]
    tries: int

    def to(self, device: torch.device) -> Negatives:
        """The negatives on another device."""
        return Negatives(self.ids.to(device), self.tries)

    def log_expected_count(self, ids: Tensor, words: int) -> Tensor:
        """ln E of each id, in float32. Computed in float64: p is a difference of nearly equal logarithms."""
        p = torch.log1p(1 / (ids.double() + 1)) / math.log(words + 1)
        if self.tries == len(self.ids):
            return torch.log(p * self.tries).float()
        return torch.log(-torch.expm1(self.tries * torch.log1p(-p))).float()


def draw_negatives(words: int, count: int, random: np.random.Generator) -> Negatives:
    """``count`` distinct ids below ``words``, small ids most often, by rejection."""
    if not 0 < count <= words:
        raise ValueError(f"{count} distinct negatives cannot be drawn from {words} words")
    drawn = np.empty(0, dtype=np.int64)
    while True:
        fresh = np.exp(random.random(2 * count) * math.log(words + 1)).astype(np.int64) - 1
        drawn = np.concatenate([drawn, np.minimum(fresh, words - 1)])
        ids, first = np.unique(drawn, return_index=True)
        if len(ids) >= count:
            tries = int(np.sort(first)[count - 1]) + 1  # the draw that found the last distinct word
            return Negatives(torch.from_numpy(ids[first < tries]), tries)


def full_loss(h: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Summed cross entropy of [R, D] outputs against [R] word ids, over all V words."""
    products = Products.of(h)
    with products.by_hand():
        loss: Tensor = _FullLoss.apply(h, weight, bias, targets, products)  # type: ignore[no-untyped-call]
    return loss


def sampled_loss(
    h: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, negatives: Tensor, corrections: tuple[Tensor, Tensor]
) -> Tensor:
    """Summed cross entropy of [R, D] outputs against the target and S negatives.

    ``targets`` [R] and ``negatives`` [S] (increasing) are rows of ``weight`` and ``bias``, which need only hold the
    words of this step; ``corrections`` are their ln E. A negative that equals a row's target is ignored in that row.
    """
    products = Products.of(h)
    with products.by_hand():
        loss: Tensor = _SampledLoss.apply(  # type: ignore[no-untyped-call]
            h, weight, bias, targets, negatives, *corrections, products
        )
    return loss


class _FullLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, products: Products) -> Tensor:
        grad_h, grad_weight, grad_bias = torch.empty_like(h), torch.zeros_like(weight), torch.zeros_like(bias)
        loss = h.new_zeros((), dtype=torch.float64)
        for rows in _blocks(len(h), len(weight)):
            target = targets[rows, None]  # [r, 1]
            logits = products.plus(bias, h[rows], weight.t())  # [r, V]
            log_p = torch.log_softmax(logits, dim=1)
            loss -= log_p.gather(1, target).sum(dtype=torch.float64)
            p = log_p.exp_()
            p.scatter_add_(1, target, p.new_full((1, 1), -1.0).expand_as(target))  # d loss / d logits
            products.times(p, weight, out=grad_h[rows])
            products.add(grad_weight, p.t(), h[rows])
            grad_bias += p.sum(0)
        ctx.gradients = grad_h, grad_weight, grad_bias
        return loss.to(h.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return (*(g * grad for g in ctx.gradients), None, None)


class _SampledLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        weight: Tensor,
        bias: Tensor,
        targets: Tensor,
        negatives: Tensor,
        target_correction: Tensor,
        negative_correction: Tensor,
        products: Products,
    ) -> Tensor:
        negative_weight = weight[negatives]  # [S, D]
        negative_bias = bias[negatives] - negative_correction  # [S]
        target_weight = weight[targets]  # [R, D]
        target_logits = (h * target_weight).sum(1) + bias[targets] - target_correction  # [R]
        shared = h, negative_weight, negative_bias, target_logits, _accidental_hits(targets, negatives)
        kernel = training_kernel(h)
        if kernel is not None and takes_negatives(kernel, h.shape[1], len(negatives)):
            log_sums, grad_h, grad_negative_weight, grad_negative_bias = sampled_softmax(kernel, *shared)
        else:
            log_sums, grad_h, grad_negative_weight, grad_negative_bias = _against_negatives(*shared, products)
        grad_target = torch.exp(target_logits - log_sums) - 1  # [R] d loss / d target logit
        grad_h.addcmul_(target_weight, grad_target[:, None])
        grad_weight, grad_bias = torch.zeros_like(weight), torch.zeros_like(bias)
        grad_weight.index_add_(0, negatives, grad_negative_weight).index_add_(0, targets, h * grad_target[:, None])
        grad_bias.index_add_(0, negatives, grad_negative_bias).index_add_(0, targets, grad_target)
        ctx.gradients = grad_h, grad_weight, grad_bias
        return (log_sums - target_logits).sum(dtype=torch.float64).to(h.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return (*(g * grad for g in ctx.gradients), None, None, None, None, None)


def _against_negatives(
    h: Tensor, weight: Tensor, bias: Tensor, target_logits: Tensor, hits: Tensor, products: Products
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """ln of the sum over target and negatives [R]; the gradients of their total by h, weight and bias."""
    weight_t = weight.t().contiguous()  # [D, S]
    hit_rows = (hits >= 0).nonzero()[:, 0]
    grad_h, grad_weight, grad_bias = torch.empty_like(h), torch.zeros_like(weight), torch.zeros_like(bias)
    log_sums = torch.empty_like(target_logits)
    for rows in _blocks(len(h), len(bias)):
        logits = products.plus(bias, h[rows], weight_t)  # [r, S]
        here = hit_rows[(hit_rows >= rows.start) & (hit_rows < rows.stop)]
        logits[here - rows.start, hits[here]] = -torch.inf
        torch.logaddexp(torch.logsumexp(logits, dim=1), target_logits[rows], out=log_sums[rows])
        p = logits.sub_(log_sums[rows, None]).exp_()
        products.times(p, weight, out=grad_h[rows])
        products.add(grad_weight, p.t(), h[rows])
        grad_bias += p.sum(0)
    return log_sums, grad_h, grad_weight, grad_bias


def _accidental_hits(targets: Tensor, negatives: Tensor) -> Tensor:
    """For each row, the column of the negative that equals its target, or -1. [R]"""
    columns = torch.searchsorted(negatives, targets).clamp_(max=len(negatives) - 1)  # [R]
    return torch.where(negatives[columns] == targets, columns, -1)


def _blocks(rows: int, columns: int, logits: int = BLOCK_LOGITS) -> list[slice]:
    size = max(1, logits // max(1, columns))
    return [slice(start, min(start + size, rows)) for start in range(0, rows, size)]
