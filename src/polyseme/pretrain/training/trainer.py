"""The training loop.

    for every step:
        batches of text  →  losses and gradients  →  sum over processes  →  clip  →  update
        now and then: validate on held-out text, write a checkpoint

The loop yields events; the run that consumes them writes files and reports (``open_run``).

A recipe can give the first part of its budget to the softmax alone, while the biLM is frozen. Each of the two parts has
its own optimiser and learning-rate schedule.

All randomness in a step depends only on the seed and the step's number, so a run that was stopped and resumed has the
same losses, step by step, as one that never stopped.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from polyseme.errors import JobError
from polyseme.lm.likelihood import Likelihood
from polyseme.nn.dropout import keep_mask
from polyseme.nn.moving_average import MovingAverage
from polyseme.nn.softmax import draw_negatives
from polyseme.pretrain.recipe import OptimizerChoice, Recipe
from polyseme.pretrain.training.batches import PackedBatch
from polyseme.pretrain.training.distributed import Processes
from polyseme.pretrain.training.language_model import LanguageModel, States, zero_states
from polyseme.pretrain.training.objective import Dropout, Gradients, compute_gradients, compute_softmax_gradients
from polyseme.pretrain.training.optimizer import Adagrad, AdamSettings, AdamW, Optimizer, clip_norm
from polyseme.pretrain.training.parallel import Runner
from polyseme.pretrain.training.sampler import Sampler
from polyseme.pretrain.training.step_softmax import StepSoftmax, full_softmax, sampled_softmax

#: Steps between updates of the moving average, each of which reads and writes all weights.
AVERAGE_EVERY = 8


@dataclass(slots=True)
class Training:
    """A run in memory: the contents of a checkpoint, and what else it needs to continue."""

    recipe: Recipe
    model: LanguageModel
    optimizer: Optimizer
    sampler: Sampler
    seed: int
    processes: Processes = field(default_factory=Processes)
    step: int = 0
    tokens: int = 0  #: seen so far, not counting boundaries
    states: States | None = None  #: carried by windows, after the last step
    best: float = math.inf  #: the lowest validation perplexity so far
    since_best: int = 0  #: validations since then, not counting those of a frozen biLM
    validated_at: int = 0  #: number of tokens at the last validation
    average: MovingAverage = field(init=False)

    def __post_init__(self) -> None:
        self.average = MovingAverage(self.model, self.recipe.optimizer.average**AVERAGE_EVERY)


@dataclass(frozen=True, slots=True)
class StepReport:
    """The result of a step."""

    step: int
    tokens: int  #: seen so far
    forward: float  #: mean loss of the step, nats
    backward: float
    norm: float  #: global norm of the gradients, before clipping
    rate: float

    @property
    def loss(self) -> float:
        return (self.forward + self.backward) / 2


def new_optimizer(choice: OptimizerChoice, model: LanguageModel) -> Optimizer:
    """The recipe's optimiser; with a shared word table, the softmax weights belong to the network."""
    weight = model.softmax.weight
    if choice.name == "adagrad":
        return Adagrad(model.network(), weight, model.softmax.bias)
    settings = AdamSettings(betas=(choice.beta1, choice.beta2), decay=choice.decay)
    return AdamW(model.network(), weight, model.softmax.bias, settings)


def learning_rate(choice: OptimizerChoice, progress: float) -> float:
    """The rate after a share of the budget: a linear warmup, then constant or a cosine down to ``final``."""
    if progress < choice.warmup:
        return choice.rate * (progress / choice.warmup)
    if choice.schedule == "constant":
        return choice.rate
    done = min(1.0, (progress - choice.warmup) / (1 - choice.warmup))
    return choice.rate * (choice.final + (1 - choice.final) * (1 + math.cos(math.pi * done)) / 2)


def is_frozen(training: Training) -> bool:
    """Whether the biLM is still frozen."""
    return training.tokens < training.recipe.budget.softmax_tokens


def progress(training: Training) -> float:
    """The share used up of the budget, or of its current part (the softmax alone, or all weights)."""
    budget = training.recipe.budget
    first = min(budget.softmax_tokens, budget.tokens)
    return training.tokens / first if is_frozen(training) else (training.tokens - first) / max(1, budget.tokens - first)


def step_softmax(training: Training, batches: Sequence[PackedBatch]) -> StepSoftmax:
    """The softmax of this step; every process draws the same negatives."""
    choice, words = training.recipe.softmax, len(training.model.softmax.bias)
    if choice.kind != "sampled":
        return full_softmax(words, training.model.softmax.cutoffs, training.model.device)
    directions = training.model.bilm.config.directions
    random = np.random.default_rng([training.seed, training.step])
    negatives = [draw_negatives(words, choice.negatives, random)]
    while len(negatives) < directions:
        negatives.append(negatives[0] if choice.shared_negatives else draw_negatives(words, choice.negatives, random))
    return sampled_softmax(words, torch.cat([batch.targets for batch in batches]), tuple(negatives))


