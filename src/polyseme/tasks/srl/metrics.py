"""Span F1 of semantic roles, as the CoNLL-2005 scorer defines it.

An argument is correct if its role and all its tokens are. A continuation (C-A1) forms one argument with the last A1
before it; if there is none, it counts as an A1 itself. The predicate (V) is given, so it is not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from polyseme.tasks.spans import Span
from polyseme.tasks.srl.data import VERB

Argument = tuple[str, tuple[tuple[int, int], ...]]
_CONTINUATION = "C-"


class RoleScore(NamedTuple):
    """Numbers of arguments: predicted correctly, predicted, and gold."""

    correct: int
    predicted: int
    gold: int


def arguments(spans: Iterable[Span]) -> list[Argument]:
    """The arguments of a predicate, with pieces joined and without the predicate itself."""
    pieces = list[tuple[str, list[tuple[int, int]]]]()
    for span in sorted(spans, key=lambda span: span.start):
        role = span.label.removeprefix(_CONTINUATION)
        head = next((found for found in reversed(pieces) if found[0] == role), None)
        if span.label.startswith(_CONTINUATION) and head is not None:
            head[1].append((span.start, span.end))
        else:
            pieces.append((role, [(span.start, span.end)]))
    return [(role, tuple(places)) for role, places in pieces if role != VERB]


def score_roles(
    predicted: Sequence[Iterable[Span]], gold: Sequence[Iterable[Span]]
) -> tuple[RoleScore, dict[str, RoleScore]]:
    """Predicted and gold frames in the same order → (score over all roles, score of each role)."""
    correct, found, right = Counter[str](), Counter[str](), Counter[str]()
    for ours, theirs in zip(predicted, gold, strict=True):
        our_arguments, their_arguments = arguments(ours), arguments(theirs)
        found.update(role for role, _ in our_arguments)
        right.update(role for role, _ in their_arguments)
        both = Counter(our_arguments) & Counter(their_arguments)
        for (role, _), count in both.items():
            correct[role] += count
    roles = {role: RoleScore(correct[role], found[role], right[role]) for role in sorted(found | right)}
    return RoleScore(correct.total(), found.total(), right.total()), roles
