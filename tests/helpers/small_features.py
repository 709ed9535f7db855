"""Token features for tests of task networks: static vectors of any word, characters, and a small biLM."""

from __future__ import annotations

import numpy as np
import torch

from helpers.tiny_models import tiny_elmo
from polyseme.tasks.inputs import Features, InputChoices, TokenInputs, Where
from polyseme.tasks.layer_cache import LayerCache
from polyseme.tasks.vectors.learned import Spelling
from polyseme.tasks.vectors.static import StaticVectors

WORDS = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
WHERE: tuple[Where, ...] = ("none", "input", "output", "both")


def small_features(elmo: Where = "none") -> Features:
    """Static vectors of 6 numbers for ten words, 4 character filters, ELMo where it is wanted."""
    table = np.random.default_rng(0).normal(size=(len(WORDS) + 1, 6)).astype(np.float32)
    table[0] = 0
    static = StaticVectors("none", {word: number for number, word in enumerate(WORDS, start=1)}, table)
    choices = InputChoices(elmo=elmo, characters=4, character_dim=3, static="none")
    cache = LayerCache(tiny_elmo()) if elmo != "none" else None
    return Features(choices, static, Spelling.of([WORDS]), cache)


def small_inputs(features: Features) -> TokenInputs:
    torch.manual_seed(1)
    return TokenInputs.of(features)
