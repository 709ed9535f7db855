"""A budget that tunes both arms: trials first, runs with the best of them, the same measurements in every table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.paper_data import TINY
from helpers.reproduced import Reproduced, quickly_reproduced
from polyseme.reproduce import figure_1, protocol, table_1, table_2
from polyseme.reproduce.bench import Bench
from polyseme.reproduce.budgets import BUDGETS
from polyseme.reproduce.data_sets import find_task_data
from polyseme.reproduce.measurement import Measurement, Missing, leaves
from polyseme.reproduce.protocol import Arm, arm_trials, best, chosen
from polyseme.tasks.data_files import DataFiles

GRID = {"network.dropout": (0.0, 0.5), "inputs.characters": (4,), "inputs.word_vectors": ("trained",)}


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reproduced]:
    """SNLI at a small scale: a grid of two points, two epochs at most."""
    with quickly_reproduced(tmp_path_factory.mktemp("tuned")) as made, pytest.MonkeyPatch.context() as patch:
        patch.setitem(BUDGETS, "quick", replace(TINY, tuned=True))
        patch.setattr(protocol, "GRID", GRID)
        patch.setattr(protocol, "LONGEST", 2)
        yield made


def bench_of(reproduced: Reproduced) -> Bench:
    return Bench(
        reproduced.elmo, str(reproduced.model), reproduced.data, reproduced.out, BUDGETS["quick"], reproduced.static
    )


def data_of(reproduced: Reproduced, task: str) -> DataFiles:
    found = find_task_data(reproduced.data, task)
    assert not isinstance(found, Missing)
    return found[1]


def test_runs_are_awaited_until_the_trials_of_their_arm_are_there(reproduced: Reproduced) -> None:
    bench = bench_of(reproduced)
    planned = table_1.plan(bench)["snli"]
    for name, where in (("baseline", "none"), ("elmo", "both")):
        trials = arm_trials(Arm("snli", where), data_of(reproduced, "snli"), bench.conditions("snli"))  # type: ignore[arg-type]
        assert [one.first for one in planned[name]] == [trials] * protocol.TABLE_1_SEEDS
        assert chosen(trials, bench.shelf) is None
    now = [one for one in leaves(planned) if isinstance(one, Measurement)]
    assert len({one.digest for one in now}) == 4, "only trials can be measured now"
    estimated = reproduced.run("--only", "table1,table2", "--task", "snli", "--estimate")
    assert [line.split("\t")[:3] for line in estimated.stdout.splitlines()[1:]] == [
        ["table1", "0", "10"],  # four trials, three seeds of two arms
        ["table2", "0", "4"],  # the last layer and λ = 1, with two seeds; the others are those of Table 1
        ["all", "0", "14"],
    ]


def test_both_arms_train_with_their_best_trial_in_every_table(reproduced: Reproduced) -> None:
    reproduced.run("--only", "table1,table2,figure1", "--task", "snli")
    bench, parts = bench_of(reproduced), reproduced.parts
    row = parts["table1"]["snli"]
    for name, where in (("baseline", "none"), ("elmo", "both")):
        trials = arm_trials(Arm("snli", where), data_of(reproduced, "snli"), bench.conditions("snli"))  # type: ignore[arg-type]
        scores = [record["result"]["score"] for one in trials if (record := bench.shelf.record(one))]
        assert row["choices"][name] == best(protocol.trials(), scores)
        runs = [one for one in leaves(table_1.plan(bench)["snli"][name]) if isinstance(one, Measurement)]
        assert {one.settings["network"]["dropout"] for one in runs} == {row["choices"][name]["network.dropout"]}
        assert {one.settings["training"]["patience"] for one in runs} == {protocol.PATIENCE}
        assert {one.settings["seed"] for one in runs} == {0, 1, 2}
    assert (row["trials"], row["split"], row["epoch_limit"]) == (2, "dev", 2)
    assert 0 < row["p"] <= 1
    assert all("tallies" not in run["test"] for run in [*row["baseline"], *row["elmo"]])
    assert parts["table2"]["snli"]["lambda_0.001"] == row["elmo"]
    assert [len(parts["table2"]["snli"][name]) for name in ("last", "lambda_1")] == [2, 2]
    whole = parts["figure1"]["snli"]["baseline"][-1]
    assert (whole["share"], whole["runs"]) == (1.0, row["baseline"])
    planned = [one for part in (table_1, table_2, figure_1) for one in leaves(part.plan(bench)["snli"])]
    assert all(isinstance(one, Measurement) for one in planned)
    assert "Both arms were tuned alike: for each, the best of 2 trials" in reproduced.markdown


def test_the_same_command_measures_nothing_twice(reproduced: Reproduced) -> None:
    made = {path: path.stat().st_mtime_ns for path in Path(reproduced.out / "results").glob("*.json")}
    reproduced.run("--only", "table1,table2,figure1", "--task", "snli")
    assert {path: path.stat().st_mtime_ns for path in made} == made
    assert len(list(Path(reproduced.out / "results").glob("*.json"))) == len(made)
