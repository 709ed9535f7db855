"""The biLM once more, in numpy float64 and in the conventions of the released files, to test polyseme against.

Written from the description of the formats alone: it shares no code, no parameter layout and no batching with
``polyseme.nn``, and prefers the obvious to the fast: one sentence and one position at a time. ``nn/test_reference.py``
checks it against golden files of the original programs. Only ``port.py`` knows polyseme.

    options     the contents of an options.json
    weights     {HDF5 name: array}, layouts as in the HDF5 file: W_cnn_i [1, w, d, n], matrices for row vectors (x @ W),
                gates in the order i, j, f, o, the forget bias stored without its +1, "carry" multiplying the transform
    ids         byte scheme: file row + 1, where 0 is padding and has a zero vector; Unicode scheme: the row itself
"""

from helpers.reference.characters import byte_ids, byte_row, unicode_ids
from helpers.reference.mixing import batch_layer_norm, mix, token_layer_norm
from helpers.reference.models import from_torch_layout, options_for, random_weights
from helpers.reference.network import ReferenceBiLM, State, without_boundaries

__all__ = [
    "ReferenceBiLM",
    "State",
    "batch_layer_norm",
    "byte_ids",
    "byte_row",
    "from_torch_layout",
    "mix",
    "options_for",
    "random_weights",
    "token_layer_norm",
    "unicode_ids",
    "without_boundaries",
]
