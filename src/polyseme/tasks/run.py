"""A task's run in its folder: trained, stopped, resumed, and in the end a self-contained model.

RUN/run.json             task, choices, data, biLM       RUN/model.safetensors    the network that was best on dev
RUN/vocabularies.json    labels and characters           RUN/last.safetensors     the newest state, to resume from
RUN/static.json, .npy    the static vectors it used      RUN/history.json         loss and score of every epoch
RUN/scores.json          dev scores, per class, the learned mix weights             RUN/confusion.png
RUN/tensorboard/         loss, scores and rate of every epoch, if asked for
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from polyseme.elmo import Elmo
from polyseme.errors import ConfigError, InputError, JobError, MissingExtra
from polyseme.jobs.atomic import exclusive
from polyseme.jobs.manifests import describe_input, measure_piece, refuse_other, write_json, write_manifest
from polyseme.nn.run_file import open_tensorboard
from polyseme.sentence_reader import State, choose_device
from polyseme.settings import with_values
from polyseme.tasks.data_files import DataFiles, FileReading
from polyseme.tasks.definition import Definition, Preset, find_task
from polyseme.tasks.inputs import Features, LearnedMix, TokenInputs, open_elmo
from polyseme.tasks.layer_cache import LayerCache
from polyseme.tasks.run_description import (
    RUN,
    KnownModel,
    RunDescription,
    load_network,
    restore_progress,
    save_network,
    save_progress,
)
from polyseme.tasks.scores import Scores, draw_confusion
from polyseme.tasks.trained_task import NETWORK, VOCABULARIES
from polyseme.tasks.training import (
    EpochHooks,
    TaskTraining,
    TaskWatch,
    TrainingProgress,
    Workplace,
    evaluate,
    spread,
    take_share,
    train,
)
from polyseme.tasks.vectors.learned import LearnedWords, Spelling
from polyseme.tasks.vectors.static import AUTO, PACKAGE, STATIC_FILES, identify_static, load_static
from polyseme.text.tokenization import Language, language_name, split_text, word_language

LAST, HISTORY, SCORES, PICTURE, LOCK = (
    "last.safetensors",
    "history.json",
    "scores.json",
    "confusion.png",
    "run.lock",
)
LEARNED_WORDS = "GloVe is for English, so words learn their vectors with the task"
FEW_WORDS = 0.5  # share of tokens with a vector; below, the vectors are probably for another language
LARGEST_SEED = 1 << 32
#: What may change when a run is resumed: its length, and where the same model is stored.
FREE = ("training.epochs", "training.patience", "inputs.model", "inputs.options", "model.name", "pieces", "polyseme")


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """What to train, on which data, and where to write it."""

    task: str
    data: DataFiles
    out: Path
    preset: Preset[Any]
    budget: str = "paper"  #: the preset's name
    seed: int = 0
    device: str = "cpu"
    lang: Language | None = None  #: how raw text is split; by default as the biLM says, or as English without one
    state: State | None = None  #: the state a sentence starts from; by default as the biLM says
    cache: Path | None = None  #: folder for the biLM's layers; by default the user's cache
    dev_examples: int = 0  #: how many dev examples to use, evenly spread; 0 for all
    lenient: bool = False  #: accept tags that break their scheme
    skip_bad_lines: bool = False  #: leave out lines that are not UTF-8, and report them
    tensorboard: bool = False  #: also write curves for TensorBoard

    @classmethod
    def of(
        cls, task: str, data: str | Path | DataFiles, out: str | Path, budget: str | None = None, **choices: Any
    ) -> TaskPlan:
        """A plan from files, or a folder with train and dev; ``choices`` are fields of the plan or of its preset.

        ``TaskPlan.of("ner", "names", "run", elmo="both", epochs=5, seed=1)``
        """
        definition = find_task(task)
        budget = budget or default_budget()
        if budget not in definition.presets:
            raise ConfigError(f"budget is {budget!r}, but should be one of: {', '.join(definition.presets)}")
        own = {one.name for one in fields(cls)} - {"task", "data", "out", "preset", "budget"}
        changes = {name: value for name, value in choices.items() if name not in own}
        preset = with_values(definition.presets[budget], changes, f"the task {task}")
        files = data if isinstance(data, DataFiles) else definition.find(Path(data))
        about = {name: value for name, value in choices.items() if name in own}
        return cls(task, files, Path(out), preset, budget, **about)

    def __post_init__(self) -> None:
        if not 0 <= self.seed < LARGEST_SEED:
            raise ConfigError(f"seed is {self.seed}, but should be from 0 to below {LARGEST_SEED:,}")


def default_budget() -> str:
    """The paper's sizes if there is a GPU, else sizes that train in minutes on a CPU."""
    return "cpu" if choose_device("auto") == "cpu" else "paper"


@dataclass(frozen=True, slots=True)
class Finished:
    """The result of a run: dev scores of the best network, the learned mixes, and the history of its epochs."""

    scores: Scores
    mixes: dict[str, LearnedMix]
    progress: TrainingProgress


