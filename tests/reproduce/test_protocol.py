"""The protocol of the tasks: both arms alike, choices by dev, and a p that knows a difference from luck."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.toy_names import write_names
from polyseme.reproduce.measurement import Shelf
from polyseme.reproduce.protocol import (
    DRAWS,
    GRID,
    LONGEST,
    PATIENCE,
    SHARES,
    TRIAL_EPOCHS,
    Arm,
    best,
    paired_bootstrap,
    runs,
    significance,
    trial,
    trials,
)
from polyseme.reproduce.task_runs import Conditions, TaskRun
from polyseme.tasks.coref.metrics import chain_tally, conll_of, score_chains
from polyseme.tasks.data_files import DataFiles, find_data
from polyseme.tasks.definition import find_task
from polyseme.tasks.training import TaskWatch

SMALL = {"static": "none", "hidden": 8, "depth": 1, "batch": 4, "rate": 0.02, "elmo": "none"}


@pytest.fixture
def data(tmp_path: Path) -> DataFiles:
    return find_data(write_names(tmp_path / "names"))


def test_both_arms_have_the_same_trials(data: DataFiles, tmp_path: Path) -> None:
    conditions = Conditions(tmp_path, None, "en", changes={"static": "none"})
    arms = [[trial(Arm("ner", where), choice, data, conditions) for choice in trials()] for where in ("none", "input")]
    assert len(trials()) == 8 == np.prod([len(values) for values in GRID.values()])
    for baseline, elmo in zip(*arms, strict=True):
        for part in ("network", "training", "data"):
            assert baseline.settings[part] == elmo.settings[part]
        for name in ("characters", "word_vectors"):
            assert baseline.settings["inputs"][name] == elmo.settings["inputs"][name]
        assert baseline.settings["training"]["share"] == 0.2
        assert (baseline.settings["training"]["epochs"], baseline.settings["training"]["patience"]) == (
            LONGEST,
            PATIENCE,
        )
    assert len({one.digest for arm in arms for one in arm}) == 16


def test_trials_of_reading_comprehension_have_all_the_data_of_its_runs_but_fewer_epochs(
    data: DataFiles, tmp_path: Path
) -> None:
    conditions = Conditions(tmp_path, None, "en", changes={"static": "none"})
    choice = trials()[0]
    one = trial(Arm("squad", "none"), choice, data, conditions)
    (run,) = runs(TaskRun("squad"), choice, data, conditions, seeds=1)
    assert one.settings["network"]["paragraphs"] == run.settings["network"]["paragraphs"] == SHARES["squad"]
    assert one.settings["training"]["epochs"] == TRIAL_EPOCHS["squad"] < run.settings["training"]["epochs"] == LONGEST


def test_the_best_trial_is_chosen_and_of_equals_the_first() -> None:
    choices = trials()
    assert best(choices, [1, 3, 2, 3, 0, 0, 0, 0]) == choices[1]


def test_a_run_says_how_it_ended_and_what_its_items_add_up_to(data: DataFiles, tmp_path: Path) -> None:
    conditions = Conditions(tmp_path / "work", None, "en", changes=SMALL)
    judged = replace(data, test=data.dev)
    choice = {"network.dropout": 0.2, "inputs.characters": 8, "inputs.word_vectors": "trained", "training.epochs": 3}
    (run,) = runs(TaskRun("ner"), choice, judged, conditions, seeds=1)
    found = Shelf(tmp_path / "results").take(run, TaskWatch())
    assert (found["epochs"], found["stopped_by"]) == (3, "epochs")
    sums = np.array(found["test"]["tallies"], float).sum(axis=1)
    assert find_task("ner").from_tallies(sums) == pytest.approx(found["test"]["score"]) == found["score"]
    assert significance("ner", [found], [found]) == 1.0, "nothing is better than itself"


def test_p_tells_a_difference_from_luck() -> None:
    def right(share: float, seed: int) -> np.ndarray[Any, Any]:
        hits = np.random.default_rng(seed).random(800) < share
        return np.stack([hits, np.ones(800)], axis=1).astype(float)

    def accuracy(sums: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return 100 * sums[..., 0] / sums[..., 1]

    worse, better = [right(0.70, seed) for seed in range(3)], [right(0.80, seed) for seed in range(3, 6)]
    assert paired_bootstrap(worse, better, accuracy) < 0.001
    assert paired_bootstrap(better, worse, accuracy) > 0.99
    assert 0.05 < paired_bootstrap(worse, [right(0.70, seed) for seed in range(6, 9)], accuracy) < 0.95


def test_chains_add_up_over_documents() -> None:
    documents = [
        ([[(0, 1), (2, 3)], [(5, 6), (7, 8)]], [[(0, 1), (2, 3), (5, 6)], [(7, 8), (9, 10)]]),
        ([[(0, 2), (3, 4)]], [[(0, 2), (3, 4), (6, 7)]]),
    ]
    sums = np.sum([chain_tally(*document) for document in documents], axis=0)
    assert conll_of(sums) == pytest.approx(score_chains(documents)["conll"])


def accuracy_of(sums: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return 100 * sums[..., 0] / sums[..., 1]


def tallied(hits: list[bool]) -> np.ndarray[Any, Any]:
    return np.stack([hits, np.ones(len(hits))], axis=1).astype(float)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=60))
def test_p_of_both_directions_is_one_and_ties_count_twice(pairs: list[tuple[bool, bool]]) -> None:
    """Each draw is better, worse or even: even ones speak against both."""
    first, second = ([tallied([pair[side] for pair in pairs])] for side in (0, 1))
    p, q = paired_bootstrap(first, second, accuracy_of), paired_bootstrap(second, first, accuracy_of)
    assert 0 < p <= 1
    assert p + q >= 1 + 1 / (1 + DRAWS) - 1e-9
    assert paired_bootstrap(first, first, accuracy_of) == 1


@settings(max_examples=25, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=40), st.integers(1, 3))
def test_what_is_better_on_every_item_has_the_smallest_p(hits: list[bool], seeds: int) -> None:
    worse = [tallied([False] * len(hits))] * seeds
    better = [tallied([True] * len(hits))] * seeds
    assert paired_bootstrap(worse, better, accuracy_of) == 1 / (1 + DRAWS)
    assert paired_bootstrap(better, worse, accuracy_of) == 1


def test_p_is_the_share_that_an_exact_count_gives() -> None:
    """Three items, one won and one lost: all 27 samples can be counted."""
    first, second = [tallied([False, True, True])], [tallied([True, False, True])]
    samples = list(product(range(3), repeat=3))
    exact = sum(sum(s == 0 for s in one) <= sum(s == 1 for s in one) for one in samples) / len(samples)
    assert paired_bootstrap(first, second, accuracy_of) == pytest.approx(exact, abs=0.04)
