"""The model that a run starts from: it gives the run its shape, is named on the card, and is checked on resuming."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from polyseme.errors import ConfigError, InputError, JobError
from polyseme.formats.model import StoredModel
from polyseme.jobs.manifests import read_values, refuse_other, write_manifest
from polyseme.pretrain.corpus.corpus import Corpus
from polyseme.pretrain.recipe import ModelShape, Recipe
from polyseme.pretrain.training.build import LSTM_CHOICES, check_words, softmax_cutoffs, trained_model
from polyseme.pretrain.training.language_model import LanguageModel
from polyseme.text.characters import UnicodeScheme

BASE = "base.json"
NEW_WEIGHTS = {"name": None, "fingerprint": None}
BEFORE = "goes_on_from"  #: the field of a card that describes the base model


def recipe_in_shape_of(stored: StoredModel, recipe: Recipe) -> Recipe:
    """The recipe with its network replaced by that of a model."""
    if recipe.softmax.share_words:
        raise ConfigError("a loaded model has its own softmax; leave out softmax.share_words")
    return replace(recipe, model=shape_of(stored))


def shape_of(stored: StoredModel) -> ModelShape:
    """The shape of a model in a recipe's terms."""
    config, characters = stored.config, stored.config.characters
    shape = ModelShape(input="words", **{name: getattr(config, name) for name in LSTM_CHOICES})
    if characters is None:
        return shape
    return replace(
        shape,
        input="unicode" if isinstance(stored.indexer.characters, UnicodeScheme) else "bytes",
        character_dim=characters.dim,
        max_characters=characters.max_characters,
        filters=characters.filters,
        highways=characters.highways,
        activation=characters.activation,
    )


def loaded_model(stored: StoredModel, recipe: Recipe, corpus: Corpus, name: str) -> LanguageModel:
    """The model to continue with; ConfigError if its softmax is not what the recipe would make for the corpus."""
    if stored.softmax is None or stored.vocabulary is None or stored.vocabulary.words != corpus.vocabulary.words:
        raise ConfigError(
            f"{name} has no softmax for the words of this corpus; prepare the corpus with --vocabulary "
            "and the model's vocab.txt, or use polyseme finetune"
        )
    check_words(recipe, corpus.vocabulary)
    has = stored.softmax.clusters.cutoffs if stored.softmax.clusters is not None else ()
    if has != (wanted := softmax_cutoffs(recipe)):
        kind = f"adaptive --set softmax.cutoffs={list(has)}".replace(", ", ",") if has else "full, or sampled"
        raise ConfigError(
            f"the softmax of {name} is {_kind(has)}, but the recipe's is {_kind(wanted)}; use --set softmax.kind={kind}"
        )
    return trained_model(stored).train()


def inherited_card(stored: StoredModel, lang: str) -> dict[str, Any]:
    """The fields that the new model's card inherits from the old one."""
    names = ["licence"]
    if lang == "whitespace":  # the corpus was already split, so the model's own way of splitting text still holds
        names += ["languages", "tokenization", "unit"]
    learned = {name: stored.card[name] for name in ("training", "curve", BEFORE) if stored.card.get(name)}
    return {BEFORE: _describe(stored) | learned} | {name: stored.card[name] for name in names if name in stored.card}


def remember_base(out: Path, stored: StoredModel | None) -> None:
    """Record which model a new run starts from; None for new weights."""
    if stored is None:
        (out / BASE).unlink(missing_ok=True)  # left by a run that died before its first checkpoint
    else:
        write_manifest(out / BASE, _describe(stored))


def check_base(out: Path, stored: StoredModel | None) -> None:
    """Refuse to resume a run with a different model than the one it started from."""
    try:
        known = read_values(out / BASE) if (out / BASE).exists() else NEW_WEIGHTS
    except InputError as problem:
        raise JobError(f"{out} cannot be resumed: {problem}; start a new run") from None
    now = NEW_WEIGHTS if stored is None else _describe(stored)
    what, remedy = f"{out} began with another model", "resume it with the model that it began with"
    refuse_other(known, now, what=what, remedy=remedy)


def _kind(cutoffs: tuple[int, ...]) -> str:
    return f"adaptive with cutoffs {list(cutoffs)}" if cutoffs else "not adaptive"


def _describe(stored: StoredModel) -> dict[str, Any]:
    return {"name": stored.card.get("name"), "fingerprint": stored.fingerprint()}
