"""MTEB runs a task of similar sentences, made here: no data set is downloaded."""

import datasets
import mteb
from mteb.abstasks.sts import AbsTaskSTS
from mteb.abstasks.task_metadata import TaskMetadata

from polyseme.mteb import ElmoEncoder


class MadeUp(AbsTaskSTS):
    metadata = TaskMetadata(
        name="MadeUp",
        description="Three pairs of sentences.",
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
        columns = {
            "sentence1": ["The dog sat down.", "The dog sat down.", "The dog sat down."],
            "sentence2": ["The dog sat down.", "The cat sat down.", "Shares fell by a tenth."],
            "score": [5.0, 3.0, 0.0],
        }
        self.dataset = datasets.DatasetDict({"test": datasets.Dataset.from_dict(columns)})
        self.data_loaded = True


found = mteb.evaluate(ElmoEncoder("en"), [MadeUp()], cache=None, overwrite_strategy="always")
(scores,) = found.task_results[0].scores["test"]
assert scores["cosine_spearman"] > 0.99
