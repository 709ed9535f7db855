"""How long measurements will take: what they should take, corrected by how long others of their kind took here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from polyseme.reproduce.measurement import Measurement, Shelf

#: Expected seconds that weigh as much as experience: a measurement of a moment says little about hours.
PRIOR, GROUP_PRIOR = 120.0, 20.0


@dataclass(frozen=True)
class Pace:
    """How much slower this machine is than expected, by group, by kind and over all.

    The first word of a group is its kind: a task that was never trained here is as slow as the others, and not as the
    probes.
    """

    groups: Mapping[str, float]
    kinds: Mapping[str, float]
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
        kinds = {
            kind: _corrected(overall, _total(took, kind), _total(expected, kind)) for kind in {*map(_kind, expected)}
        }
        groups = {group: _corrected(kinds[_kind(group)], took[group], expected[group]) for group in expected}
        return cls(groups, kinds, overall)

    def seconds(self, measurements: Iterable[Measurement]) -> float:
        return sum(one.seconds * self._of_group(one.group) for one in measurements)

    def _of_group(self, group: str) -> float:
        return self.groups.get(group, self.kinds.get(_kind(group), self.overall))


def _kind(group: str) -> str:
    return group.partition(" ")[0]


def _total(seconds: Mapping[str, float], kind: str) -> float:
    return sum(found for group, found in seconds.items() if _kind(group) == kind)


def _corrected(pace: float, took: float, expected: float) -> float:
    """A pace that is expected, by how long things took."""
    return (took + GROUP_PRIOR * pace) / (expected + GROUP_PRIOR)


def shown_time(seconds: float) -> str:
    """ "40 s", "12 min", "3.5 h", "2.1 days" """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"
