"""AllenNLP's ELMo: ``Elmo``, ``ElmoTokenEmbedder``, ``ElmoEmbedder``, ``ScalarMix``, ``batch_to_ids``.

from polyseme.compat.allennlp import Elmo, batch_to_ids
elmo = Elmo(options_file, weight_file, 2, dropout=0)
elmo(batch_to_ids([["First", "sentence", "."], ["Another"]]))["elmo_representations"][0]

As in the original, the state of every row is carried from call to call, in training too; ``elmo.reset_states()`` drops
it. Names are imported on first use: ``ElmoEmbedder`` works without PyTorch, the modules need it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyseme.lazy import lazy_names

if TYPE_CHECKING:
    from polyseme.compat.elmo_bilm import _ElmoBiLm as _ElmoBiLm
    from polyseme.compat.elmo_characters import ConfigurationError as ConfigurationError
    from polyseme.compat.elmo_characters import ELMoCharacterMapper as ELMoCharacterMapper
    from polyseme.compat.elmo_embedder import ElmoEmbedder as ElmoEmbedder
    from polyseme.compat.elmo_module import Elmo as Elmo
    from polyseme.compat.elmo_module import ElmoTokenEmbedder as ElmoTokenEmbedder
    from polyseme.compat.elmo_module import ScalarMix as ScalarMix
    from polyseme.compat.elmo_module import batch_to_ids as batch_to_ids

_HOME = {
    "polyseme.compat.elmo_bilm": ("_ElmoBiLm",),
    "polyseme.compat.elmo_characters": ("ConfigurationError", "ELMoCharacterMapper"),
    "polyseme.compat.elmo_embedder": ("ElmoEmbedder",),
    "polyseme.compat.elmo_module": ("Elmo", "ElmoTokenEmbedder", "ScalarMix", "batch_to_ids"),
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _HOME)