def train_task(
    plan: TaskPlan, *, resume: bool = False, watch: TaskWatch | None = None, elmo: Elmo | None = None
) -> Finished:
    """Train a task and save it in ``plan.out``, from where ``Task.load`` reads it.

    ``watch`` is told about progress. ``elmo`` is the model, if the program has already loaded it.
    """
    plan.out.mkdir(parents=True, exist_ok=True)
    with exclusive(plan.out / LOCK, f"{plan.out} is in use by another process; wait for it, or stop it"):
        return _train(plan, resume, watch or TaskWatch(), elmo)


def _train(plan: TaskPlan, resume: bool, watch: TaskWatch, elmo: Elmo | None) -> Finished:
    definition = find_task(plan.task)
    elmo = None if plan.preset.inputs.elmo == "none" else elmo or open_elmo(plan.preset.inputs, plan.device, plan.state)
    if plan.preset.inputs.static == AUTO:
        plan = with_vectors(plan, elmo)
        if plan.preset.inputs.static == "none":
            watch.said(f"{LEARNED_WORDS}; --vectors FILE gives them others")
    about = describe(plan, elmo)
    started = _settle(plan, about, resume)
    examples, dev = _read(definition, plan, _reading(plan, elmo, watch), watch)
    watch.said(f"{len(examples):,} examples to train on, {len(dev):,} to validate on")
    place = _build(plan, definition, examples, dev, elmo, watch)
    training = TaskTraining.begin(place.network, plan.preset.training, plan.seed)
    if started:
        restore_progress(place.network, training, plan.out / LAST)
        if training.progress.finished(plan.preset.training):
            watch.said(f"the run is complete after {training.progress.epoch} epochs; raise epochs to continue")
        else:
            watch.said(f"continuing after {training.progress.epoch} epochs and {training.progress.batch} batches")
        # a resumed run may have more epochs than before
        write_manifest(plan.out / RUN, replace(about, pieces=started.pieces, polyseme=started.polyseme))
    else:
        _write_description(plan.out, about, place)

    def save_last() -> None:
        save_progress(place.network, training, plan.out / LAST)
        write_json(plan.out / HISTORY, training.progress.history)

    hooks = EpochHooks(lambda: save_network(place.network, plan.out / NETWORK), save_last)
    with _drawn(plan, training.progress, watch) as drawn:
        train(place, training, examples, dev, hooks, drawn)
    return _finish(plan, place, len(examples), dev, training.progress)


@contextmanager
def _drawn(plan: TaskPlan, progress: TrainingProgress, watch: TaskWatch) -> Iterator[TaskWatch]:
    """The watch; if the plan asks for curves, it also writes those of every epoch."""
    if not plan.tensorboard:
        yield watch
        return
    board = open_tensorboard(plan.out / "tensorboard", progress.epoch)
    if board is None:
        raise MissingExtra("a log for TensorBoard", "train")

    def looked(progress: TrainingProgress, scores: Scores) -> None:
        last = progress.history[-1]
        curves = {"loss/train": last["loss"], "rate": last["rate"]}
        for name, value in {**curves, **{f"{name}/dev": value for name, value in scores.values.items()}}.items():
            board.add_scalar(name, value, progress.epoch)
        board.flush()
        watch.looked(progress, scores)

    try:
        yield replace(watch, looked=looked)
    finally:
        board.close()


def _reading(plan: TaskPlan, elmo: Elmo | None, watch: TaskWatch) -> FileReading:
    """How the files of a plan are read; text is split as the biLM splits it, but always into whole words."""
    lang = _language(plan, elmo)
    as_bilm = plan.lang is None and elmo is not None and word_language(elmo.lang) == elmo.lang
    split = elmo.split if elmo is not None and as_bilm else partial(split_text, lang=plan.lang or lang)
    return FileReading(split, lang, plan.lenient, plan.skip_bad_lines, watch.said)


def _read(
    definition: Definition[Any, Any], plan: TaskPlan, reading: FileReading, watch: TaskWatch
) -> tuple[list[Any], list[Any]]:
    found = take_share(definition.read(plan.data.train, reading), plan.preset.training.share)
    examples = definition.for_training(found, plan.preset.network)
    if left_out := definition.left_out(found, plan.preset.network):
        watch.said(left_out)
    dev = list(spread(definition.read(plan.data.dev, reading), plan.dev_examples))
    for path, read in ((plan.data.train, examples), (plan.data.dev, dev)):
        if not read:
            raise InputError(f"{path} holds no examples for the task {plan.task}")
    definition.check_gold(dev, str(plan.data.dev))
    return examples, dev


