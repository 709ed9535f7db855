"""Fingerprints that must not change: those of the bundled models, and of one that has every default.

After a bundled model has been replaced, ``python tests/helpers/pins.py`` writes the file again, and the digests of a
model that has none.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from polyseme.bilm_config import BiLMConfig, CharacterConfig
from polyseme.formats.detect import load
from polyseme.formats.model import model_fingerprint
from polyseme.formats.native import CONFIG, write_config
from polyseme.formats.releases.known import bundled_models
from polyseme.formats.safetensors_file import DIGESTS
from polyseme.text.characters import BYTE_ALPHABET, ByteScheme
from polyseme.text.vocabulary import Indexer

PINS = Path(__file__).parents[1] / "fixtures" / "fingerprints.json"


def fingerprints() -> dict[str, str]:
    found = {name: load(name).fingerprint() for name in bundled_models()}
    config = BiLMConfig(CharacterConfig(BYTE_ALPHABET))
    tensors = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones((), np.float32)}
    return {**found, "defaults": model_fingerprint(config, Indexer(ByteScheme()), tensors)}


def add_digests(folder: Path) -> None:
    """To the config.json of a bundled model that was saved before there were digests."""
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    if DIGESTS not in config:
        write_config(folder, config)


if __name__ == "__main__":
    for folder in bundled_models().values():
        add_digests(folder)
    PINS.write_text(json.dumps(fingerprints(), indent=2) + "\n", encoding="utf-8")
