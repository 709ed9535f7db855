"""How long measurements will take: what they should take, corrected by how long others of their kind took here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from polyseme.analysis.reproduce.measurement import Measurement, Shelf

#: Expected seconds that weigh as much as experience: a measurement of a moment says little about hours.
PRIOR, GROUP_PRIOR = 120.0, 20.0


@dataclass(frozen=True)
class Pace:
    """How much slower this machine is than expected, by group and over all."""

    groups: Mapping[str, float]
    overall: float = 1.0

    @classmethod
    def of(cls, measurements: Iterable[Measurement], shelf: Shelf) -> Pace:
        """From those that are done."""
        expected, took = defaultdict[str, float](float), defaultdict[str, float](float)
        for one in measurements:
            if (record := shelf.record(one)) is not None:
                expected[one.group] += one.seconds
                took[one.group] += record["seconds"]
        overall = (sum(took.values()) + PRIOR) / (sum(expected.values()) + PRIOR)
        groups = {group: (took[group] + GROUP_PRIOR * overall) / (expected[group] + GROUP_PRIOR) for group in expected}
        return cls(groups, overall)

    def seconds(self, measurements: Iterable[Measurement]) -> float:
        return sum(one.seconds * self.groups.get(one.group, self.overall) for one in measurements)


def shown_time(seconds: float) -> str:
    """ "40 s", "12 min", "3.5 h", "2.1 days" """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"
