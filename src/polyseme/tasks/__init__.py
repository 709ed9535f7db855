"""Task models: ELMo at the input, at the output, or both.

The files here are shared by all tasks, including your own (docs/your-own-task.md). Each task has a folder (data,
network, metrics, task); parts/ has the building blocks of their networks, vectors/ the static word vectors used
beside ELMo.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyseme.extras import need_torch
from polyseme.lazy import lazy_names

if TYPE_CHECKING:
    from polyseme.tasks.data_files import DataFiles as DataFiles
    from polyseme.tasks.data_files import find_data as find_data
    from polyseme.tasks.definition import Definition as Definition
    from polyseme.tasks.definition import Preset as Preset
    from polyseme.tasks.definition import Split as Split
    from polyseme.tasks.definition import TaskNetwork as TaskNetwork
    from polyseme.tasks.definition import TrainingChoices as TrainingChoices
    from polyseme.tasks.definition import Vocabularies as Vocabularies
    from polyseme.tasks.definition import find_task as find_task
    from polyseme.tasks.definition import task_names as task_names
    from polyseme.tasks.inputs import Features as Features
    from polyseme.tasks.inputs import InputChoices as InputChoices
    from polyseme.tasks.inputs import TokenBatch as TokenBatch
    from polyseme.tasks.inputs import TokenInputs as TokenInputs
    from polyseme.tasks.inputs import TokenVectors as TokenVectors
    from polyseme.tasks.parts.crf import CRF as CRF
    from polyseme.tasks.parts.encoders import BiGRU as BiGRU
    from polyseme.tasks.parts.encoders import BiLSTM as BiLSTM
    from polyseme.tasks.parts.encoders import VariationalDropout as VariationalDropout
    from polyseme.tasks.run import Finished as Finished
    from polyseme.tasks.run import TaskPlan as TaskPlan
    from polyseme.tasks.run import train_task as train_task
    from polyseme.tasks.scores import Confusion as Confusion
    from polyseme.tasks.scores import Scores as Scores
    from polyseme.tasks.scores import label_scores as label_scores
    from polyseme.tasks.scores import precision_recall_f1 as precision_recall_f1
    from polyseme.tasks.treebank import MostFrequentTag as MostFrequentTag
    from polyseme.tasks.treebank import TaggedSentence as TaggedSentence

need_torch("a task model", "tasks")

_HOME = {
    "polyseme.tasks.data_files": ("DataFiles", "find_data"),
    "polyseme.tasks.definition": (
        "Definition",
        "Preset",
        "Split",
        "TaskNetwork",
        "TrainingChoices",
        "Vocabularies",
        "find_task",
        "task_names",
    ),
    "polyseme.tasks.inputs": ("Features", "InputChoices", "TokenBatch", "TokenInputs", "TokenVectors"),
    "polyseme.tasks.parts.crf": ("CRF",),
    "polyseme.tasks.parts.encoders": ("BiGRU", "BiLSTM", "VariationalDropout"),
    "polyseme.tasks.run": ("Finished", "TaskPlan", "train_task"),
    "polyseme.tasks.scores": ("Confusion", "Scores", "label_scores", "precision_recall_f1"),
    "polyseme.tasks.treebank": ("MostFrequentTag", "TaggedSentence"),
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _HOME)
