"""A task's run in its folder: trained, stopped, resumed, and in the end a model that describes itself.

RUN/run.json             task, choices, data, biLM       RUN/model.safetensors    the network that was best on dev
RUN/vocabularies.json    labels and characters           RUN/last.safetensors     the newest state, to go on from
RUN/static.json, .npy    the static vectors it met       RUN/history.json         loss and score of every epoch
RUN/scores.json          dev scores, per class, the learned mix weights             RUN/confusion.png
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from polyseme import __version__
from polyseme.elmo import Elmo, choose_device
from polyseme.errors import ConfigError, InputError, JobError, MissingExtra
from polyseme.files.atomic import replace_when_complete
from polyseme.files.locks import exclusive
from polyseme.tasks.checkpoint import load_network, restore_progress, save_network, save_progress
from polyseme.tasks.data_files import DataFiles, describe_file
from polyseme.tasks.definition import Definition, Preset, Split, TrainingChoices
from polyseme.tasks.inputs import Features, InputChoices, LearnedMix, TokenInputs, open_elmo
from polyseme.tasks.layer_cache import LayerCache
from polyseme.tasks.registry import find_task
from polyseme.tasks.scores import Scores, draw_confusion
from polyseme.tasks.spelling import Spelling
from polyseme.tasks.static import identify_static, load_static
from polyseme.tasks.task import NETWORK, RUN, VERSION, VOCABULARIES, read_about
from polyseme.tasks.training import (
    Hooks,
    Progress,
    Training,
    Watch,
    Workplace,
    evaluate,
    spread,
    take_share,
    train,
)
from polyseme.text.tokenization import split_text

LAST, HISTORY, SCORES, PICTURE, LOCK = (
    "last.safetensors",
    "history.json",
    "scores.json",
    "confusion.png",
    "run.lock",
)
LARGEST_SEED = 1 << 32


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What to train, on what, where."""

    task: str
    data: DataFiles
    out: Path
    preset: Preset[Any]
    budget: str = "paper"  #: the preset's name
    seed: int = 0
    device: str = "cpu"
    lang: str | None = None  #: how raw text is split; unless given as the biLM says, without one as English
    cache: Path | None = None  #: folder of the biLM's layers; the user's own unless given
    dev_examples: int = 0  #: of dev, evenly spread over it; 0 for all

    def __post_init__(self) -> None:
        if not 0 <= self.seed < LARGEST_SEED:
            raise ConfigError(f"seed is {self.seed}, but should be from 0 to below {LARGEST_SEED:,}")


@dataclass(frozen=True, slots=True)
class Finished:
    """What a run gives: scores on dev by the best network, the learned mixes, and the history of its epochs."""

    scores: Scores
    mixes: dict[str, LearnedMix]
    progress: Progress


def train_task(
    plan: RunPlan, *, resume: bool = False, watch: Watch | None = None, elmo: Elmo | None = None
) -> Finished:
    """Train a task into ``plan.out``. ``elmo`` saves loading the model where a program has it already."""
    plan.out.mkdir(parents=True, exist_ok=True)
    with exclusive(plan.out / LOCK, f"{plan.out} is in use by another process; wait for it, or stop it"):
        return _train(plan, resume, watch or Watch(), elmo)


def _train(plan: RunPlan, resume: bool, watch: Watch, elmo: Elmo | None) -> Finished:
    definition = find_task(plan.task)
    elmo = None if plan.preset.inputs.elmo == "none" else elmo or open_elmo(plan.preset.inputs, plan.device)
    about = describe(plan, elmo)
    started = _settle(plan, about, resume)
    examples, dev = _read(definition, plan, partial(split_text, lang=about["lang"]), watch)
    watch.said(f"{len(examples):,} examples to train on, {len(dev):,} to look at")
    place = _build(plan, definition, examples, dev, elmo, watch)
    training = Training.begin(place.network, plan.preset.training, plan.seed)
    if started:
        restore_progress(place.network, training, plan.out / LAST)
        if training.progress.finished(plan.preset.training):
            watch.said(f"the run is complete after {training.progress.epoch} epochs; with more of them it goes on")
        else:
            watch.said(f"going on after {training.progress.epoch} epochs and {training.progress.batch} batches")
        _write_json(plan.out / RUN, about)  # it may have more epochs than before
    else:
        _write_description(plan.out, about, place)

    def save_last() -> None:
        save_progress(place.network, training, plan.out / LAST)
        _write_json(plan.out / HISTORY, training.progress.history)

    hooks = Hooks(lambda: save_network(place.network, plan.out / NETWORK), save_last)
    train(place, training, examples, dev, hooks, watch)
    return _finish(plan, place, len(examples), dev, training.progress)


def _read(definition: Definition[Any, Any], plan: RunPlan, split: Split, watch: Watch) -> tuple[list[Any], list[Any]]:
    found = take_share(definition.read(plan.data.train, split), plan.preset.training.share)
    examples = definition.for_training(found, plan.preset.network)
    if left_out := definition.left_out(found, plan.preset.network):
        watch.said(left_out)
    dev = list(spread(definition.read(plan.data.dev, split), plan.dev_examples))
    for path, read in ((plan.data.train, examples), (plan.data.dev, dev)):
        if not read:
            raise InputError(f"{path} holds no examples for the task {plan.task}")
    definition.check_gold(dev, str(plan.data.dev))
    return examples, dev


