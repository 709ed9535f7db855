"""Roles as tags, one for each token: O, and for every role B at its first token and I at the others.

    tag 0 is O, tag 1 + 2r is B of role r, tag 2 + 2r is I of role r

The best tags of a sentence are those with the largest product of probabilities in which I never stands without its B.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from polyseme.tasks.srl_data import RoleSpan


def count_tags(roles: Sequence[str]) -> int:
    return 1 + 2 * len(roles)


def spans_to_tags(spans: Sequence[RoleSpan], roles: Sequence[str], count: int) -> list[int]:
    """The tags of ``count`` tokens; a role that is not in ``roles`` is left out."""
    tags = [0] * count
    for span in spans:
        if span.role in roles:
            begin = 1 + 2 * roles.index(span.role)
            tags[span.start : span.end] = [begin, *([begin + 1] * (span.end - span.start - 1))]
    return tags


def tags_to_spans(tags: Sequence[int], roles: Sequence[str]) -> tuple[RoleSpan, ...]:
    """The spans of tags in which every I stands behind its B or I."""
    spans, start = list[RoleSpan](), 0
    for place, tag in enumerate(tags):
        if tag % 2:
            start = place
        is_last = place + 1 == len(tags) or tags[place + 1] == 0 or tags[place + 1] % 2 == 1
        if tag and is_last:
            spans.append(RoleSpan(start, place + 1, roles[(tag - 1) // 2]))
    return tuple(spans)


def best_tags(scores: Tensor, lengths: Tensor) -> list[list[int]]:
    """Scores [B, N, tags] (log-probabilities), lengths [B] → the best allowed tags of each sentence (Viterbi).

    Only I is restricted, to its own B and I; so a step needs one maximum over all tags and one over each pair.
    """
    batch, count, tags = scores.shape
    if count == 0:
        return [[] for _ in range(batch)]
    rows = torch.arange(batch, device=scores.device)
    best = scores[:, 0].clone()
    best[:, 2::2] = -torch.inf  # no sentence begins with I
    from_where = []
    for place in range(1, count):
        top, arg = best.max(dim=1, keepdim=True)  # [B, 1]
        source = arg.expand(batch, tags).clone()
        reached = top.expand(batch, tags).clone()
        begin, inside = best[:, 1::2], best[:, 2::2]
        reached[:, 2::2] = torch.maximum(begin, inside)
        numbers = torch.arange(1, tags, 2, device=scores.device)
        source[:, 2::2] = torch.where(begin >= inside, numbers, numbers + 1)
        on = (place < lengths)[:, None]  # a sentence that has ended stays where it is
        best = torch.where(on, reached + scores[:, place], best)
        from_where.append(torch.where(on, source, torch.arange(tags, device=scores.device)))
    tag = best.argmax(dim=1)
    path = [tag]
    for source in reversed(from_where):
        tag = source[rows, tag]
        path.append(tag)
    found = torch.stack(path[::-1], dim=1).tolist()
    return [row[:length] for row, length in zip(found, lengths.tolist(), strict=True)]
