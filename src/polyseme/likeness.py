"""How alike two texts are, or a marked word of each: the cosine of their vectors, layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyseme.encoding import Floats
from polyseme.errors import InputError
from polyseme.target import read_target
from polyseme.text_input import shown

if TYPE_CHECKING:
    from polyseme.elmo import Elmo


def layer_cosines(elmo: Elmo, first: str, second: str) -> Floats:
    """[L+1]"""
    a, b = _marked_vectors(elmo, first), _marked_vectors(elmo, second)
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    cosines: Floats = (a * b).sum(axis=1) / np.maximum(norms, np.finfo(np.float32).tiny)
    return cosines


def _marked_vectors(elmo: Elmo, marked: str) -> Floats:
    """The mean of the marked tokens in every layer; of all tokens where none is marked. [L+1, W]"""
    text, span = read_target(marked)
    encoding = elmo.encode(text)
    begin, end = span or (0, len(text))
    inside = (encoding.offsets[:, 0] < end) & (encoding.offsets[:, 1] > begin)  # [N]
    if not inside.any():
        raise InputError(f"nothing to compare in {shown(marked)}: it has no word there")
    mean: Floats = encoding.layers[:, inside].mean(axis=1, dtype=np.float32)
    return mean
