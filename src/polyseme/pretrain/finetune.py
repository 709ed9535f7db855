"""Going on with a model that somebody trained: its weights, a corpus of one's own, the corpus's words.

    softmax of the model    words of the corpus          first, the biLM frozen       then
    fits                    all of them in it            –                            all weights
    does not fit            some are new                 softmax, old rows kept       all weights
    none                    –                            softmax, from the unigrams   all weights

A run is a folder like that of ``pretrain``, and resumes like it.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from polyseme.errors import ConfigError, JobError
from polyseme.files.atomic import replace_when_complete
from polyseme.formats.detect import load
from polyseme.formats.model import StoredModel
from polyseme.formats.output_layer import output_layer
from polyseme.nn.softmax import Softmax, SoftmaxWeights
from polyseme.pretrain.build import check_words, language_model
from polyseme.pretrain.corpus import Corpus, open_corpus
from polyseme.pretrain.journal import read_journal
from polyseme.pretrain.objective import LanguageModel
from polyseme.pretrain.recipe import ModelShape, Recipe
from polyseme.pretrain.run import RunPlan, Watch, run_plan
from polyseme.text.characters import UnicodeScheme
from polyseme.text.indexing import Indexer
from polyseme.text.vocabulary import UNKNOWN, Vocabulary

BASE = "base.json"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What fine-tuning brought, on held-out text and over the words of the corpus."""

    model: Path
    before: dict[str, float]  #: the model as it was; where words were new, with the rows that ``adapted_softmax`` made
    fitted: dict[str, float] | None  #: with its softmax fitted, the biLM still as it was
    after: dict[str, float]  #: the best, which is what was saved


def finetune(plan: RunPlan, *, resume: bool = False, watch: Watch | None = None) -> Outcome:
    """Train the model ``plan.init`` on a corpus; its shape is the model's, whatever the recipe says."""
    if plan.init is None:
        raise ConfigError("fine-tuning begins with a model; name one")
    stored, corpus = load(plan.init), open_corpus(plan.corpus)
    plan = replace(
        plan,
        recipe=recipe_for(stored, corpus.vocabulary, plan.recipe),
        card={**inherited_card(stored, corpus.meta.lang), **plan.card},
    )

    def first_model(plan: RunPlan, corpus: Corpus) -> tuple[LanguageModel, Indexer]:
        check_words(plan.recipe, corpus.vocabulary)
        _remember_base(plan.out, stored, resume)
        softmax = adapted_softmax(stored, corpus.vocabulary)
        return language_model(stored.bilm().train(), softmax, stored.indexer), stored.indexer

    model = run_plan(plan, first_model, resume=resume, watch=watch)
    return _outcome(model, plan)


def recipe_for(stored: StoredModel, vocabulary: Vocabulary, recipe: Recipe) -> Recipe:
    """The recipe in the shape of the model, without the softmax's part of the budget where its softmax fits."""
    if (stored.softmax is not None and stored.softmax.clusters is not None) or recipe.softmax.kind == "adaptive":
        raise ConfigError(
            "an adaptive softmax cannot be fitted to other words; "
            "with the same words, go on by: polyseme pretrain DIR --init MODEL --out RUN"
        )
    if recipe.softmax.share_words:
        raise ConfigError("a loaded model has a softmax of its own; leave out softmax.share_words")
    known = _usable_softmax(stored)
    fits = known is not None and all(word in known[1] for word in vocabulary.words)
    budget = replace(recipe.budget, softmax_tokens=0) if fits else recipe.budget
    return replace(recipe, model=shape_of(stored), budget=budget)


def shape_of(stored: StoredModel) -> ModelShape:
    """The shape of a model in a recipe's words."""
    config, characters = stored.config, stored.config.characters
    shape = ModelShape(
        input="words",
        cell=config.cell,
        projection=config.projection,
        layers=config.layers,
        cell_clip=config.cell_clip,
        projection_clip=config.projection_clip,
        skip_connections=config.skip_connections,
        bidirectional=config.bidirectional,
    )
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


def adapted_softmax(stored: StoredModel, vocabulary: Vocabulary) -> Softmax:
    """A softmax for other words: known ones keep their rows.

    Words that the model did not know share its probability of ``<UNK>`` by their counts, so that nothing else changes:
    each gets the weights of ``<UNK>`` and its bias plus the logarithm of the word's share. A model without a softmax
    gets the unigram model: no weights, and the logarithms of the counts as biases.
    """
    counts = torch.ones(len(vocabulary)) if vocabulary.counts is None else torch.tensor(vocabulary.counts) + 1.0
    softmax = Softmax(len(vocabulary), stored.config.projection)
    known = _usable_softmax(stored)
    with torch.no_grad():
        if known is None:
            softmax.weight.zero_()
            softmax.bias.copy_(torch.log(counts / counts.sum()))
            return softmax
        weights, words = known
        unknown = words.ids([UNKNOWN])[0]
        rows = torch.tensor([unknown if (found := words.find(word)) is None else found for word in vocabulary.words])
        softmax.weight.copy_(weights.weight[rows])
        softmax.bias.copy_(weights.bias[rows])
        sharing = rows == unknown  # the new words, and <UNK> itself
        softmax.bias[sharing] += torch.log(counts[sharing] / counts[sharing].sum())
    return softmax


def inherited_card(stored: StoredModel, lang: str) -> dict[str, Any]:
    """What the card of the new model takes over from the old one."""
    card: dict[str, Any] = {"base": {"name": stored.card.get("name"), "fingerprint": stored.fingerprint()}}
    names = ["licence"]
    if lang == "whitespace":  # the corpus was split before; how text is split is still the model's affair
        names += ["languages", "tokenization"]
    return card | {name: stored.card[name] for name in names if name in stored.card}


def _usable_softmax(stored: StoredModel) -> tuple[SoftmaxWeights, Vocabulary] | None:
    try:
        return output_layer(stored)
    except ConfigError:
        return None


def _remember_base(out: Path, stored: StoredModel, resume: bool) -> None:
    """Note which model a run began with, or check that it is the same one."""
    base = {"name": stored.card.get("name"), "fingerprint": stored.fingerprint()}
    if not resume:
        if os.environ.get("RANK", "0") != "0":  # one of several processes; the first writes
            return
        with replace_when_complete(out / BASE) as file:
            file.write(json.dumps(base).encode() + b"\n")
        return
    try:
        known = json.loads((out / BASE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise JobError(f"{out} holds no fine-tuning to resume: it has no readable {BASE}") from None
    if known != base:
        raise JobError(
            f"{out} began with the model {known.get('name')!r}, not with this one; resume it with that model"
        )


def _outcome(model: Path, plan: RunPlan) -> Outcome:
    looks = [line for line in read_journal(plan.out / "log.jsonl") if "valid" in line]
    first = min(plan.recipe.budget.softmax_tokens, plan.recipe.budget.tokens)
    fitted = next((line["valid"] for line in looks if first and line["tokens"] >= first), None)
    best = min(looks, key=lambda line: line["valid"]["average"])
    return Outcome(model, looks[0]["valid"], fitted, best["valid"])
