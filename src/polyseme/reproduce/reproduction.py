"""A reproduction from plan to report: missing results are measured, then everything is written.

    REPORT/report.html        everything on one page         REPORT/results/*.json    one measurement each
    REPORT/report.md, *.svg   the same for Markdown          REPORT/runs/             the task models
    REPORT/reproduction.json  all figures, from which          REPORT/index/            for Table 4, while it is made
                              the other two are made

A report belongs to one model and one budget. It may be made part by part, and stopped at any moment. The time that
measurements will take is their expected time, corrected by how long others of their kind took here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyseme.errors import InputError, JobError
from polyseme.jobs.atomic import exclusive
from polyseme.jobs.manifests import refuse_other
from polyseme.reproduce.bench import Bench
from polyseme.reproduce.measurement import Awaited, Measurement, Missing, Shelf, Tree, leaves
from polyseme.reproduce.plots import require_plots
from polyseme.reproduce.report import RESULTS, VERSION, belongings, read_results, report, write_report
from polyseme.reproduce.report_parts import PARTS, Choice
from polyseme.tasks.training import TaskWatch

#: The weight of the prior in seconds: a measurement that took a moment says little about hours.
PRIOR, GROUP_PRIOR = 120.0, 20.0


@dataclass(frozen=True)
class Pace:
    """How much slower this machine is than expected, by group, by kind and over all.

    The first word of a group is its kind: a task that was never trained here is expected to be as slow as other tasks,
    not as the probes.
    """

    groups: Mapping[str, float]
    kinds: Mapping[str, float]
    overall: float = 1.0

    @classmethod
    def of(cls, measurements: Iterable[Measurement], shelf: Shelf) -> Pace:
        """The pace from finished measurements."""
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
    """The expected pace, corrected by how long measurements took."""
    return (took + GROUP_PRIOR * pace) / (expected + GROUP_PRIOR)


def shown_time(seconds: float) -> str:
    """ "40 s", "12 min", "3.5 h", "2.1 days" """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"


@dataclass(frozen=True, slots=True)
class WantedPart:
    """What is done for a part, and what is left to do."""

    name: str
    todo: list[Measurement]
    later: int  #: measurements that are planned when others are there
    done: frozenset[str]  #: digests; parts share some
    missing: list[str]
    seconds: float


class Reproduction:
    """The plan of the chosen parts, and the existing figures of the others."""

    def __init__(self, bench: Bench, choice: Choice) -> None:
        self.bench = bench
        before = self._earlier()
        # Existing figures are kept unless their questions have changed: then their parts are planned again too.
        stays = all(before.get(name) == bench.describe().get(name) for name in ("questions", "cove"))
        self._choice = choice
        self._planned = [name for name in PARTS if name in choice.names or (before and not stays)]
        self.kept = {name: part for name, part in before.get("parts", {}).items() if name not in self._planned}
        self._plan()

    def _plan(self) -> None:
        """By what is measured so far: some runs depend on the results of trials."""
        self.trees: dict[str, Tree] = {name: PARTS[name].plan(self.bench) for name in self._planned}
        self.chosen = self._choice.of(self.trees)

    def _earlier(self) -> dict[str, Any]:
        """The report in the folder, if there is one."""
        try:
            return read_results(self.bench.out / RESULTS)
        except InputError:
            return {}  # ``estimate`` reports what is wrong with it

    def estimate(self) -> list[WantedPart]:
        """For each chosen part, what is left to do; shared work is counted for the first part that needs it.

        JobError if the folder has a report of another model or budget, since that could not be continued either.
        """
        self._refuse_other_figures()
        shelf, counted, found = self.bench.shelf, set[str](), []
        pace = Pace.of(self._measurements(), shelf)
        for name, tree in self.chosen.items():
            wanted = list(leaves(tree))
            own = {one.digest: one for one in wanted if isinstance(one, Measurement)}
            awaited = {one.like.digest: one.like for one in wanted if isinstance(one, Awaited)}
            done = frozenset(key for key, one in own.items() if shelf.record(one) is not None)
            todo = [one for key, one in own.items() if key not in counted | done]
            later = [one for key, one in awaited.items() if key not in counted]
            counted |= own.keys() | awaited.keys()
            missing = list(dict.fromkeys(one.reason for one in wanted if isinstance(one, Missing)))
            found.append(WantedPart(name, todo, len(later), done, missing, pace.seconds([*todo, *later])))
        return found

    def run(self, watch: TaskWatch, began: Callable[[Measurement, int, int, float], None]) -> list[Path]:
        """Measure what is missing, then write the report; if stopped early, the report has what was measured.

        ``began`` is called with each measurement, its number, the number of all, and the estimated seconds left.
        """
        require_plots()
        self.bench.out.mkdir(parents=True, exist_ok=True)
        busy = f"{self.bench.out} is in use by another process; wait for it, or stop it"
        with exclusive(self.bench.out / "report.lock", busy):
            self._write()
            tried = 0
            try:
                while todo := self._untried():
                    later = sum(wanted.later for wanted in self.estimate())
                    for number, one in enumerate(todo, tried + 1):
                        left = sum(wanted.seconds for wanted in self.estimate())
                        began(one, number, tried + len(todo) + later, left)
                        if problem := self.bench.shelf.try_to_take(one, watch):
                            watch.said(f"failed: {problem}")
                    tried += len(todo)
                    if later:
                        self._plan()
            finally:
                self._plan()  # p follows from the runs
                written = self._write()
        if failed := self.bench.shelf.failures:
            first = next(iter(failed.values()))
            raise JobError(f"{len(failed)} of {tried} measurements failed; the report lists them (the first: {first})")
        return written

    def _untried(self) -> list[Measurement]:
        """What can be measured now and has not failed in this sitting."""
        failed = self.bench.shelf.failures
        return [one for wanted in self.estimate() for one in wanted.todo if one.digest not in failed]

    def results(self) -> dict[str, Any]:
        """All existing figures, in the order of the report."""
        found = {**self.kept, **{name: self._figures(tree) for name, tree in self.trees.items()}}
        parts = {name: found[name] for name in PARTS if name in found}
        return {"version": VERSION, **self.bench.describe(), "parts": parts}

    def _figures(self, tree: Tree) -> dict[str, Any]:
        planned = {one.digest: one for one in leaves(tree) if isinstance(one, Measurement)}
        done = sum(self.bench.shelf.record(one) is not None for one in planned.values())
        return {"done": done, "planned": len(planned), "figures": _without_tallies(self.bench.shelf.filled(tree))}

    def _write(self) -> list[Path]:
        results = self.results()
        return write_report(results, report(results), self.bench.out)

    def _measurements(self) -> Iterable[Measurement]:
        unique = {one.digest: one for one in leaves(self.trees) if isinstance(one, Measurement)}
        return unique.values()

    def _refuse_other_figures(self) -> None:
        path = self.bench.out / RESULTS
        if not path.exists():
            return
        try:
            before = belongings(read_results(path))
        except InputError as problem:
            raise JobError(f"{path} cannot be continued: {problem}; delete it, or choose another folder") from None
        what, remedy = (
            f"{self.bench.out} holds a report of other figures",
            "choose another folder",
        )
        refuse_other(before, belongings(self.bench.describe()), what=what, remedy=remedy)


def _without_tallies(figures: Any) -> Any:
    """What each test item adds to a score is needed for p, and too much for a report."""
    if isinstance(figures, Mapping):
        return {name: _without_tallies(branch) for name, branch in figures.items() if name != "tallies"}
    return [_without_tallies(branch) for branch in figures] if isinstance(figures, list) else figures
