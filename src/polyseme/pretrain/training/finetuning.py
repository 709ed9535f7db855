"""Fine-tuning: continue training a model on your own corpus, with the words of that corpus.

    softmax of the model    words of the corpus          first, the biLM frozen       then
    fits                    all of them in it            –                            all weights
    does not fit            some are new                 softmax, old rows kept       all weights
    none                    –                            softmax, from the unigrams   all weights

A run is a folder like that of ``pretrain``, and resumes like it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from polyseme.errors import ConfigError
from polyseme.formats.detect import load
from polyseme.formats.model import SoftmaxWeights, StoredModel, output_layer
from polyseme.nn.bilm import BiLM
from polyseme.nn.softmax import Softmax
from polyseme.pretrain.corpus.corpus import Corpus, open_corpus
from polyseme.pretrain.recipe import Recipe
from polyseme.pretrain.training.base import recipe_in_shape_of
from polyseme.pretrain.training.build import check_words, language_model
from polyseme.pretrain.training.journal import read_journal
from polyseme.pretrain.training.language_model import LanguageModel
from polyseme.pretrain.training.open_run import Watch
from polyseme.pretrain.training.pretraining import run_plan
from polyseme.pretrain.training.run_plan import RunPlan
from polyseme.text.vocabulary import UNKNOWN, Indexer, Vocabulary

#: The share of the budget that the softmax alone gets if the recipe gives it more than the whole budget.
LARGEST_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of fine-tuning, measured on held-out text over the words of the corpus."""

    model: Path
    before: dict[str, Any]  #: the original model; for new words, with the rows of ``adapted_softmax``
    fitted: dict[str, Any] | None  #: with its softmax fitted and the biLM unchanged
    after: dict[str, Any]  #: the best model, which was saved
    softmax_tokens: int = 0  #: tokens that trained only the softmax
    all_tokens: int = 0  #: tokens that trained all weights


def finetune(plan: RunPlan, *, resume: bool = False, watch: Watch | None = None) -> Outcome:
    """Train the model ``plan.init`` on a corpus; the model decides the shape, not the recipe."""
    if plan.init is None:
        raise ConfigError("fine-tuning needs a model; name one")
    stored, corpus = load(plan.init, options=plan.init_options), open_corpus(plan.corpus)
    plan = replace(plan, recipe=recipe_for(stored, corpus.vocabulary, plan.recipe))

    def first_model(plan: RunPlan, corpus: Corpus) -> tuple[LanguageModel, Indexer]:
        check_words(plan.recipe, corpus.vocabulary)
        softmax = adapted_softmax(stored, corpus.vocabulary)
        return language_model(BiLM.of(stored).train(), softmax, stored.indexer), stored.indexer

    model = run_plan(plan, first_model, base=stored, resume=resume, watch=watch)
    return _outcome(model, plan)


def recipe_for(stored: StoredModel, vocabulary: Vocabulary, recipe: Recipe) -> Recipe:
    """The recipe in the shape of the model, without the softmax's part of the budget if its softmax fits."""
    if (stored.softmax is not None and stored.softmax.clusters is not None) or recipe.softmax.kind == "adaptive":
        raise ConfigError(
            "an adaptive softmax cannot be fitted to other words; "
            "with the same words, continue with: polyseme pretrain DIR --init MODEL --out RUN"
        )
    recipe = recipe_in_shape_of(stored, recipe)
    known = _usable_softmax(stored)
    fits = known is not None and all(word in known[1] for word in vocabulary.words)
    share = 0 if fits else softmax_share(recipe)
    return replace(recipe, budget=replace(recipe.budget, softmax_tokens=share))


def softmax_share(recipe: Recipe) -> int:
    """Tokens that fit only the softmax: as the recipe says, or a share of the budget if that exceeds it.

    If the number equals the budget, the biLM is meant to stay unchanged; a larger one was meant for a larger budget.
    """
    wanted, tokens = recipe.budget.softmax_tokens, recipe.budget.tokens
    return int(LARGEST_SHARE * tokens) if wanted > tokens else wanted


def adapted_softmax(stored: StoredModel, vocabulary: Vocabulary) -> Softmax:
    """A softmax for other words: known ones keep their rows.

    New words share the probability of ``<UNK>`` in proportion to their counts, so that nothing else changes: each gets
    the weights of ``<UNK>``, and its bias plus the logarithm of the word's share. A model without a softmax gets a
    unigram model: zero weights, and the logarithms of the counts as biases.
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
        softmax.weight.copy_(torch.from_numpy(weights.weight)[rows])
        softmax.bias.copy_(torch.from_numpy(weights.bias)[rows])
        sharing = rows == unknown  # the new words, and <UNK> itself
        softmax.bias[sharing] += torch.log(counts[sharing] / counts[sharing].sum())
    return softmax


def _usable_softmax(stored: StoredModel) -> tuple[SoftmaxWeights, Vocabulary] | None:
    try:
        return output_layer(stored)
    except ConfigError:
        return None


def _outcome(model: Path, plan: RunPlan) -> Outcome:
    looks = [line for line in read_journal(plan.out / "log.jsonl") if "valid" in line]
    first = min(plan.recipe.budget.softmax_tokens, plan.recipe.budget.tokens)
    fitted = next((line["valid"] for line in looks if first and line["tokens"] >= first), None)
    best = min(looks, key=lambda line: line["valid"]["average"])
    trained = max(line["tokens"] for line in looks)
    return Outcome(model, looks[0]["valid"], fitted, best["valid"], min(first, trained), max(0, trained - first))
