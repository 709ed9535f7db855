"""The fingerprint of a model: equal for models that give equal vectors, and the same in every version of polyseme.

    "1:" and the sha256 of:  what differs from the defaults of network and indexer, as canonical JSON
                             for each tensor, by name:  its name and shape as JSON, its values as little-endian float32

The number in front is that of the scheme; whoever changes what is hashed gives it the next one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np

from polyseme.bilm_config import BiLMConfig
from polyseme.formats.arrays import Floats
from polyseme.jobs.identity import canonical
from polyseme.text.indexing import Indexer

SCHEME = 1


def model_fingerprint(config: BiLMConfig, indexer: Indexer, tensors: Mapping[str, Floats]) -> str:
    scheme = indexer.characters.SCHEME if indexer.characters else None
    found = hashlib.sha256(canonical({"network": config, "indexer": indexer, "scheme": scheme}))
    for name in sorted(tensors):
        values = np.ascontiguousarray(tensors[name], np.dtype("<f4"))
        found.update(canonical([name, tensors[name].shape]))
        found.update(values.reshape(-1).view(np.uint8).data)
    return f"{SCHEME}:{found.hexdigest()}"
