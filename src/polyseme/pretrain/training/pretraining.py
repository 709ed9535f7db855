"""A training run in its folder: started, watched, stopped, resumed, and finally a model.

RUN/recipe.json          what is being done          RUN/log.jsonl      every step, every validation
RUN/last.safetensors     the newest checkpoint       RUN/curve.png      the same as a picture
RUN/best.safetensors     the best so far             RUN/tensorboard/   the same for TensorBoard
RUN/model/               the finished model          RUN/base.json      the model it started from, if any
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch

from polyseme.errors import ConfigError, JobError
from polyseme.formats.detect import load
from polyseme.formats.model import StoredModel
from polyseme.jobs.atomic import exclusive
from polyseme.jobs.manifests import write_json
from polyseme.nn.training_kernel import has_bfloat16
from polyseme.pretrain.corpus.corpus import Corpus, open_corpus
from polyseme.pretrain.corpus.held_out import held_out_sentences
from polyseme.pretrain.training.base import check_base, inherited_card, loaded_model, recipe_in_shape_of, remember_base
from polyseme.pretrain.training.batches import TypeTable
from polyseme.pretrain.training.build import new_model
from polyseme.pretrain.training.checkpoint import read_checkpoint, restore
from polyseme.pretrain.training.distributed import Processes, join_processes
from polyseme.pretrain.training.language_model import LanguageModel
from polyseme.pretrain.training.open_run import LAST, OpenRun, Watch
from polyseme.pretrain.training.parallel import Runner, on_cores, one_after_the_other, parallel_threads
from polyseme.pretrain.training.run_plan import RECIPE, RunPlan, check_same_run, describe_texts
from polyseme.pretrain.training.sampler import new_sampler
from polyseme.pretrain.training.trainer import Training, new_optimizer
from polyseme.text.vocabulary import Indexer

LOCK = "run.lock"

#: Makes the model that a run starts from, and its indexer.
FirstModel = Callable[[RunPlan, Corpus], tuple[LanguageModel, Indexer]]


def pretrain(plan: RunPlan, *, resume: bool = False, watch: Watch | None = None) -> Path:
    """Train until the budget is used up, in the shape of ``plan.init`` if given; returns the model's folder."""
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
    """The same for any first model, made from ``base`` or new."""
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
    """Lock the run's folder for this run."""
    if not processes.first:
        yield
        return
    if (out / LAST).exists() and not resume:
        raise JobError(f"{out} already holds a run; continue it with --resume, or choose another --out")
    if resume and not (out / LAST).exists():
        raise JobError(f"{out} holds no checkpoint to resume; start the run without --resume")
    out.mkdir(parents=True, exist_ok=True)
    with exclusive(out / LOCK, f"another process is training in {out}; wait for it, or choose another --out"):
        yield


@contextmanager
def _runner(plan: RunPlan) -> Iterator[Runner]:
    if plan.device == "cpu":
        with on_cores(plan.threads or parallel_threads()) as runner:
            yield runner
    else:
        yield one_after_the_other


def _start(plan: RunPlan, corpus: Corpus, first_model: FirstModel, processes: Processes, resume: bool) -> OpenRun:
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
    share, directions = (processes.rank, processes.world), model.bilm.config.directions
    sampler = new_sampler(plan.recipe.text, corpus, table, sentences, directions, plan.seed, share)
    training = Training(recipe, model, new_optimizer(recipe.optimizer, model), sampler, plan.seed, processes)
    if saved is not None:
        restore(training, *saved)
    if processes.first:
        write_json(plan.out / RECIPE, recipe.to_dict())
    before = 0.0 if saved is None else saved[1].get("seconds", 0.0)
    return OpenRun(plan, corpus, indexer, training, held_out, texts, time.monotonic() - before)


def product_precision(choice: str, device: torch.device) -> torch.dtype:
    """The precision of matrix products in training, from the recipe and what the device supports."""
    can = has_bfloat16() if device.type == "cpu" else device.type == "cuda" and torch.cuda.is_bf16_supported()
    if choice == "bfloat16" and not can:
        raise ConfigError(
            f"precision is bfloat16, but this {'CPU or the installed kernel' if device.type == 'cpu' else 'device'} "
            "does not support it; use --set precision=float32"
        )
    return torch.bfloat16 if can and choice != "float32" else torch.float32


def _new_model(plan: RunPlan, corpus: Corpus) -> tuple[LanguageModel, Indexer]:
    return new_model(plan.recipe, corpus, plan.seed)
