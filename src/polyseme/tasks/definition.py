"""What defines a task, for all code that trains, stores, scores and runs it: one subclass of ``Definition`` per task.

    files ─ read ─► examples ─ collate ─► batch ─ network ─► loss, predictions ─ score ─► Scores
                                                                              └ record, write ─► JSONL, own format

A definition has no state. Sizes come from a preset, words and labels from ``vocabularies``, vectors from ``Features``.
Tasks are found by name, including those of other packages; a task's module is imported when the task is used.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
from msgspec import Meta
from torch import Tensor, nn

from polyseme.errors import ConfigError
from polyseme.plugins import Group, added, broken, load_added
from polyseme.settings import Count, Natural, NotNegative, Positive, Share, checked
from polyseme.tasks.data_files import DataFiles, find_data
from polyseme.tasks.inputs import Features, InputChoices, TokenInputs
from polyseme.tasks.scores import Floats, Scores
from polyseme.text.tokenization import Sentence

E = TypeVar("E")  #: an example: a frozen dataclass with its gold answer, or None instead
S = TypeVar("S")  #: sizes of the network: a frozen dataclass of numbers, strings and booleans

Vocabularies = dict[str, list[str]]
Split = Callable[[str], list[Sentence]]
_GROUP: Group = "polyseme.tasks"

#: Task name → its module, which has its ``Definition`` under the name TASK.
MODULES = {
    "ner": "polyseme.tasks.ner.task",
    "pos": "polyseme.tasks.pos.task",
    "sst": "polyseme.tasks.sst.task",
    "snli": "polyseme.tasks.snli.task",
    "srl": "polyseme.tasks.srl.task",
    "squad": "polyseme.tasks.squad.task",
    "coref": "polyseme.tasks.coref.task",
    "text": "polyseme.tasks.text_classes.task",
    "pairs": "polyseme.tasks.text_pairs.task",
}


@dataclass(frozen=True, slots=True)
class TrainingChoices:
    """How a network is trained."""

    epochs: Count = 20
    batch: Count = 32  #: examples in a batch
    rate: Positive = 0.001
    optimizer: Literal["adam", "adadelta"] = "adam"
    weight_decay: NotNegative = 0.0  #: applied to weight matrices only
    clip: Positive = 5.0  #: maximum norm of all gradients together
    average: Share = 0.0  #: decay of the moving average of the weights, which is what is scored and kept; 0 for none
    patience: Count = 5  #: early stopping: epochs without a better score on dev before training ends
    halve_after: Natural = 2  #: epochs without a better score before the rate is halved; 0 for never
    share: Annotated[float, Meta(gt=0, le=1)] = 1.0  #: of the training examples, taken from a shuffled list
    looks: Natural = 0  #: dev examples that are scored after each epoch, evenly spread; 0 for all

    def __post_init__(self) -> None:
        checked(self)


@dataclass(frozen=True, slots=True)
class Preset(Generic[S]):
    """All choices that define a run: ``--budget paper`` or ``--budget cpu``."""

    network: S
    training: TrainingChoices = field(default_factory=TrainingChoices)
    inputs: InputChoices = field(default_factory=InputChoices)

    def __post_init__(self) -> None:
        for name, value in asdict(self.network).items():  # type: ignore[call-overload]  # S is a dataclass
            if isinstance(value, int) and not isinstance(value, bool) and value < 1:
                raise ConfigError(f"{name} is {value}, but should be at least 1")
            if name.endswith("dropout") and not 0 <= value < 1:
                raise ConfigError(f"{name} is {value}, but should be a share from 0 to below 1")
            if isinstance(value, float) and not (math.isfinite(value) and value >= 0):
                raise ConfigError(f"{name} is {value}, but should be 0 or more")


class TaskNetwork(nn.Module, ABC):
    """A task's parameters; ``tokens`` is the input layer that every task begins with."""

    def __init__(self, tokens: TokenInputs) -> None:
        super().__init__()
        self.tokens = tokens

    @abstractmethod
    def forward(self, batch: Any) -> Tensor:
        """The mean loss of a batch over its predictions. []"""

    @abstractmethod
    def predict(self, batch: Any) -> list[Any]:
        """One prediction for each example of the batch, in order: anything that JSON can represent."""


