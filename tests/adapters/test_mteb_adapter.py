"""A small task of mteb, its data made on the spot, with the model class of polyseme."""

from __future__ import annotations

import pytest

from helpers.command_line import toy_model

mteb = pytest.importorskip("mteb", reason="mteb is not installed")
datasets = pytest.importorskip("datasets", reason="datasets is not installed")

import numpy as np  # noqa: E402
from mteb.abstasks.sts import AbsTaskSTS  # noqa: E402
from mteb.abstasks.task_metadata import TaskMetadata  # noqa: E402

from polyseme.mteb import ElmoEncoder  # noqa: E402


class MadeUpSTS(AbsTaskSTS):
    metadata = TaskMetadata(
        name="MadeUpSTS",
        description="Pairs that are the same or share words.",
        dataset={"path": "made/up", "revision": "1"},
        type="STS",
        category="t2t",
        modalities=["text"],
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score="cosine_spearman",
    )
    min_score, max_score = 0, 5

    def load_data(self, **_: object) -> None:
        pairs = [
            ("the dog sat", "the dog sat", 5.0),
            ("the dog sat", "the cat sat", 3.0),
            ("the dog", "a bird ran", 0.0),
        ]
        first, second, scores = zip(*pairs, strict=True)
        columns = {"sentence1": first, "sentence2": second, "score": scores}
        self.dataset = datasets.DatasetDict({"test": datasets.Dataset.from_dict(columns)})
        self.data_loaded = True


def test_a_task_runs_offline() -> None:
    encoder = ElmoEncoder(str(toy_model()))
    results = mteb.evaluate(encoder, [MadeUpSTS()], cache=None, overwrite_strategy="always")
    (scores,) = results.task_results[0].scores["test"]
    assert scores["cosine_spearman"] > 0.4


def test_batches_become_one_matrix() -> None:
    encoder = ElmoEncoder(str(toy_model()))
    found = encoder.encode([{"text": ["one text", "two"]}, {"text": ["three"]}])
    np.testing.assert_array_equal(found, encoder.model.vectors(["one text", "two", "three"]))
