"""A recipe and a corpus → a language model with initial weights; a trained language model → a model to save."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import torch

from polyseme.bilm_config import BiLMConfig, CharacterConfig, WordConfig
from polyseme.errors import ConfigError
from polyseme.formats.model import StoredModel, output_layer
from polyseme.nn.bilm import BiLM
from polyseme.nn.softmax import Softmax
from polyseme.pretrain.corpus.corpus import Corpus
from polyseme.pretrain.recipe import ModelShape, Recipe
from polyseme.pretrain.training.language_model import LanguageModel
from polyseme.text.characters import ByteScheme, Characters, UnicodeScheme
from polyseme.text.vocabulary import BEGIN, END, UNKNOWN, Indexer, Vocabulary, WordTable

#: Fields with the same name in a recipe's shape and in the network's configuration.
LSTM_CHOICES = ("cell", "projection", "layers", "cell_clip", "projection_clip", "skip_connections", "bidirectional")
#: In a Unicode model, characters that occur less often than this are unknown.
RARE = 2


def new_model(recipe: Recipe, corpus: Corpus, seed: int) -> tuple[LanguageModel, Indexer]:
    """A model in the recipe's shape for the corpus's words, initialised as in the original."""
    check_words(recipe, corpus.vocabulary)
    indexer = new_indexer(recipe.model, corpus)
    torch.manual_seed(seed)
    bilm = BiLM(bilm_config(recipe.model, indexer))
    softmax = Softmax(len(corpus.vocabulary), recipe.model.projection, softmax_cutoffs(recipe))
    return language_model(bilm, softmax, indexer, share_words=recipe.softmax.share_words), indexer


def check_words(recipe: Recipe, vocabulary: Vocabulary) -> None:
    """Refuse a vocabulary that this recipe cannot train a softmax for."""
    vocabulary.check_for_training()
    if recipe.softmax.kind == "sampled" and recipe.softmax.negatives >= len(vocabulary):
        raise ConfigError(
            f"the recipe draws {recipe.softmax.negatives} negatives from a vocabulary of {len(vocabulary)} "
            "words; use --set softmax.kind=full for so few words"
        )
    if (cutoffs := softmax_cutoffs(recipe)) and not (
        cutoffs[0] > 0 and list(cutoffs) == sorted(set(cutoffs)) and cutoffs[-1] < len(vocabulary)
    ):
        raise ConfigError(
            f"softmax.cutoffs are {list(cutoffs)}, but should rise and stay below the {len(vocabulary)} words; "
            "use --set softmax.cutoffs=[...] or softmax.kind=full"
        )


def softmax_cutoffs(recipe: Recipe) -> tuple[int, ...]:
    """Where the clusters of the recipe's softmax begin; empty unless it is adaptive."""
    return recipe.softmax.cutoffs if recipe.softmax.kind == "adaptive" else ()


def language_model(bilm: BiLM, softmax: Softmax, indexer: Indexer, *, share_words: bool = False) -> LanguageModel:
    """A biLM that reads the ids of ``indexer``, with its softmax."""
    padding = indexer.characters.padding if indexer.characters else 0
    return LanguageModel(bilm, softmax, padding=padding, shared_words=share_words)


def trained_model(stored: StoredModel) -> LanguageModel:
    """A stored model and its softmax, as training and evaluation use it."""
    weights, _ = output_layer(stored)
    return language_model(BiLM.of(stored), Softmax.of(weights), stored.indexer)


def new_indexer(shape: ModelShape, corpus: Corpus) -> Indexer:
    """The indexer for a model of this shape: how it reads tokens."""
    if shape.input == "words":
        ids = {word: number for number, word in enumerate(corpus.vocabulary.words)}
        return Indexer(words=WordTable(ids, unknown=UNKNOWN, begin=BEGIN, end=END))
    characters: Characters
    if shape.input == "bytes":
        characters = ByteScheme(shape.max_characters)
    else:
        characters = UnicodeScheme(corpus_alphabet(corpus), shape.max_characters)
    return Indexer(characters=characters)


def corpus_alphabet(corpus: Corpus) -> dict[str, int]:
    """Ids of the specials, then of characters by decreasing count."""
    counts: Counter[str] = Counter()
    for number in range(corpus.meta.types):
        count = int(corpus.counts[number])
        for character in corpus.type(number):
            counts[character] += count
    frequent = [c for c, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if n >= RARE]
    return {character: number for number, character in enumerate([*UnicodeScheme.SPECIALS, *frequent])}


def bilm_config(shape: ModelShape, indexer: Indexer) -> BiLMConfig:
    """The shapes of the network."""
    characters = words = None
    if indexer.characters is not None:
        characters = CharacterConfig(
            alphabet=indexer.characters.alphabet,
            dim=shape.character_dim,
            max_characters=shape.max_characters,
            filters=shape.filters,
            highways=shape.highways,
            activation=shape.activation,
        )
    if indexer.words is not None:
        words = WordConfig(size=len(indexer.words.ids), dim=shape.projection)
    return BiLMConfig(
        characters=characters,
        words=words,
        project_tokens=characters is not None and characters.filter_count != shape.projection,
        **{name: getattr(shape, name) for name in LSTM_CHOICES},
    )


def stored_model(
    model: LanguageModel, indexer: Indexer, vocabulary: Vocabulary, card: Mapping[str, Any]
) -> StoredModel:
    """A trained model in the form in which it is saved."""
    return StoredModel(
        config=model.bilm.config,
        tensors=model.bilm.arrays(),
        indexer=indexer,
        vocabulary=vocabulary,
        softmax=model.softmax_weights(),
        card=card,
    )