class Definition(ABC, Generic[E, S]):
    """A task."""

    name: ClassVar[str]  #: "ner"
    title: ClassVar[str]  #: what it does, in a few words
    metric: ClassVar[str]  #: the score used for model selection, one of ``Scores.values``; higher is better
    by_sentence: ClassVar[bool] = False  #: whether each sentence of a text is its own example
    suffixes: ClassVar[tuple[str, ...]] = ()  #: suffixes of its files, the preferred one first; () for any
    presets: ClassVar[Mapping[str, Preset[Any]]]  #: "paper" and "cpu"

    def find(self, folder: Path) -> DataFiles:
        """The train, dev and test files in a folder, found by name."""
        return find_data(folder, self.suffixes)

    @abstractmethod
    def read(self, path: Path, split: Split) -> list[E]:
        """The examples of a file (or folder), with their gold answers; ``split`` is for files that hold raw text."""

    def read_to_predict(self, path: Path, split: Split) -> list[E]:
        """All examples of a file, including those that ``read`` leaves out because their answers are unknown."""
        return self.read(path, split)

    @abstractmethod
    def examples(self, item: Any, split: Split) -> list[E]:
        """Examples to predict, without gold: ``item`` is raw text, a list of tokens, or a JSON object."""

    @abstractmethod
    def sentences(self, example: E) -> Sequence[Sequence[str]]:
        """Every list of tokens for which ``collate`` will need vectors."""

    def for_training(self, examples: list[E], network: S) -> list[E]:
        """The examples to train on, if they differ from the examples read."""
        return examples

    def left_out(self, examples: list[E], network: S) -> str:
        """A sentence about what ``for_training`` leaves out and why; "" if there is nothing to say."""
        return ""

    def check_gold(self, examples: Sequence[E], source: str) -> None:
        """InputError if an example of a file has no gold answer, so that it cannot be scored."""

    @abstractmethod
    def vocabularies(self, examples: Sequence[E]) -> Vocabularies:
        """Labels and whatever else the network needs to know about the training examples, as lists of strings."""

    @abstractmethod
    def network(self, sizes: S, vocabularies: Vocabularies, tokens: TokenInputs) -> TaskNetwork:
        """New parameters."""

    @abstractmethod
    def collate(self, examples: Sequence[E], vocabularies: Vocabularies, features: Features) -> Any:
        """A batch: a frozen dataclass of tensors, ``TokenBatch``es and plain values; gold may be missing."""

    @abstractmethod
    def score(self, predictions: Sequence[Any], examples: Sequence[E]) -> Scores:
        """Predictions against gold, by the task's official definition."""

    def tally(self, prediction: Any, example: E) -> tuple[float, ...]:
        """The numbers of one example from which the metric is computed, after they are summed over examples.

        Significance tests sum them over many samples of a test set. Unless a task overrides this, its metric is a mean
        over examples.
        """
        return self.score([prediction], [example]).values[self.metric] / 100, 1.0

    def from_tallies(self, sums: Floats) -> Floats:
        """Sums of tallies [..., K] → the metric in percent [...]"""
        return 100 * sums[..., 0] / np.maximum(sums[..., 1], 1)

    @abstractmethod
    def record(self, example: E, prediction: Any) -> dict[str, Any]:
        """One line of JSON: the input and its prediction."""

    def write(self, pairs: Iterable[tuple[E, Any]]) -> Iterator[str]:
        """Predictions in the task's own format, piece by piece, with line ends; JSON lines if it has no format."""
        return (json.dumps(self.record(*pair), ensure_ascii=False) + "\n" for pair in pairs)

    def size(self, example: E) -> int:
        """The length of an example; a batch holds examples of about the same length."""
        return sum(len(sentence) for sentence in self.sentences(example))


def task_names() -> list[str]:
    """Our own tasks, then those that installed packages add."""
    return [*MODULES, *sorted(added(_GROUP).keys() - MODULES.keys())]


def find_task(name: str) -> Definition[Any, Any]:
    """A task's definition."""
    if name in MODULES:
        task: Definition[Any, Any] = import_module(MODULES[name]).TASK
        return task
    if name in added(_GROUP):
        return _added_task(name)
    tables = "; word senses are in polyseme reproduce --only table5" if name == "wsd" else ""
    raise ConfigError(f"there is no task {name!r} to train; there are: {', '.join(task_names())}{tables}")


def _added_task(name: str) -> Definition[Any, Any]:
    task = load_added(_GROUP, name)
    if not isinstance(task, Definition):
        raise broken(_GROUP, name, f"it is of type {type(task).__name__}, not a Definition")
    if task.name != name:
        raise broken(_GROUP, name, f"the task calls itself {task.name!r}")
    return task
