"""What was measured once is not measured again, unless something that it depends on is another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from polyseme.errors import InputError
from polyseme.reproduce.measurement import Measurement, Missing, Shelf, leaves, slug
from polyseme.reproduce.reproduction import Pace, shown_time
from polyseme.tasks.training import TaskWatch

WATCH = TaskWatch()


class Counter:
    """Measures by counting how often it is asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, watch: TaskWatch) -> dict[str, Any]:
        self.calls += 1
        return {"score": float(self.calls)}


def measurement(measure: Any, *, seconds: float = 10.0, group: str = "g", **settings: Any) -> Measurement:
    return Measurement("ner, λ 0.001, seed 0", settings, measure, group, seconds)


def test_the_same_settings_have_one_result(tmp_path: Path) -> None:
    counter, shelf = Counter(), Shelf(tmp_path / "results")
    first = measurement(counter, seed=0, sets=("a", "b"))
    assert shelf.record(first) is None
    assert shelf.take(first, WATCH) == shelf.take(first, WATCH) == {"score": 1.0}
    assert Shelf(tmp_path / "results").take(measurement(counter, sets=["a", "b"], seed=0), WATCH) == {"score": 1.0}
    assert shelf.take(measurement(counter, seed=1, sets=("a", "b")), WATCH) == {"score": 2.0}
    assert len(list((tmp_path / "results").iterdir())) == 2


def test_a_damaged_or_foreign_file_is_measured_again(tmp_path: Path) -> None:
    counter, shelf = Counter(), Shelf(tmp_path)
    one = measurement(counter, seed=0)
    shelf.take(one, WATCH)
    (path,) = tmp_path.iterdir()
    foreign: list[Any] = [
        [],
        None,
        {"settings": {"seed": 7}, "result": {"score": 9.0}, "seconds": 1},
        {"settings": {"seed": 0}, "seconds": 1},
        {"settings": {"seed": 0}, "result": {"score": 9.0}},
        {"settings": {"seed": 0}, "result": None, "seconds": 1},
        {"settings": {"seed": 0}, "result": {"score": 9.0}, "seconds": "long"},
    ]
    for content in ("{", *map(json.dumps, foreign)):
        path.write_text(content, encoding="utf-8")
        assert shelf.take(one, WATCH)["score"] == counter.calls
        assert Pace.of([one], shelf).groups.keys() == {"g"}
    assert counter.calls == 1 + 1 + len(foreign)


def test_what_fails_is_told_and_tried_again(tmp_path: Path) -> None:
    def fail(watch: TaskWatch) -> dict[str, Any]:
        raise InputError("the file is empty")

    shelf, one = Shelf(tmp_path), measurement(fail, seed=0)
    assert shelf.try_to_take(one, WATCH) == "the file is empty"
    assert shelf.filled({"row": [one]}) == {"row": [{"failed": "the file is empty"}]}
    assert Shelf(tmp_path).filled([one]) == [None]
    assert Shelf(tmp_path).try_to_take(measurement(Counter(), seed=0), WATCH) is None
    with pytest.raises(ZeroDivisionError):  # an error of ours is not hidden in a report
        shelf.try_to_take(measurement(lambda watch: {"score": 1 / 0}, seed=1), WATCH)


def test_figures_are_the_tree_with_results_in_place(tmp_path: Path) -> None:
    shelf, done, open_one = Shelf(tmp_path), measurement(Counter(), seed=0), measurement(Counter(), seed=1)
    shelf.take(done, WATCH)
    tree = {"data": "ner", "runs": [done, open_one], "other": Missing("looked for x")}
    assert shelf.filled(tree) == {
        "data": "ner",
        "runs": [{"score": 1.0}, None],
        "other": {"missing": "looked for x"},
    }
    assert list(leaves(tree)) == [done, open_one, Missing("looked for x")]


def test_file_names_are_plain() -> None:
    assert slug("ner, ELMo at the input, λ 0.001, 0.1 % of the data") == "ner-elmo-at-the-input-0.001-0.1-of-the-data"


def test_what_was_measured_tells_how_long_the_rest_takes(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    ones = [measurement(lambda watch: {"seconds": 3000.0}, seed=seed, seconds=1000.0) for seed in range(3)]
    assert Pace.of(ones, shelf).seconds(ones) == 3000
    shelf.take(ones[0], WATCH)
    pace = Pace.of(ones, shelf)
    assert pace.seconds(ones[1:]) == pytest.approx(6000, rel=0.02)
    other = measurement(Counter(), seconds=1000.0, group="other")
    assert 2500 < pace.seconds([other]) < 3000  # a little experience with another group
    moment = measurement(lambda watch: {"seconds": 0.1}, seed=9, seconds=5.0)
    shelf.take(moment, WATCH)
    assert Pace.of([moment], shelf).seconds([other]) > 900  # a moment says nothing about the rest


def test_a_training_takes_as_long_as_other_trainings_do(tmp_path: Path) -> None:
    """And not as probes, which are quicker here than they should be."""
    shelf = Shelf(tmp_path)
    trained = measurement(lambda watch: {"seconds": 2000.0}, seed=0, seconds=1000.0, group="train ner")
    probes = [
        measurement(lambda watch: {"seconds": 100.0}, seed=seed, seconds=1000.0, group="parts of speech")
        for seed in range(1, 9)
    ]
    for one in (trained, *probes):
        shelf.take(one, WATCH)
    pace = Pace.of([trained, *probes], shelf)
    assert pace.seconds([measurement(Counter(), seconds=1000.0, group="train snli")]) > 1900
    assert pace.seconds([measurement(Counter(), seconds=1000.0, group="perplexity")]) < 500


@pytest.mark.parametrize(("seconds", "text"), [(40, "40 s"), (600, "10 min"), (9000, "2.5 h"), (200_000, "2.3 days")])
def test_times_as_people_say_them(seconds: float, text: str) -> None:
    assert shown_time(seconds) == text
