"""The scores of a model: the main metric, others beside it, and the same for each class. All in percent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.errors import MissingExtra
from polyseme.jobs.atomic import replace_when_complete

Floats = npt.NDArray[np.float64]

#: A picture of more classes could not be read; the most frequent ones are shown.
LARGEST_PICTURE = 40


@dataclass(frozen=True, slots=True)
class Confusion:
    """How often gold class ``labels[i]`` was predicted as ``labels[j]``: ``counts[i][j]``."""

    labels: list[str]
    counts: list[list[int]]

    @classmethod
    def of(cls, gold: Sequence[str], predicted: Sequence[str]) -> Confusion:
        pairs = Counter(zip(gold, predicted, strict=True))
        labels = sorted({label for pair in pairs for label in pair})
        return cls(labels, [[pairs[a, b] for b in labels] for a in labels])


@dataclass(frozen=True, slots=True)
class Scores:
    """``values`` by name, ``classes`` by class and name, in percent; counts are called "support"."""

    values: dict[str, float]
    classes: dict[str, dict[str, float]] = field(default_factory=dict)
    confusion: Confusion | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def precision_recall_f1(right: int, predicted: int, gold: int) -> dict[str, float]:
    """Precision, recall and F1 in percent; 0 if nothing was predicted, or there was nothing to find."""
    precision = 100 * right / predicted if predicted else 0.0
    recall = 100 * right / gold if gold else 0.0
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    return {"precision": precision, "recall": recall, "f1": f1, "support": gold}


def f1_of(sums: Floats) -> Floats:
    """Sums of (right, predicted, gold) [..., 3] → F1 in percent [...]"""
    right, predicted, gold = np.moveaxis(sums, -1, 0)
    f1: Floats = 200 * right / np.maximum(predicted + gold, 1)
    return f1


def span_tally(predicted: Iterable[Any], gold: Iterable[Any]) -> tuple[float, ...]:
    """(right, predicted, gold) of one example."""
    found, there = set(predicted), set(gold)
    return len(found & there), len(found), len(there)


def label_scores(gold: Sequence[str], predicted: Sequence[str]) -> Scores:
    """Accuracy over all labels; precision, recall and F1 of each label; and the confusion matrix."""
    right = Counter(a for a, b in zip(gold, predicted, strict=True) if a == b)
    gold_counts, predicted_counts = Counter(gold), Counter(predicted)
    classes = {
        label: precision_recall_f1(right[label], predicted_counts[label], gold_counts[label])
        for label in sorted({*gold_counts, *predicted_counts})
    }
    accuracy = 100 * right.total() / len(gold) if gold else 0.0
    return Scores({"accuracy": accuracy}, classes, Confusion.of(gold, predicted))


def draw_confusion(confusion: Confusion, path: Path, title: str) -> None:
    """The matrix as a PNG: gold classes down, predicted across, each row coloured by its shares."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise MissingExtra("the picture of a confusion matrix", "tasks") from None
    counts = np.array(confusion.counts, dtype=np.int64).reshape(len(confusion.labels), len(confusion.labels))
    order = np.argsort(-(counts.sum(axis=0) + counts.sum(axis=1)), kind="stable")[:LARGEST_PICTURE]
    kept = sorted(order.tolist())
    counts = counts[np.ix_(kept, kept)]
    labels = [confusion.labels[number] for number in kept]
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    side = max(3.5, 0.36 * len(labels) + 1.5)
    figure = Figure(figsize=(side, side), layout="constrained")
    axes = figure.subplots()
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    axes.set_xticks(range(len(labels)), labels, rotation=90)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_xlabel("predicted")
    axes.set_ylabel("gold")
    axes.set_title(title)
    for row, column in np.argwhere(counts > 0).tolist():
        colour = "white" if shares[row, column] > 0.5 else "black"
        axes.text(column, row, f"{counts[row, column]}", ha="center", va="center", fontsize=7, color=colour)
    with replace_when_complete(path) as file:
        figure.savefig(file, dpi=130, format="png")
