"""The tables of docs/ecosystem.md are those of the result files, and every extra has a program that tries it."""

from __future__ import annotations

import json
import tomllib

import pytest

import extras
import sklearn_pipeline
from helpers.paths import ROOT

PAGE = (ROOT / "docs/ecosystem.md").read_text(encoding="utf-8")


def test_the_extras_on_the_page_are_those_that_were_tried() -> None:
    assert extras.extras_table(json.loads(extras.RESULTS.read_text())) in PAGE, "run: python benchmarks/extras.py"


def test_the_comparison_with_tf_idf_is_the_one_that_was_measured() -> None:
    found = json.loads(sklearn_pipeline.RESULTS.read_text())
    assert sklearn_pipeline.pipeline_table(found) in PAGE, "run: python benchmarks/sklearn_pipeline.py"


def test_elmo_is_ahead_of_tf_idf_with_few_labelled_sentences() -> None:
    """What the page says of names: the whole interval is above zero up to 500 sentences, with both for any number."""
    rows = json.loads(sklearn_pipeline.RESULTS.read_text())["persons"]["rows"]
    assert all(row["gain"]["elmo"][1] > 0 for row in rows if row["labelled"] <= 500)
    assert all(row["gain"]["both"][1] > 0 for row in rows)


def test_tf_idf_is_ahead_of_elmo_in_films_with_every_label() -> None:
    rows = json.loads(sklearn_pipeline.RESULTS.read_text())["sentiment"]["rows"]
    assert rows[-1]["gain"]["elmo"][2] < 0
    assert all(row["gain"]["both"][0] > 0 for row in rows)


@pytest.mark.parametrize("name", extras.TRIALS)
def test_an_extra_that_is_tried_is_one_that_can_be_installed(name: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert name in project["optional-dependencies"]
    assert extras.program(name).exists()


def test_every_extra_is_tried_but_those_that_only_put_others_together() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {*extras.TRIALS, "all", "dev", "every-test"} == set(project["optional-dependencies"])
