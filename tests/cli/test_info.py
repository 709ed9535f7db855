"""polyseme info: what it says of a model of each kind, for people and for programs."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from helpers.command_line import refusal
from helpers.damage import flip_bit
from helpers.paths import COMMITTED
from polyseme.cli.app import app
from polyseme.engine.pool import usable_cores
from polyseme.formats.detect import load
from polyseme.formats.native import save_native
from polyseme.formats.releases.known import bundled_models
from polyseme.kernel.library import library

GOLDEN = COMMITTED / "formats"
RUN = CliRunner()


def test_every_line_that_is_printed() -> None:
    result = RUN.invoke(app, ["info", str(GOLDEN / "bilm-tf-generated" / "checkpoint")])
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "name              checkpoint",
        "format            TensorFlow checkpoint",
        "parameters        6,922",
        "layers            2",
        "directions        2",
        "cell              16",
        "projection        8",
        "width             16",
        "cell clip         3",
        "projection clip   3",
        "skip connections  yes",
        "reads             bytes, at most 8 of a token",
        "character cnn     dim 4, filters 1 × 4, 2 × 6, 3 × 8, highways 1, activation relu",
        "vocabulary        50",
        "softmax           50 × 8",
        f"fingerprint       {load(GOLDEN / 'bilm-tf-generated' / 'checkpoint').fingerprint()}",
        "check             all weights are finite: yes",
        "check             the row of padding is zero: yes",
        "check             the softmax is finite: yes",
        "check             the softmax has a row for every word of the vocabulary: yes",
    ]


def test_json_says_the_same() -> None:
    result = RUN.invoke(app, ["info", str(GOLDEN / "manylangs" / "model.zip"), "--json"])
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["format"] == "ELMoForManyLangs"
    assert facts["reads"] == "words, of a table of 24 and characters, at most 10 of a token, of a table of 38"
    assert facts["softmax"] == [24, 8]
    assert all(facts["checks"].values())


def test_languages_and_licence_of_the_card(tmp_path: Path) -> None:
    model = load(GOLDEN / "bilm-tf-generated" / "inference" / "skip2_relu")
    save_native(replace(model, card={"name": "x", "languages": ["nb", "nn"], "licence": "CC0-1.0"}), tmp_path / "x")
    lines = RUN.invoke(app, ["info", str(tmp_path / "x")]).stdout.splitlines()
    assert [line for line in lines if line.startswith(("languages", "licence"))] == [
        "languages         nb, nn",
        "licence           CC0-1.0",
    ]


def test_what_had_to_be_assumed_is_said() -> None:
    result = RUN.invoke(app, ["info", str(GOLDEN / "allennlp" / "archives" / "direct_two_mixes.tar.gz")])
    assert "activation relu" in next(line for line in result.stdout.splitlines() if line.startswith("assumed"))
    assert "layer norm yes; weights" in result.stdout


@pytest.mark.parametrize("arguments", [["nowhere.zip"], ["nowhere.zip", "--json"]])
def test_a_model_that_is_not_there(arguments: list[str]) -> None:
    assert refusal("info", *arguments).startswith("polyseme: there is no file or folder 'nowhere.zip'")


def test_check_says_that_the_weights_are_as_they_were_saved(tmp_path: Path) -> None:
    result = RUN.invoke(app, ["info", "en", "--check"])
    assert result.exit_code == 0
    assert "digests of tensors and lists, all as they were saved" in result.stdout
    assert "the vectors of a text are finite: yes" in result.stdout
    copy = Path(shutil.copytree(bundled_models()["en"], tmp_path / "en"))
    flip_bit(copy / "model.safetensors", seed=1)
    assert "is not what was saved; get the model again" in refusal("info", str(copy), "--check")


def test_what_computes_here() -> None:
    told = json.loads(RUN.invoke(app, ["info", "--engine", "--json"]).stdout)
    kernel = library()
    assert told["engine"].startswith(f"kernel, {kernel.instruction_set}" if kernel else "numpy, because ")
    assert told["threads"] == usable_cores() and told["numpy"].startswith(np.__version__)
    assert RUN.invoke(app, ["info", "--engine"]).stdout.startswith("engine")
    assert RUN.invoke(app, ["info"]).exit_code == 2
