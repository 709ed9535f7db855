"""polyseme: contextual word vectors from bidirectional language models.

    from polyseme import Elmo
    elmo = Elmo.from_pretrained()
    elmo.encode("Here is your birthday present.")["present"]

The public names are imported on first use, so that ``import polyseme`` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyseme.lazy import lazy_names

if TYPE_CHECKING:
    from polyseme.bilm_config import BiLMConfig as BiLMConfig
    from polyseme.bilm_config import CharacterConfig as CharacterConfig
    from polyseme.bilm_config import WordConfig as WordConfig
    from polyseme.elmo import Elmo as Elmo
    from polyseme.encoding import Encoding as Encoding
    from polyseme.index.vector_index import Index as Index
    from polyseme.nn.bilm import BiLM as BiLM
    from polyseme.nn.bilm import BiLMOutput as BiLMOutput
    from polyseme.nn.mix import ElmoRepresentations as ElmoRepresentations
    from polyseme.nn.mix import ScalarMix as ScalarMix
    from polyseme.senses.sense import Sense as Sense
    from polyseme.senses.sense_map import SenseMap as SenseMap
    from polyseme.tasks.trained_task import Task as Task

__version__ = "0.1.0"

_HOME = {
    "polyseme.bilm_config": ("BiLMConfig", "CharacterConfig", "WordConfig"),
    "polyseme.elmo": ("Elmo",),
    "polyseme.encoding": ("Encoding",),
    "polyseme.index.vector_index": ("Index",),
    "polyseme.nn.bilm": ("BiLM", "BiLMOutput"),
    "polyseme.nn.mix": ("ElmoRepresentations", "ScalarMix"),
    "polyseme.senses.sense": ("Sense",),
    "polyseme.senses.sense_map": ("SenseMap",),
    "polyseme.tasks.trained_task": ("Task",),
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _HOME, "__version__")
