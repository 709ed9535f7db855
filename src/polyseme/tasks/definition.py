"""What a task is, for everything that trains, stores, scores and runs it: one subclass of ``Definition`` per task.

    files ─ read ─► examples ─ collate ─► batch ─ network ─► loss, predictions ─ score ─► Scores
                                                                              └ record, write ─► JSONL, own format

A definition has no state. Sizes come from a preset, words and labels from ``vocabularies``, vectors from ``Features``.
Tasks are found by name, those of other packages too; a task's module is imported when the task is asked for.
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

E = TypeVar("E")  #: an example: a frozen dataclass, with its gold answer or None in its place
S = TypeVar("S")  #: sizes of the network: a frozen dataclass of numbers, strings and truth values

Vocabularies = dict[str, list[str]]
Split = Callable[[str], list[Sentence]]
_GROUP: Group = "polyseme.tasks"

#: Each module has its ``Definition`` under the name TASK.
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
    weight_decay: NotNegative = 0.0  #: of weight matrices
    clip: Positive = 5.0  #: of the norm of all gradients
    average: Share = 0.0  #: decay of a moving average of the weights, which is scored and kept; 0 for none
    patience: Count = 5  #: epochs without a better score on dev, after which training ends
    halve_after: Natural = 2  #: epochs without a better score, after which the rate is halved; 0 for never
    share: Annotated[float, Meta(gt=0, le=1)] = 1.0  #: of the training examples, from the beginning of a shuffled list
    looks: Natural = 0  #: examples of dev that are scored after each epoch, evenly spread; 0 for all

    def __post_init__(self) -> None:
        checked(self)


@dataclass(frozen=True, slots=True)
class Preset(Generic[S]):
    """Everything about a run that is a choice: ``--budget paper`` or ``--budget cpu``."""

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
    """A task's parameters; ``tokens`` are those that every task begins with."""

    def __init__(self, tokens: TokenInputs) -> None:
        super().__init__()
        self.tokens = tokens

    @abstractmethod
    def forward(self, batch: Any) -> Tensor:
        """The loss of a batch: the mean over what it predicts. []"""

    @abstractmethod
    def predict(self, batch: Any) -> list[Any]:
        """One prediction for each example of the batch, in order: anything that JSON can hold."""


class Definition(ABC, Generic[E, S]):
    """A task."""

    name: ClassVar[str]  #: "ner"
    title: ClassVar[str]  #: what it does, in a few words
    metric: ClassVar[str]  #: the score that training looks at, one of ``Scores.values``; higher is better
    by_sentence: ClassVar[bool] = False  #: whether each sentence of a text is an example of its own
    suffixes: ClassVar[tuple[str, ...]] = ()  #: of its files, the best first; () for any
    presets: ClassVar[Mapping[str, Preset[Any]]]  #: "paper" and "cpu"

    def find(self, folder: Path) -> DataFiles:
        """The train, dev and test files of a folder, by their names."""
        return find_data(folder, self.suffixes)

    @abstractmethod
    def read(self, path: Path, split: Split) -> list[E]:
        """The examples of a file (or folder), with their gold answers; ``split`` is for files that hold raw text."""

    def read_to_predict(self, path: Path, split: Split) -> list[E]:
        """All examples of a file, also those that ``read`` leaves out because nobody knows their answers."""
        return self.read(path, split)

    @abstractmethod
    def examples(self, item: Any, split: Split) -> list[E]:
        """Examples without gold, to predict: ``item`` is raw text, a list of tokens, or a JSON object."""

    @abstractmethod
    def sentences(self, example: E) -> Sequence[Sequence[str]]:
        """Every list of tokens of which ``collate`` will ask vectors."""

    def for_training(self, examples: list[E], network: S) -> list[E]:
        """What is trained on, where that is not just what was read."""
        return examples

    def left_out(self, examples: list[E], network: S) -> str:
        """What ``for_training`` leaves out and why, for people; "" where there is nothing to say."""
        return ""

    def check_gold(self, examples: Sequence[E], source: str) -> None:
        """InputError where an example of a file has no gold answer, so that it could not be scored."""

    @abstractmethod
    def vocabularies(self, examples: Sequence[E]) -> Vocabularies:
        """Labels and whatever else the network needs to know of the training examples, as lists of strings."""

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
        """Numbers of one example that add up over examples to what the metric is made of.

        Scores on many samples of a test set, which tell what is significant, are sums of them. Unless a task says
        otherwise, its metric is a mean over examples.
        """
        return self.score([prediction], [example]).values[self.metric] / 100, 1.0

    def from_tallies(self, sums: Floats) -> Floats:
        """Sums of tallies [..., K] → the metric in percent [...]"""
        return 100 * sums[..., 0] / np.maximum(sums[..., 1], 1)

    @abstractmethod
    def record(self, example: E, prediction: Any) -> dict[str, Any]:
        """One line of JSON: the input and what was predicted of it."""

    def write(self, pairs: Iterable[tuple[E, Any]]) -> Iterator[str]:
        """Predictions in the task's own format, piece by piece, line ends included; JSON lines where it has none."""
        return (json.dumps(self.record(*pair), ensure_ascii=False) + "\n" for pair in pairs)

    def size(self, example: E) -> int:
        """How long an example is; batches hold examples of about the same size."""
        return sum(len(sentence) for sentence in self.sentences(example))


def task_names() -> list[str]:
    """Our own, then those that installed packages add."""
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
