"""A training run in its folder: started, watched, stopped, resumed, and in the end a model.

RUN/recipe.json          what is being done          RUN/log.jsonl      every step, every validation
RUN/last.safetensors     the newest checkpoint       RUN/curve.png      the same as a picture
RUN/best.safetensors     the best so far             RUN/tensorboard/   the same for TensorBoard
RUN/model/               the finished model          RUN/base.json      the model it began with, if any
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from polyseme.errors import ConfigError, JobError
from polyseme.formats.detect import load
from polyseme.formats.model import StoredModel
from polyseme.formats.native import save_native
from polyseme.jobs.interrupts import Stopped, deferred_interrupts
from polyseme.jobs.locks import exclusive
from polyseme.jobs.manifests import write_json
from polyseme.jobs.progress import working
from polyseme.nn.training_kernel import has_bfloat16
from polyseme.pretrain.corpus.corpus import Corpus, open_corpus
from polyseme.pretrain.corpus.held_out import held_out_sentences
from polyseme.pretrain.recipe import Recipe, change_recipe, load_recipe, recipe_from_dict
from polyseme.pretrain.training.base import check_base, inherited_card, loaded_model, recipe_in_shape_of, remember_base
from polyseme.pretrain.training.batches import TypeTable
from polyseme.pretrain.training.build import new_model, stored_model
from polyseme.pretrain.training.checkpoint import read_checkpoint, restore, save_checkpoint
from polyseme.pretrain.training.distributed import Processes, join_processes
from polyseme.pretrain.training.journal import Journal, draw_curve, read_journal
from polyseme.pretrain.training.objective import LanguageModel
from polyseme.pretrain.training.parallel import Runner, after, on_cores, one_after_the_other
from polyseme.pretrain.training.perplexity import Likelihood, evaluate, warm_states
from polyseme.pretrain.training.same_run import check_same_run, describe_texts
from polyseme.pretrain.training.sampler import Sampler, SentenceSampler, WindowSampler
from polyseme.pretrain.training.trainer import (
    CheckpointDue,
    Event,
    Improved,
    Looked,
    StepReport,
    Training,
    new_optimizer,
    train,
)
from polyseme.text.indexing import Indexer
from polyseme.text.tokenization import UNITS, language_code

LAST, BEST, RECIPE, CURVE, MODEL, LOCK = (
    "last.safetensors",
    "best.safetensors",
    "recipe.json",
    "curve.png",
    "model",
    "run.lock",
)


@dataclass(frozen=True, slots=True)
class Watch:
    """What a person sees of a run."""

    started: Callable[[Training], None] = lambda training: None
    stepped: Callable[[StepReport], None] = lambda report: None
    validated: Callable[[int, Likelihood], None] = lambda tokens, likelihood: None


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What to train, on what, where."""

    corpus: Path
    out: Path
    recipe: Recipe
    valid: Path | None = None
    init: str | None = None  #: a model whose weights are the first ones
    init_options: str | None = None  #: of HDF5 weights that have none beside them
    seed: int = 0
    device: str = "cpu"
    threads: int = 2
    card: dict[str, Any] = field(default_factory=dict)


#: The model that a run begins with, and what it reads of a token.
FirstModel = Callable[[RunPlan, Corpus], tuple[LanguageModel, Indexer]]


def pretrain(plan: RunPlan, *, resume: bool = False, watch: Watch | None = None) -> Path:
    """Train until the budget is used up; the folder of the finished model, in the shape of ``plan.init`` if given."""
    if plan.init is None:
        return run_plan(plan, _new_model, base=None, resume=resume, watch=watch)
    base = load(plan.init, options=plan.init_options)
    plan = replace(plan, recipe=recipe_in_shape_of(base, plan.recipe))

    def first_model(plan: RunPlan, corpus: Corpus) -> tuple[LanguageModel, Indexer]:
        return loaded_model(base, plan.recipe, corpus, str(plan.init)), base.indexer

    return run_plan(plan, first_model, base=base, resume=resume, watch=watch)


def run_plan(
    plan: RunPlan, first_model: FirstModel, *, base: StoredModel | None, resume: bool, watch: Watch | None
) -> Path:
    """The same from any first model, made of ``base`` or new."""
    corpus = open_corpus(plan.corpus)
    if base is not None:
        plan = replace(plan, card={**inherited_card(base, corpus.meta.lang), **plan.card})
    with join_processes(plan.device) as processes, _only_one(plan.out, processes, resume):
        if resume:
            check_base(plan.out, base)
        run = _start(plan, corpus, first_model, processes, resume)
        if processes.first and not resume:
            remember_base(plan.out, base)
        with _runner(plan) as runner:
            return run.to_the_end(runner, watch or Watch())


