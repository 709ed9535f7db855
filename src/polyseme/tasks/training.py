"""The loop that trains every task: batches by length, evaluation on dev after each epoch, the best network kept.

Each step (order, dropout) depends only on the seed and the step's number, so a run that was killed and resumed has the
same losses as one that was not.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor

from polyseme.errors import JobError
from polyseme.jobs.progress import Stopped, deferred_interrupts, working
from polyseme.nn.moving_average import MovingAverage
from polyseme.tasks.definition import Definition, TaskNetwork, TrainingChoices, Vocabularies
from polyseme.tasks.inputs import Features
from polyseme.tasks.scores import Scores

#: Batches whose examples are sorted by length together: enough for even batches, few enough for new ones each epoch.
SORTED_TOGETHER = 50
CHECKPOINT_SECONDS = 60.0
PREDICTED_TOGETHER = 32


@dataclass
class TrainingProgress:
    """How far a run has come; besides tensors, a checkpoint holds exactly this."""

    epoch: int = 0  # finished epochs
    batch: int = 0  # finished batches of the current epoch
    step: int = 0
    loss: float = 0.0  # sum over these batches
    rate: float = 0.0
    best: float = -math.inf
    best_epoch: int = 0
    seconds: float = 0.0  # of training and evaluation, including before resuming
    history: list[dict[str, float]] = field(default_factory=list)  # one entry per epoch

    @property
    def stale(self) -> int:
        """Epochs since the best one."""
        return self.epoch - self.best_epoch

    def finished(self, choices: TrainingChoices) -> bool:
        return self.epoch >= choices.epochs or (self.epoch > 0 and self.stale >= choices.patience)

    def stopped_by(self, choices: TrainingChoices) -> str:
        """ "patience" if dev stopped improving (early stopping), "epochs" if there were no more epochs."""
        return "patience" if self.epoch > 0 and self.stale >= choices.patience else "epochs"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"best": self.best if self.history else None}

    @classmethod
    def of(cls, values: dict[str, Any]) -> TrainingProgress:
        return cls(**(values | ({"best": -math.inf} if values["best"] is None else {})))


@dataclass(frozen=True, slots=True)
class TaskWatch:
    """Callbacks that report on a run."""

    said: Callable[[str], None] = lambda line: None
    stepped: Callable[[TrainingProgress, int], None] = lambda progress, batches: None
    looked: Callable[[TrainingProgress, Scores], None] = lambda progress, scores: None


@dataclass(frozen=True, slots=True)
class EpochHooks:
    """Callbacks that save a run to disk."""

    save_best: Callable[[], None]
    save_last: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Workplace:
    """A task's network and its data: everything needed to turn examples into losses and predictions."""

    definition: Definition[Any, Any]
    network: TaskNetwork
    vocabularies: Vocabularies
    features: Features
    device: torch.device

    def batch(self, examples: Sequence[Any]) -> Any:
        return to_device(self.definition.collate(examples, self.vocabularies, self.features), self.device)


@dataclass(slots=True)
class TaskTraining:
    """How a network is trained, and how far it has come."""

    choices: TrainingChoices
    seed: int
    optimizer: torch.optim.Optimizer
    average: MovingAverage
    progress: TrainingProgress

    @classmethod
    def begin(cls, network: TaskNetwork, choices: TrainingChoices, seed: int) -> TaskTraining:
        average = MovingAverage(network, choices.average)
        return cls(choices, seed, new_optimizer(network, choices), average, TrainingProgress(rate=choices.rate))


def train(
    place: Workplace,
    training: TaskTraining,
    examples: Sequence[Any],
    dev: Sequence[Any],
    hooks: EpochHooks,
    watch: TaskWatch,
) -> None:
    """Train until the epochs are over or dev has stopped improving."""
    choices, progress = training.choices, training.progress
    sizes = [place.definition.size(example) for example in examples]
    dev = spread(dev, choices.looks)
    saved = time.monotonic()
    began = saved - progress.seconds
    with deferred_interrupts() as stop_is_wanted:
        while not progress.finished(choices):
            order = batches_of_epoch(sizes, choices.batch, training.seed, progress.epoch)
            with working(f"epoch {progress.epoch + 1}", len(order)) as work:
                for rows in order[progress.batch :]:
                    progress.loss += take_step(place, training, [examples[row] for row in rows])
                    progress.batch += 1
                    progress.seconds = time.monotonic() - began
                    work.reach(progress.batch, note=f"loss {progress.loss / progress.batch:.4f}")
                    watch.stepped(progress, len(order))
                    if stop_is_wanted():
                        hooks.save_last()
                        raise Stopped
                    if time.monotonic() - saved > CHECKPOINT_SECONDS:
                        hooks.save_last()
                        saved = time.monotonic()
            with training.average.in_place():
                scores = evaluate(place, dev)
                progress.seconds = time.monotonic() - began
                end_epoch(training, len(order), scores.values[place.definition.metric])
                if progress.stale == 0:
                    hooks.save_best()
            hooks.save_last()
            saved = time.monotonic()
            watch.looked(progress, scores)


