"""Scores over several seeds: how they are written, and whether one is better than another."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any, Literal

NONE = "–"
#: "even" and "close" are differences too small to count, "equal" is no difference at all.
Verdict = Literal["yes", "no", "even", "close", "equal"]
#: By how much two seeds may differ: the standard deviation over the three seeds of NER is about 0.6.
POINT = 1.0


def row_of(figures: Mapping[str, Any], task: str) -> Mapping[str, Any]:
    """The figures of a task; empty if it was skipped or is missing."""
    row: Mapping[str, Any] = figures.get(task) or {}
    return {} if "missing" in row else row


def done(runs: Any) -> list[Mapping[str, Any]]:
    """The runs that have a result."""
    return [run for run in runs or () if run and "score" in run]


def scores(runs: Any, split: str = "dev") -> list[float]:
    """The score of each run that was scored on the split."""
    if split == "dev":
        return [run["score"] for run in done(runs)]
    return [run[split]["score"] for run in done(runs) if split in run]


def mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def means_of(rows: Sequence[Sequence[float]]) -> list[float]:
    """The mean of each column."""
    return [fmean(column) for column in zip(*rows, strict=True)]


def standard_deviation(values: Sequence[float]) -> float | None:
    """The standard deviation, if there are at least two values."""
    return stdev(values) if len(values) > 1 else None


def shown(values: Sequence[float], digits: int = 2) -> str:
    """ "84.12 ± 0.35"; without ± for one seed."""
    if not values:
        return NONE
    deviation = standard_deviation(values)
    return f"{fmean(values):.{digits}f}" + (f" ± {deviation:.{digits}f}" if deviation is not None else "")


def plain(value: float | None, digits: int = 1) -> str:
    return NONE if value is None else f"{value:.{digits}f}"


def is_better(first: Sequence[float], second: Sequence[float]) -> Verdict | None:
    """Whether the first scores are higher; None if unknown.

    "even" if the seeds of one side differ by more than the two means; "close" if a side has only one seed, so that its
    spread is unknown, and the means are within a point.
    """
    if not first or not second:
        return None
    difference = fmean(first) - fmean(second)
    if difference == 0:
        return "equal"
    if abs(difference) < max(standard_deviation(first) or 0.0, standard_deviation(second) or 0.0):
        return "even"
    if abs(difference) < POINT and 1 in (len(first), len(second)):
        return "close"
    return "yes" if difference > 0 else "no"


def compare(claim: str, pairs: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> str | None:
    """A claim that the first scores of each pair are higher: for which rows it holds, and which have one seed."""
    verdicts = {name: is_better(*pair) for name, pair in pairs.items()}
    decided = (name for name, verdict in verdicts.items() if verdict in ("yes", "no"))
    return tally(claim, verdicts, one_seed=[name for name in decided if any(len(side) == 1 for side in pairs[name])])


def tally(
    claim: str,
    found: Mapping[str, Verdict | None],
    *,
    even: str = "within the spread of the seeds",
    one_seed: Collection[str] = (),
) -> str | None:
    """A claim of the paper, and for which of our rows it holds; None if there is nothing to say yet."""
    judged = {name: verdict for name, verdict in found.items() if verdict is not None}
    if not judged:
        return None
    holding = sum(verdict == "yes" for verdict in judged.values())
    failing = set(judged.values()) == {"no"}
    titles = {"even": f"{even} for", "close": "within a point with one seed for", "equal": "equal for"}
    titles |= {} if failing else {"no": "not for"}
    remarks = [
        f"{titles[verdict]} {', '.join(names)}"
        for verdict in ("no", "even", "close", "equal")
        if verdict in titles and (names := [name for name, one in judged.items() if one == verdict])
    ]
    if one_seed:
        remarks.append("one seed" if len(one_seed) == len(judged) else f"one seed for {', '.join(one_seed)}")
    count = f"{claim}: here {holding or 'none'} of {len(judged)}"
    return count + (f" ({'; '.join(remarks)})." if remarks else ".")


def finding(claim: str, difference: float | None) -> str | None:
    """A claim that one figure is higher than another, and our difference; None if one is missing."""
    if difference is None:
        return None
    return f"{claim}: {'equal here' if round(difference, 1) == 0 else f'here {signed(difference)}'}."


def signed(difference: float) -> str:
    """ "+0.7", "−0.7" """
    return f"{difference:+.1f}".replace("-", "−")


def absent(figures: Mapping[str, Any], titles: Mapping[str, str]) -> list[str]:
    """Lines about rows that were skipped, and about runs that failed."""
    lines = []
    for name, row in figures.items():
        if isinstance(row, Mapping) and "missing" in row:
            lines.append(f"{titles.get(name, name)} was skipped: {row['missing']}.")
        for sentence in dict.fromkeys(failures(row)):
            lines.append(f"{titles.get(name, name)}: a run failed: {sentence}.")
    return lines


def failures(tree: Any) -> list[str]:
    """The messages of all failures in a tree of figures."""
    if isinstance(tree, Mapping):
        if isinstance(tree.get("failed"), str):
            return [tree["failed"]]
        return [line for branch in tree.values() for line in failures(branch)]
    return [line for branch in tree for line in failures(branch)] if isinstance(tree, list) else []