def _build(
    plan: TaskPlan,
    definition: Definition[Any, Any],
    examples: list[Any],
    dev: list[Any],
    elmo: Elmo | None,
    watch: TaskWatch,
) -> Workplace:
    """The network of a new run; a resumed run builds the same network and then loads its weights."""
    choices = plan.preset.inputs
    trained_on = [tokens for example in examples for tokens in definition.sentences(example)]
    sentences = trained_on + [tokens for example in dev for tokens in definition.sentences(example)]
    static = load_static(choices.static, {token for tokens in sentences for token in tokens})
    if static.width and (known := static.coverage(trained_on)) < FEW_WORDS:
        watch.said(f"only {known:.0%} of the tokens have a vector in {choices.static}: are they for another language?")
    words = LearnedWords.of(trained_on, static) if choices.trains_words else None
    cache = LayerCache(elmo, plan.cache) if elmo is not None else None
    features = Features(choices, static, Spelling.of(trained_on), cache, words)
    if cache is not None and not choices.finetune:
        watch.said(f"layers of {len(sentences):,} sentences, from the cache where possible")
        if without_room := cache.fill(sentences):
            watch.said(
                f"{without_room:.1%} of the tokens did not fit into the cache of {cache.limit / (1 << 30):.3g} GB and "
                "are computed again in every epoch; $POLYSEME_CACHE_GB raises the limit"
            )
    vocabularies = definition.vocabularies(examples)
    torch.manual_seed(plan.seed)
    network = definition.network(plan.preset.network, vocabularies, TokenInputs.of(features))
    device = torch.device(choose_device(plan.device))
    return Workplace(definition, network.to(device), vocabularies, features, device)


def _settle(plan: TaskPlan, about: RunDescription, resume: bool) -> RunDescription | None:
    """The run to resume, if any; JobError if the folder's run must not be touched, or is a different one."""
    if not (plan.out / RUN).exists():
        return None
    if not resume:
        raise JobError(f"{plan.out} already holds a run; continue with --resume, or choose another folder")
    earlier = RunDescription.read(plan.out)
    remedy = "undo that, or choose another folder"
    refuse_other(earlier, about, what=f"{plan.out} holds another run", remedy=remedy, free=FREE)
    return earlier if (plan.out / LAST).exists() else None


def with_vectors(plan: TaskPlan, elmo: Elmo | None) -> TaskPlan:
    """The plan with its word vectors decided: GloVe for English; for other languages they are learned."""
    inputs = plan.preset.inputs
    if inputs.static != AUTO:
        return plan
    english = _language(plan, elmo) == "en"
    tuning = inputs.word_vectors if english else "trained"
    chosen = replace(inputs, static=PACKAGE if english else "none", word_vectors=tuning)
    return replace(plan, preset=replace(plan.preset, inputs=chosen))


def _language(plan: TaskPlan, elmo: Elmo | None) -> str:
    """How text is split: into words, even if the model reads smaller units, unless the plan says otherwise."""
    return language_name(plan.lang or (word_language(elmo.lang) if elmo is not None else "en"))


def describe(plan: TaskPlan, elmo: Elmo | None) -> RunDescription:
    """The description that a new run writes."""
    plan = with_vectors(plan, elmo)
    return RunDescription(
        task=plan.task,
        budget=plan.budget,
        seed=plan.seed,
        lang=_language(plan, elmo),
        inputs=plan.preset.inputs,
        vectors=_vectors(plan.preset.inputs.static),
        network=plan.preset.network,
        training=plan.preset.training,
        data={
            split: describe_input(path, name=path.name)
            for split, path in (("train", plan.data.train), ("dev", plan.data.dev))
        },
        model=None if elmo is None else KnownModel(plan.preset.inputs.model, elmo.fingerprint, elmo.state),
        dev_examples=plan.dev_examples or None,
        lenient=plan.lenient,
        skip_bad_lines=plan.skip_bad_lines,
    )


def _vectors(static: str) -> str | None:
    """The digest of a file of word vectors; None for a package's, which ``inputs`` already names."""
    identity = identify_static(static)
    return None if identity == static else identity


def _write_description(folder: Path, about: RunDescription, place: Workplace) -> None:
    """Write run.json last: if it exists, everything that it needs is beside it."""
    place.features.static.save(folder)
    alphabet = list(place.features.spelling.alphabet)
    words = list(place.features.words.words)
    write_json(folder / VOCABULARIES, {"vocabularies": place.vocabularies, "alphabet": alphabet, "words": words})
    pieces = {name: measure_piece(folder / name) for name in (VOCABULARIES, *STATIC_FILES)}
    write_manifest(folder / RUN, replace(about, pieces=pieces))


def _finish(plan: TaskPlan, place: Workplace, trained_on: int, dev: list[Any], progress: TrainingProgress) -> Finished:
    load_network(place.network, plan.out / NETWORK)
    scores = evaluate(place, dev)
    mixes = place.network.tokens.shares()
    summary = {
        "split": "dev",
        **scores.to_dict(),
        "mixes": mixes,
        "examples": {"train": trained_on, "dev": len(dev)},
        "epochs": progress.epoch,
        "best_epoch": progress.best_epoch,
        "stopped_by": progress.stopped_by(plan.preset.training),
        "seconds": round(progress.seconds, 1),
    }
    write_json(plan.out / SCORES, summary)
    if scores.confusion is not None and scores.confusion.labels:
        with suppress(MissingExtra):  # the numbers are in scores.json anyway
            draw_confusion(scores.confusion, plan.out / PICTURE, f"{place.definition.title}, dev")
    return Finished(scores, mixes, progress)