def take_step(place: Workplace, training: TaskTraining, examples: Sequence[Any]) -> float:
    """Make one update; returns the task's loss before it."""
    progress = training.progress
    torch.manual_seed(training.seed * 1_000_003 + progress.step)
    place.network.train()
    training.optimizer.zero_grad(set_to_none=True)
    loss: Tensor = place.network(place.batch(examples))
    (loss + place.network.tokens.penalty().to(loss.device)).backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(place.network.parameters(), training.choices.clip)
    training.optimizer.step()
    progress.step += 1
    training.average.follow(progress.step)
    value = float(loss.detach())
    if not math.isfinite(value):
        raise JobError(f"the loss is {value} at step {progress.step}; try a smaller rate, or look at the data")
    return value


def end_epoch(training: TaskTraining, batches: int, score: float) -> None:
    """Add the epoch to the history, and halve the rate if dev has stopped improving."""
    progress, patience = training.progress, training.choices.halve_after
    progress.epoch += 1
    progress.history.append(
        {
            "epoch": progress.epoch,
            "loss": progress.loss / max(1, batches),
            "dev": score,
            "rate": progress.rate,
            "seconds": round(progress.seconds, 2),
        }
    )
    progress.batch, progress.loss = 0, 0.0
    if score > progress.best:
        progress.best, progress.best_epoch = score, progress.epoch
    elif patience and progress.stale % patience == 0:
        progress.rate /= 2
        set_rate(training.optimizer, progress.rate)


def new_optimizer(network: TaskNetwork, choices: TrainingChoices) -> torch.optim.Optimizer:
    """Only weight matrices decay: biases need not, and the mix of ELMo's layers has its own penalty."""
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    groups: list[dict[str, Any]] = [
        {"params": [p for p in trained if p.ndim > 1], "weight_decay": choices.weight_decay},
        {"params": [p for p in trained if p.ndim <= 1], "weight_decay": 0.0},
    ]
    if choices.optimizer == "adam":
        return torch.optim.Adam(groups, lr=choices.rate)
    return torch.optim.Adadelta(groups, lr=choices.rate, rho=0.95)  # Zeiler's (2012) value; PyTorch's default is 0.9


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate


def batches_of_epoch(sizes: Sequence[int], batch: int, seed: int, epoch: int) -> list[list[int]]:
    """Every example once, in batches of similar length, in a new order for each epoch."""
    dice = random.Random(f"{seed} {epoch}")
    rows = list(range(len(sizes)))
    dice.shuffle(rows)
    batches = []
    for start in range(0, len(rows), batch * SORTED_TOGETHER):
        together = sorted(rows[start : start + batch * SORTED_TOGETHER], key=sizes.__getitem__)
        batches += [together[first : first + batch] for first in range(0, len(together), batch)]
    dice.shuffle(batches)
    return batches


def take_share(examples: list[Any], share: float) -> list[Any]:
    """A share of the examples; it is the same for every seed, so that runs can be compared."""
    if share == 1:
        return examples
    rows = list(range(len(examples)))
    random.Random("share").shuffle(rows)
    return [examples[row] for row in rows[: max(1, round(share * len(rows)))]]


def spread(examples: Sequence[Any], count: int) -> Sequence[Any]:
    """``count`` of the examples, evenly spread; all of them for 0."""
    if count in (0, len(examples)) or count > len(examples):
        return examples
    return [examples[number * len(examples) // count] for number in range(count)]


def evaluate(place: Workplace, examples: Sequence[Any]) -> Scores:
    return place.definition.score(predict(place, examples), examples)


@torch.no_grad()
def predict(place: Workplace, examples: Sequence[Any], together: int = PREDICTED_TOGETHER) -> list[Any]:
    """One prediction for each example, in order."""
    place.network.eval()
    rows = sorted(range(len(examples)), key=lambda row: place.definition.size(examples[row]))
    found: dict[int, Any] = {}
    for start in range(0, len(rows), together):
        chosen = rows[start : start + together]
        found.update(zip(chosen, place.network.predict(place.batch([examples[row] for row in chosen])), strict=True))
    return [found[row] for row in range(len(examples))]


def to_device(value: Any, device: torch.device) -> Any:
    """A batch with its tensors moved to the device, through all its dataclasses and lists."""
    if device.type == "cpu":
        return value
    if isinstance(value, Tensor):
        return value.to(device)
    if is_dataclass(value) and not isinstance(value, type):
        moved = {f.name: to_device(getattr(value, f.name), device) for f in fields(value) if f.init}
        return replace(value, **moved)
    if isinstance(value, list):
        return [to_device(item, device) for item in value]
    return value