def _build(
    plan: RunPlan,
    definition: Definition[Any, Any],
    examples: list[Any],
    dev: list[Any],
    elmo: Elmo | None,
    watch: Watch,
) -> Workplace:
    """The network of a new run; a resumed one builds the same and then takes its weights."""
    choices = plan.preset.inputs
    trained_on = [tokens for example in examples for tokens in definition.sentences(example)]
    sentences = trained_on + [tokens for example in dev for tokens in definition.sentences(example)]
    static = load_static(choices.static, {token for tokens in sentences for token in tokens})
    cache = LayerCache(elmo, plan.cache) if elmo is not None else None
    features = Features(choices, static, Spelling.of(trained_on), cache)
    if cache is not None and not choices.finetune:
        watch.said(f"layers of {len(sentences):,} sentences, from the cache where they are there")
        if without_room := cache.fill(sentences):
            watch.said(
                f"{without_room:.1%} of the tokens had no room in the cache of {cache.limit / (1 << 30):.3g} GB and "
                "are read anew in every epoch; $POLYSEME_CACHE_GB raises the limit"
            )
    vocabularies = definition.vocabularies(examples)
    torch.manual_seed(plan.seed)
    network = definition.network(plan.preset.network, vocabularies, TokenInputs.of(features))
    device = choose_device(plan.device)
    return Workplace(definition, network.to(device), vocabularies, features, device)


def _settle(plan: RunPlan, about: dict[str, Any], resume: bool) -> bool:
    """Whether there is a run to go on with; JobError if there is one that must not be touched, or another one."""
    if not (plan.out / RUN).exists():
        return False
    if not resume:
        raise JobError(f"{plan.out} holds a run already; go on with --resume, or choose another folder")
    earlier = read_about(plan.out)
    # More epochs or patience than before is no other run.
    free = {"epochs", "patience"}
    for key in sorted(about.keys() | earlier.keys()):
        before, now = earlier.get(key), about.get(key)
        if key == "training" and isinstance(before, dict) and isinstance(now, dict):
            before, now = ({k: v for k, v in part.items() if k not in free} for part in (before, now))
        if key == "data" and isinstance(before, dict) and isinstance(now, dict):
            for split in now:
                if before.get(split) != now[split]:
                    name = now[split]["name"]
                    raise JobError(f"{plan.out} holds another run: {name} is not the {split} file that it began with")
        if key != "polyseme" and before != now:
            raise JobError(f"{plan.out} holds another run: its {key} is {_short(before)}, and now {_short(now)}")
    return (plan.out / LAST).exists()


def describe(plan: RunPlan, elmo: Elmo | None) -> dict[str, Any]:
    """run.json: all that a run is, so that nothing else has to be remembered."""
    return {
        "version": VERSION,
        "polyseme": __version__,
        "task": plan.task,
        "budget": plan.budget,
        "seed": plan.seed,
        "lang": plan.lang or (elmo.lang if elmo is not None else "en"),
        "inputs": asdict(plan.preset.inputs),
        "vectors": _vectors(plan.preset.inputs.static),
        "network": asdict(plan.preset.network),
        "training": asdict(plan.preset.training),
        "data": {split: describe_file(path) for split, path in (("train", plan.data.train), ("dev", plan.data.dev))},
        "dev_examples": plan.dev_examples or None,
        "model": None if elmo is None else {"name": plan.preset.inputs.model, "fingerprint": elmo.fingerprint},
    }


def _vectors(static: str) -> str | None:
    """The content of a file of word vectors; None for the package's, which ``inputs`` names already."""
    identity = identify_static(static)
    return None if identity == static else identity


def _write_description(folder: Path, about: dict[str, Any], place: Workplace) -> None:
    """run.json last: where it stands, everything that it needs stands beside it."""
    place.features.static.save(folder)
    _write_json(
        folder / VOCABULARIES,
        {"vocabularies": place.vocabularies, "alphabet": list(place.features.spelling.alphabet)},
    )
    _write_json(folder / RUN, about)


def _finish(plan: RunPlan, place: Workplace, trained_on: int, dev: list[Any], progress: Progress) -> Finished:
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
        "seconds": round(progress.seconds, 1),
    }
    _write_json(plan.out / SCORES, summary)
    if scores.confusion is not None and scores.confusion.labels:
        with suppress(MissingExtra):  # the numbers are in scores.json all the same
            draw_confusion(scores.confusion, plan.out / PICTURE, f"{place.definition.title}, dev")
    return Finished(scores, mixes, progress)


def read_changes(changes: list[str]) -> dict[str, Any]:
    """["hidden=100", "optimizer=adam"] → {"hidden": 100, "optimizer": "adam"}"""
    found: dict[str, Any] = {}
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals:
            raise ConfigError(f"{change!r} is no change of a choice; it should have the form name=value")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def change_preset(preset: Preset[Any], changes: dict[str, Any]) -> Preset[Any]:
    """A preset with other values: names of the network's, the training's or the inputs' fields."""
    parts = {"network": asdict(preset.network), "training": asdict(preset.training), "inputs": asdict(preset.inputs)}
    for name, value in changes.items():
        home = next((part for part in parts.values() if name in part), None)
        if home is None:
            known = ", ".join(sorted({key for part in parts.values() for key in part}))
            raise ConfigError(f"there is no choice {name!r}; there are: {known}")
        home[name] = _of_the_same_kind(name, value, home[name])
    return Preset(
        type(preset.network)(**parts["network"]),
        TrainingChoices(**parts["training"]),
        InputChoices(**parts["inputs"]),
    )


def _of_the_same_kind(name: str, value: Any, before: Any) -> Any:
    if isinstance(before, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(before, str) and not isinstance(value, str | bool):
        return str(value)  # layers=1
    if type(value) is not type(before):
        raise ConfigError(f"{name} is {value!r}, but should be of the kind of {before!r}")
    return value


def _write_json(path: Path, values: Any) -> None:
    with replace_when_complete(path) as file:
        file.write((json.dumps(values, indent=1, ensure_ascii=False) + "\n").encode())


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) < 80 else text[:80] + "…"