@contextmanager
def _only_one(out: Path, processes: Processes, resume: bool) -> Iterator[None]:
    """The run's folder, for this run alone."""
    if not processes.first:
        yield
        return
    if (out / LAST).exists() and not resume:
        raise JobError(f"{out} already holds a run; go on with it by --resume, or choose another --out")
    if resume and not (out / LAST).exists():
        raise JobError(f"{out} holds no checkpoint to resume; start the run without --resume")
    out.mkdir(parents=True, exist_ok=True)
    with exclusive(out / LOCK, f"another process is training in {out}; wait for it, or choose another --out"):
        yield


@contextmanager
def _runner(plan: RunPlan) -> Iterator[Runner]:
    if plan.device == "cpu":
        with on_cores(plan.threads) as runner:
            yield runner
    else:
        yield one_after_the_other


@dataclass(slots=True)
class _Run:
    """An open run: what is in memory, and what it needs beside."""

    plan: RunPlan
    corpus: Corpus
    indexer: Indexer
    training: Training
    held_out: list[list[str]]
    texts: dict[str, Any]  #: what is read, for checkpoints
    began: float  #: on the clock of this sitting, as if there had been no earlier ones and no time between them

    def to_the_end(self, runner: Runner, watch: Watch) -> Path:
        """Train, and do what each event of the training asks for."""
        training, budget = self.training, self.plan.recipe.budget
        is_new, first_tokens = training.step == 0 and training.best == math.inf, training.tokens
        watch.started(training)
        with (
            self._journal(after_step=-1 if is_new else training.step) as journal,
            deferred_interrupts() as stop_is_wanted,
            working("training", budget.tokens) as work,
        ):

            def stop_if_wanted() -> None:
                if training.processes.any(stop_is_wanted()):
                    raise Stopped

            validate = partial(self._validate, run=after(stop_if_wanted, runner))
            try:
                for event in train(training, runner, validate, look_first=is_new and self.plan.init is not None):
                    self._keep(event, journal)
                    if isinstance(event, StepReport):
                        work.reach(event.tokens, tokens=event.tokens - first_tokens, note=_note(event, training))
                    if training.processes.first:
                        _tell(event, training, watch)
                    if isinstance(event, StepReport):
                        stop_if_wanted()
            except Stopped:
                self._keep(CheckpointDue(), journal)
                training.processes.wait()  # torchrun ends all of them when one ends, and the first may still write
                raise
        if training.processes.first:
            self._save_best()
        training.processes.wait()
        return self.plan.out / MODEL

    @contextmanager
    def _journal(self, after_step: int) -> Iterator[Journal | None]:
        """Open for more; only the first process writes one."""
        if not self.training.processes.first:
            yield None
            return
        with closing(Journal(self.plan.out, after_step=after_step)) as journal:
            yield journal

    def _validate(self, training: Training, run: Runner) -> Likelihood:
        model, indexer = training.model, self.indexer
        start = warm_states(model, indexer) if self.plan.recipe.text.read == "windows" else None
        return sum(evaluate(model, self.held_out, self.corpus.vocabulary, indexer, run, start=start), Likelihood())

    def _keep(self, event: Event, journal: Journal | None) -> None:
        """Write what lasts."""
        out, training = self.plan.out, self.training
        match event:
            case StepReport() if journal is not None:
                journal.step(event)
            case Looked(likelihood) if journal is not None:
                journal.validation(training.step, training.tokens, likelihood, self._seconds())
                journal.flush()
                draw_curve(journal.path, out / CURVE)
            case Improved():
                save_checkpoint(training, out / BEST, self._about())
                if training.processes.first:  # so that it can be tried while the training goes on
                    self._save_model(training.tokens)
            case CheckpointDue():
                if journal is not None:
                    journal.flush()
                save_checkpoint(training, out / LAST, self._about())

    def _seconds(self) -> float:
        """Of all sittings so far."""
        return time.monotonic() - self.began

    def _about(self) -> dict[str, Any]:
        return {**self.texts, "seconds": self._seconds()}

    def _save_best(self) -> None:
        """The model with the best weights: a kill may have come before it was written."""
        tensors, meta = read_checkpoint(self.plan.out / BEST)
        self.training.model.load_state_dict(
            {name.removeprefix("model."): t for name, t in tensors.items() if name.startswith("model.")}
        )
        self._save_model(meta["tokens"])

    def _save_model(self, tokens: int) -> None:
        """The weights as they are after so many tokens, with a card."""
        out = self.plan.out
        card = run_card(self.plan, self.corpus, out, tokens=tokens)
        save_native(stored_model(self.training.model, self.indexer, self.corpus.vocabulary, card), out / MODEL)


def _tell(event: Event, training: Training, watch: Watch) -> None:
    match event:
        case StepReport():
            watch.stepped(event)
        case Looked(likelihood):
            watch.validated(training.tokens, likelihood)


