"""The spans of a document that may be mentions: all candidates, and the few that are kept."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def candidate_spans(sentences: Tensor, widest: int) -> tuple[Tensor, Tensor]:
    """Sentence lengths [K] → first and last token of every span of up to ``widest`` tokens in a sentence, [S] each."""
    ends = torch.repeat_interleave(sentences.cumsum(0), sentences)  # [N] where each token's sentence ends
    starts = torch.arange(len(ends), device=sentences.device)
    lasts = starts[:, None] + torch.arange(widest, device=sentences.device)  # [N, widest]
    inside = lasts < ends[:, None]
    return starts[:, None].expand_as(lasts)[inside], lasts[inside]


def keep_spans(starts: Sequence[int], lasts: Sequence[int], order: Sequence[int], most: int) -> list[int]:
    """The first ``most`` spans, in the ``order`` of their scores, that cross no span kept before.

    Two spans cross if they share tokens and neither lies in the other.
    """
    latest: dict[int, int] = {}  # first token of a kept span → its furthest last token
    earliest: dict[int, int] = {}  # last token of a kept span → its furthest first token
    kept = list[int]()
    for number in order:
        if len(kept) == most:
            break
        start, last = starts[number], lasts[number]
        crosses = any(
            (place > start and latest.get(place, -1) > last) or (place < last and earliest.get(place, start) < start)
            for place in range(start, last + 1)
        )
        if not crosses:
            kept.append(number)
            latest[start] = max(latest.get(start, -1), last)
            earliest[last] = min(earliest.get(last, start), start)
    return kept


def head_vectors(scores: Tensor, x: Tensor, starts: Tensor, lasts: Tensor) -> Tensor:
    """Scores [N], vectors [N, F] → for each span the sum of its vectors, weighted by a softmax of its scores. [S, F]

    The sums of longer spans are computed from those of shorter ones, so the vectors of a span are never gathered.
    """
    count = len(x)
    widest = int((lasts - starts).max()) + 1
    largest, total, weighted = scores, torch.ones_like(scores), x  # for spans of one token
    sums = [weighted]
    for width in range(2, widest + 1):
        rows = count - width + 1
        new = scores[width - 1 :]
        larger = torch.maximum(largest[:rows], new)
        old_share, new_share = torch.exp(largest[:rows] - larger), torch.exp(new - larger)
        total = total[:rows] * old_share + new_share
        weighted = weighted[:rows] * old_share[:, None] + x[width - 1 :] * new_share[:, None]
        largest = larger
        sums.append(weighted / total[:, None])
    offsets = torch.tensor([0, *(len(part) for part in sums[:-1])], device=x.device).cumsum(0)
    return torch.cat(sums)[offsets[lasts - starts] + starts]


def distance_buckets(distances: Tensor) -> Tensor:
    """1, 2, 3, 4, 5–7, 8–15, 16–31, 32–63, 64 and more → 1 to 9"""
    bounds = torch.tensor([1, 2, 3, 4, 5, 8, 16, 32, 64], device=distances.device)
    return torch.bucketize(distances, bounds, right=True)
