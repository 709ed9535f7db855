"""What version 1 wrote is read by this version: every format on disk, from tests/fixtures/version-1."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import polyseme
from helpers.small_corpora import small_recipe
from helpers.tiny_models import tiny_elmo
from polyseme import Elmo
from polyseme.embed.assembly import assemble
from polyseme.embed.compute import WindowLimits
from polyseme.embed.description import Shard
from polyseme.embed.job import embed_files
from polyseme.embed.parts import parts_folder
from polyseme.embed.records import read
from polyseme.errors import JobError
from polyseme.index.vector_index import Index
from polyseme.pretrain.corpus.corpus import open_corpus
from polyseme.pretrain.training.pretraining import pretrain
from polyseme.pretrain.training.run_plan import RunPlan
from polyseme.tasks.data_files import DataFiles
from polyseme.tasks.definition import find_task
from polyseme.tasks.layer_cache import LayerCache
from polyseme.tasks.run import TaskPlan, train_task
from polyseme.tasks.run_description import RunDescription
from polyseme.tasks.trained_task import Task

FIXTURES = Path(__file__).parent / "fixtures" / "version-1"
LIMITS = WindowLimits(window=16, part=32)
FINGERPRINT = json.loads((FIXTURES / "index" / "index.json").read_text(encoding="utf-8"))["fingerprint"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy to work in, under another patch version than the one that wrote it."""
    shutil.copytree(FIXTURES, tmp_path / "made")
    monkeypatch.chdir(tmp_path / "made")
    monkeypatch.setattr(polyseme, "__version__", "0.1.99")
    return tmp_path / "made"


@pytest.fixture
def lines(folder: Path) -> list[list[str]]:
    return [line.split() for line in (folder / "text.txt").read_text(encoding="utf-8").splitlines()]


def elmo_of(folder: Path) -> Elmo:
    return Elmo.from_pretrained(folder / "model", device="cpu", lang="whitespace")


def test_a_model_is_the_same_model(folder: Path, lines: list[list[str]]) -> None:
    elmo = elmo_of(folder)
    assert elmo.fingerprint == tiny_elmo().fingerprint == FINGERPRINT
    for one, other in zip(elmo.encode_tokens(lines), tiny_elmo().encode_tokens(lines), strict=True):
        np.testing.assert_array_equal(one.layers, other.layers)


def test_an_embed_job_goes_on(folder: Path) -> None:
    with pytest.raises(JobError, match=r"was interrupted after \d+ sentences; continue with --resume"):
        embed_files(["text.txt"], "vectors.npz", elmo_of(folder), limits=LIMITS)
    before = {path.name: path.read_bytes() for path in parts_folder(Path("vectors.npz")).rglob("*.part")}
    assert len(before) == 3
    told: list[int] = []
    embed_files(
        ["text.txt"],
        "vectors.npz",
        elmo_of(folder),
        limits=LIMITS,
        resume=True,
        progress=lambda progress: told.append(progress.tokens),
    )
    embed_files(["text.txt"], "whole.npz", elmo_of(folder), limits=LIMITS)
    assert 0 < told[-1] < sum(len(record.tokens) for record in read("whole.npz"))
    for one, other in zip(read("vectors.npz"), read("whole.npz"), strict=True):
        assert one.tokens == other.tokens
        np.testing.assert_allclose(one.vectors, other.vectors, atol=1e-6)


def test_shares_of_two_patch_versions_are_put_together(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, version in enumerate(("0.1.5", "0.1.6")):
        monkeypatch.setattr(polyseme, "__version__", version)
        embed_files(["text.txt"], "shared.npz", elmo_of(folder), limits=LIMITS, shard=Shard(number, 2))
    assemble(Path("shared.npz"))
    embed_files(["text.txt"], "whole.npz", elmo_of(folder), limits=LIMITS)
    assert Path("shared.npz").read_bytes() == Path("whole.npz").read_bytes()


def test_an_index_is_asked(folder: Path, lines: list[list[str]]) -> None:
    index = Index.open("index", elmo_of(folder))
    assert len(index) == sum(map(len, lines))
    assert index.neighbours("the [cat] sees", k=3)
    kept = {path.name: path.read_bytes() for path in Path("index").iterdir()}
    Index.build(elmo_of(folder), "text.txt", "index", layers="all", model="model", resume=True)
    assert {name: (Path("index") / name).read_bytes() for name in kept} == kept


def test_layers_come_from_the_cache(folder: Path, lines: list[list[str]]) -> None:
    cache = LayerCache(elmo_of(folder), folder / "cache")
    cache.fill(lines[:5])
    assert cache.computed == 0
    expected = elmo_of(folder).encode_tokens([lines[0]])[0].layers.astype(np.float16)
    np.testing.assert_allclose(cache.layers([lines[0]])[:, 0].astype(np.float32), expected, atol=1e-3)


def test_a_corpus_is_read(folder: Path, lines: list[list[str]]) -> None:
    corpus = open_corpus(Path("corpus"))
    assert corpus.meta.sentences == len(lines)
    assert corpus.meta.tokens == sum(map(len, lines))


def test_a_training_run_goes_on(folder: Path) -> None:
    plan = RunPlan(Path("corpus"), Path("run"), small_recipe(budget={"tokens": 300}), threads=1)
    longer = replace(plan, recipe=small_recipe(budget={"tokens": 600}))
    model = pretrain(longer, resume=True)
    assert Elmo.from_pretrained(model).stored.card["training"]["tokens_seen"] > 0
    with pytest.raises(JobError, match="seed was 0 and is 1"):
        pretrain(replace(longer, seed=1), resume=True)


def test_a_task_is_used_and_its_run_goes_on(folder: Path) -> None:
    assert Task.load("task", model="model").predict("Ada left Ulm .")
    about, preset = RunDescription.read(Path("task")), find_task("ner").presets["cpu"]
    preset = replace(preset, network=about.network, inputs=about.inputs, training=replace(about.training, epochs=2))
    data = DataFiles(folder / "names" / "train.txt", folder / "names" / "dev.txt")
    plan = TaskPlan("ner", data, Path("task"), preset, "cpu", lang="whitespace", cache=folder / "task-cache")
    assert train_task(plan, resume=True).progress.epoch == 2