def _note(step: StepReport, training: Training) -> str:
    return f"loss {step.loss:.3f}, rate {step.rate:.2g}, epoch {training.sampler.position['epoch'] + 1}"


def run_card(plan: RunPlan, corpus: Corpus, out: Path, *, tokens: int) -> dict[str, Any]:
    """Data, recipe, tokens seen and perplexities of a run, the last and all that led to it."""
    looks = [line for line in read_journal(out / "log.jsonl") if "valid" in line and line["tokens"] <= tokens]
    return {
        "name": out.name,
        "languages": [language_code(corpus.meta.lang)],
        "tokenization": corpus.meta.lang,
        **({"unit": UNITS[corpus.meta.lang]} if corpus.meta.lang in UNITS else {}),
        "state": "reset" if plan.recipe.text.read == "sentences" else "warm",
        "training": {
            "recipe": plan.recipe.to_dict(),
            "data": [entry.name for entry in corpus.meta.inputs],
            "corpus_tokens": corpus.meta.tokens,
            "tokens_seen": tokens,
            "hours": round(looks[-1]["seconds"] / 3600, 2) if looks else None,
            "held_out": looks[-1]["valid"] if looks else None,
        },
        "curve": [{"tokens_seen": look["tokens"], "perplexity": look["valid"]["average"]} for look in looks],
        **plan.card,
    }


def _start(plan: RunPlan, corpus: Corpus, first_model: FirstModel, processes: Processes, resume: bool) -> _Run:
    recipe = plan.recipe
    sentences, held_out = held_out_sentences(corpus, plan.valid, recipe.budget.validate_on)
    texts = describe_texts(corpus, plan.valid, sentences, held_out)
    saved = read_checkpoint(plan.out / LAST) if resume else None
    if saved is not None:
        check_same_run(plan.out, saved[1], recipe, plan.seed, texts)
    model, indexer = first_model(plan, corpus)
    model.to(plan.device)
    model.precision = product_precision(recipe.precision, model.device)
    table = TypeTable.of_corpus(corpus, indexer)
    sampler = _sampler(plan, corpus, table, sentences, model.bilm.config.directions, processes)
    training = Training(recipe, model, new_optimizer(recipe.optimizer, model), sampler, plan.seed, processes)
    if saved is not None:
        restore(training, *saved)
    if processes.first:
        write_json(plan.out / RECIPE, recipe.to_dict())
    before = 0.0 if saved is None else saved[1].get("seconds", 0.0)
    return _Run(plan, corpus, indexer, training, held_out, texts, time.monotonic() - before)


def product_precision(choice: str, device: torch.device) -> torch.dtype:
    """Of the matrix products of training, by the recipe and what the device can do."""
    can = has_bfloat16() if device.type == "cpu" else device.type == "cuda" and torch.cuda.is_bf16_supported()
    if choice == "bfloat16" and not can:
        raise ConfigError(
            f"precision is bfloat16, but this {'CPU or the installed kernel' if device.type == 'cpu' else 'device'} "
            "cannot multiply in it; use --set precision=float32"
        )
    return torch.bfloat16 if can and choice != "float32" else torch.float32


def recipe_of_run(out: Path) -> Recipe:
    """The recipe that a run follows now."""
    try:
        return recipe_from_dict(json.loads((out / RECIPE).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        raise JobError(f"{out} holds no run to resume: it has no readable {RECIPE}") from None


def resumed_recipe(out: Path, name: str | None, changes: Sequence[str]) -> Recipe:
    """The recipe of a run with ``key=value`` changes; to name a recipe is not needed, and no other one is taken."""
    recipe = recipe_of_run(out)
    if name is not None and (other := load_recipe(name).name) != recipe.name:
        raise JobError(
            f"the run in {out} has the recipe {recipe.name}, not {other}; "
            "leave out --recipe, and change single values by --set"
        )
    return change_recipe(recipe, changes)


def _new_model(plan: RunPlan, corpus: Corpus) -> tuple[LanguageModel, Indexer]:
    return new_model(plan.recipe, corpus, plan.seed)


def _sampler(
    plan: RunPlan, corpus: Corpus, table: TypeTable, sentences: int, directions: int, processes: Processes
) -> Sampler:
    choice, share = plan.recipe.text, (processes.rank, processes.world)
    if choice.read == "sentences":
        return SentenceSampler(
            corpus,
            table,
            sentences=sentences,
            tokens=choice.tokens,
            max_length=choice.max_length,
            together=choice.together,
            capitals=choice.capitals,
            directions=directions,
            seed=plan.seed,
            share=share,
        )
    return WindowSampler(
        corpus,
        table,
        sentences=sentences,
        rows=choice.rows,
        steps=choice.steps,
        directions=directions,
        seed=plan.seed,
        share=share,
        shuffle=choice.shuffle,
    )
