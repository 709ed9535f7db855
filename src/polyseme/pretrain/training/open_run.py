"""A training run in progress: each event is logged, saved if necessary, and reported to the watch."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from polyseme.formats.native import save_native
from polyseme.jobs.progress import Stopped, deferred_interrupts, working
from polyseme.lm.likelihood import Likelihood
from polyseme.pretrain.corpus.corpus import Corpus
from polyseme.pretrain.training.build import stored_model
from polyseme.pretrain.training.checkpoint import read_checkpoint, save_checkpoint
from polyseme.pretrain.training.journal import Journal, draw_curve, read_journal
from polyseme.pretrain.training.parallel import Runner, after
from polyseme.pretrain.training.perplexity import evaluate, warm_states
from polyseme.pretrain.training.run_plan import RunPlan
from polyseme.pretrain.training.trainer import CheckpointDue, Event, Improved, Looked, StepReport, Training, train
from polyseme.text.tokenization import UNITS, language_code
from polyseme.text.vocabulary import Indexer

LAST, BEST, CURVE, MODEL = "last.safetensors", "best.safetensors", "curve.png", "model"


@dataclass(frozen=True, slots=True)
class Watch:
    """Callbacks that report on a run."""

    started: Callable[[Training], None] = lambda training: None
    stepped: Callable[[StepReport], None] = lambda report: None
    validated: Callable[[int, Likelihood], None] = lambda tokens, likelihood: None


@dataclass(slots=True)
class OpenRun:
    """An open run: the training in memory, and everything else that it needs."""

    plan: RunPlan
    corpus: Corpus
    indexer: Indexer
    training: Training
    held_out: list[list[str]]
    texts: dict[str, Any]  #: description of the text, for checkpoints
    began: float  #: start on the current clock, shifted back by the time trained before resuming

    def to_the_end(self, runner: Runner, watch: Watch) -> Path:
        """Train to the end, and handle each event."""
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
                training.processes.wait()  # torchrun ends all when one ends, and the first may still be writing
                raise
        if training.processes.first:
            self._save_best()
        training.processes.wait()
        return self.plan.out / MODEL

    @contextmanager
    def _journal(self, after_step: int) -> Iterator[Journal | None]:
        """The open journal; only the first process writes one."""
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
        """Write the results of an event to disk."""
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
                if training.processes.first:  # so that it can be tried while training continues
                    self._save_model(training.tokens)
            case CheckpointDue():
                if journal is not None:
                    journal.flush()
                save_checkpoint(training, out / LAST, self._about())

    def _seconds(self) -> float:
        """Seconds trained so far, including before resuming."""
        return time.monotonic() - self.began

    def _about(self) -> dict[str, Any]:
        return {**self.texts, "seconds": self._seconds()}

    def _save_best(self) -> None:
        """Save the model with the best weights: the run may have been killed before it was written."""
        tensors, meta = read_checkpoint(self.plan.out / BEST)
        self.training.model.load_state_dict(
            {name.removeprefix("model."): t for name, t in tensors.items() if name.startswith("model.")}
        )
        self._save_model(meta["tokens"])

    def _save_model(self, tokens: int) -> None:
        """Save the current weights, after this many tokens, with a card."""
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
    """The card of a run: data, recipe, tokens seen, and all perplexities up to the last."""
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