def step_dropout(training: Training, number: int) -> list[Dropout]:
    """A dropout for each direction, seeded by the seed, the step, the batch and the process."""
    rate = training.recipe.dropout
    if rate == 0:
        return [lambda x: x] * training.model.bilm.config.directions

    def dropping(direction: int) -> Dropout:
        seed = np.random.SeedSequence([training.seed, training.step, number, training.processes.rank, direction])
        generator = torch.Generator(training.model.device).manual_seed(int(seed.generate_state(1, np.uint64)[0]) >> 1)
        return lambda x: x * keep_mask(x, rate, generator)

    return [dropping(direction) for direction in range(training.model.bilm.config.directions)]


def train_step(training: Training, batches: Sequence[PackedBatch], softmax: StepSoftmax, run: Runner) -> StepReport:
    """Make one update from one or more batches."""
    model, choice = training.model, training.recipe.optimizer
    rate = learning_rate(choice, progress(training))
    total: Gradients | None = None
    for number, batch in enumerate(batches):
        carried = training.recipe.text.read == "windows" and training.states is not None
        states = training.states if carried and training.states is not None else zero_states(model.bilm, batch)
        scale = choice.scale / len(batches)
        if is_frozen(training):
            gradients = compute_softmax_gradients(model, batch, softmax, states, run=run, scale=scale)
        else:
            dropout = step_dropout(training, number)
            gradients = compute_gradients(model, batch, softmax, states, run=run, dropout=dropout, scale=scale)
        training.states = gradients.states if training.recipe.text.read == "windows" else None
        total = gradients if total is None else total.plus(gradients)
    assert total is not None
    dense = [*total.network, total.bias] if model.shared_words else [*total.network, total.weight, total.bias]
    training.processes.add_up([*dense, total.losses])
    norm = clip_norm(dense, choice.clip_norm)
    training.optimizer.step(total.network, total.weight, total.bias, softmax.rows, rate)
    training.step += 1
    if training.step % AVERAGE_EVERY == 0:
        training.average.follow(training.step // AVERAGE_EVERY)
    training.tokens += sum(batch.tokens for batch in batches)
    losses = (total.losses / sum(batch.positions for batch in batches)).tolist()
    if not math.isfinite(sum(losses)):
        raise JobError(
            f"the loss is {losses[0]} after step {training.step}: training diverged; "
            "resume from the last checkpoint with a lower rate, for example --set optimizer.rate="
            f"{training.recipe.optimizer.rate / 2:g}"
        )
    return StepReport(training.step, training.tokens, losses[0], losses[-1], norm, rate)


@dataclass(frozen=True, slots=True)
class Looked:
    """The model was validated on held-out text."""

    likelihood: Likelihood


@dataclass(frozen=True, slots=True)
class Improved:
    """The model's current weights are the best so far."""


@dataclass(frozen=True, slots=True)
class CheckpointDue:
    """It is time to write a checkpoint."""


#: What happens in a run, in order; every process gets the same events.
Event = StepReport | Looked | Improved | CheckpointDue
Validate = Callable[[Training], Likelihood]


def train(training: Training, run: Runner, validate: Validate, *, look_first: bool = False) -> Iterator[Event]:
    """Train until the budget is used up, or early stopping; a validation due when the run was stopped comes first.

    ``look_first`` also validates the initial weights.
    """
    choice, budget = training.recipe.optimizer, training.recipe.budget
    if look_first:
        yield from look_at_held_out_text(training, validate)
        yield CheckpointDue()
    batches = iter(training.sampler)
    saved = time.monotonic()
    while True:
        if look := look_is_due(training):
            if has_thawed(training):
                training.optimizer = new_optimizer(choice, training.model)
            yield from look_at_held_out_text(training, validate)
        # All use the first process's clock, so that they save the same step.
        if look or training.processes.agree(time.monotonic() - saved) > 60 * budget.checkpoint_minutes:
            yield CheckpointDue()
            saved = time.monotonic()
        if is_finished(training):
            return
        taken = [batch.to(training.model.device) for batch in take(batches, choice.accumulate)]
        yield train_step(training, taken, step_softmax(training, taken), run)


def has_thawed(training: Training) -> bool:
    """Whether the biLM has been unfrozen since the last validation."""
    return training.validated_at < training.recipe.budget.softmax_tokens <= training.tokens


def look_is_due(training: Training) -> bool:
    """Whether to validate before the next step."""
    budget, since = training.recipe.budget, training.tokens - training.validated_at
    at_the_end = training.tokens >= budget.tokens
    return since > 0 and (at_the_end or has_thawed(training) or since >= budget.validate_every)


def is_finished(training: Training) -> bool:
    """Whether the budget or the patience (early stopping) is used up."""
    budget = training.recipe.budget
    impatient = budget.patience is not None and training.since_best >= budget.patience
    return impatient or training.tokens >= budget.tokens


def look_at_held_out_text(training: Training, validate: Validate) -> Iterator[Event]:
    """Validate, and report whether the model is the best so far; if there is a moving average, it is validated."""
    with training.average.in_place():
        likelihood = validate(training)
        yield Looked(likelihood)
        perplexity = training.processes.agree(likelihood.perplexity)
        was_frozen = training.validated_at < training.recipe.budget.softmax_tokens
        training.validated_at = training.tokens
        if perplexity < training.best:
            training.best, training.since_best = perplexity, 0
            yield Improved()
        elif not was_frozen:  # patience counts only while all weights are trained
            training.since_best += 1


def take(batches: Iterator[PackedBatch], count: int) -> list[PackedBatch]:
    return [next(batches) for _ in range(count)]
