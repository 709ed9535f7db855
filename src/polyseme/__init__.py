"""polyseme: contextual word vectors from bidirectional language models.

    from polyseme import Elmo
    elmo = Elmo.from_pretrained()
    elmo.encode("Here is your birthday present.")["present"]

The public names are imported on first use, so that ``import polyseme`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polyseme.analysis.index import Index as Index
    from polyseme.elmo import Elmo as Elmo
    from polyseme.encoding import Encoding as Encoding
    from polyseme.nn.bilm import BiLM as BiLM
    from polyseme.nn.bilm import BiLMOutput as BiLMOutput
    from polyseme.nn.config import BiLMConfig as BiLMConfig
    from polyseme.nn.config import CharacterConfig as CharacterConfig
    from polyseme.nn.config import WordConfig as WordConfig
    from polyseme.nn.mix import ElmoRepresentations as ElmoRepresentations
    from polyseme.nn.mix import ScalarMix as ScalarMix
    from polyseme.tasks.task import Task as Task

__version__ = "0.1.0"

_HOME = {
    "Elmo": "polyseme.elmo",
    "Encoding": "polyseme.encoding",
    "BiLM": "polyseme.nn.bilm",
    "BiLMOutput": "polyseme.nn.bilm",
    "BiLMConfig": "polyseme.nn.config",
    "CharacterConfig": "polyseme.nn.config",
    "WordConfig": "polyseme.nn.config",
    "ScalarMix": "polyseme.nn.mix",
    "ElmoRepresentations": "polyseme.nn.mix",
    "Task": "polyseme.tasks.task",
    "Index": "polyseme.analysis.index",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'polyseme' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
