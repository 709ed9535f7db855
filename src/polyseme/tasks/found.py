"""What a network found, with how sure it is of it: equal to the same label or span of a file.

So scores, files and JSON take them for what they are, and a record can say the confidence.
"""

from __future__ import annotations

from polyseme.tasks.spans import Span


class FoundLabel(str):
    """A label and its probability."""

    confidence: float

    @classmethod
    def of(cls, label: str, confidence: float) -> FoundLabel:
        found = cls(label)
        found.confidence = round(confidence, 4)
        return found


class FoundSpan(Span):
    """A span and the probability of the least certain of its tags."""

    confidence: float

    @classmethod
    def of(cls, span: Span, confidences: list[float]) -> FoundSpan:
        """``confidences`` are those of the tags of the whole sentence."""
        found = cls(*span)
        found.confidence = round(min(confidences[span.start : span.end]), 4)
        return found


def sure(found: object) -> dict[str, float]:
    """What a record says of it; nothing where it does not come from a network."""
    confidence = getattr(found, "confidence", None)
    return {} if confidence is None else {"confidence": confidence}
