"""Small corpora and models for the tests of training."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from polyseme.pretrain.corpus.corpus import Corpus, open_corpus
from polyseme.pretrain.corpus.preparation import prepare
from polyseme.pretrain.recipe import Recipe, recipe_from_dict

TEXT = "the a cat dog bank river sees likes finds old young green big small runs sleeps under over near ."
WORDS = TEXT.split()


def random_text(sentences: int, seed: int = 0) -> str:
    """One sentence a line, with enough order in it that there is something to learn."""
    random = np.random.default_rng(seed)
    lines = []
    for _ in range(sentences):
        start = int(random.integers(len(WORDS)))
        steps = np.cumsum(random.integers(1, 4, size=int(random.integers(1, 12))))
        lines.append(" ".join(WORDS[(start + int(step)) % len(WORDS)] for step in steps))
    return "\n".join(lines) + "\n"


def small_corpus(folder: Path, sentences: int = 400) -> Corpus:
    """A prepared corpus of random sentences."""
    text = folder / "text.txt"
    text.write_text(random_text(sentences), encoding="utf-8")
    prepare([text], folder / "corpus", lang="whitespace", workers=1)
    return open_corpus(folder / "corpus")


def small_recipe(**changes: object) -> Recipe:
    """A model of a few thousand weights; ``changes`` are sections."""
    values: dict[str, object] = {
        "dropout": 0.1,
        "model": {"cell": 12, "projection": 6, "filters": [[1, 4], [2, 5]], "max_characters": 12, "character_dim": 4},
        "text": {"tokens": 60},
        "softmax": {"kind": "sampled", "negatives": 8},
        "budget": {"tokens": 1500, "validate_every": 500, "validate_on": 200},
    }
    for section, value in changes.items():
        old = values.get(section)
        values[section] = {**old, **value} if isinstance(old, dict) and isinstance(value, dict) else value
    return recipe_from_dict(values)
