"""A small biLM with random weights that are always the same, for tests of the job around it."""

from __future__ import annotations

from typing import Any

import torch

from polyseme.bilm_config import BiLMConfig, CharacterConfig
from polyseme.elmo import Elmo
from polyseme.formats.model import StoredModel
from polyseme.nn.bilm import BiLM
from polyseme.text.characters import ByteScheme
from polyseme.text.vocabulary import Indexer


def tiny_model(seed: int = 0, card: dict[str, Any] | None = None) -> StoredModel:
    characters = CharacterConfig(alphabet=261, dim=4, max_characters=12, filters=((1, 4), (2, 8)), highways=1)
    config = BiLMConfig(characters=characters, cell=16, projection=4, layers=2)
    torch.manual_seed(seed)
    tensors = {name: (0.3 * torch.randn_like(value)).numpy() for name, value in BiLM(config).state_dict().items()}
    return StoredModel(config, tensors, Indexer(ByteScheme(max_characters=12)), card=card or {})


def tiny_elmo(seed: int = 0, lang: str = "whitespace") -> Elmo:
    return Elmo(tiny_model(seed), device="cpu", lang=lang)
