"""No vector leaves an engine that is not made of finite numbers, or whose length is not finite.

Weights can be finite, and still so large that a product of them is not. What can be seen of that at load is refused
there; the rest is seen here, at the first vector.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from polyseme.errors import FormatError

Floats = npt.NDArray[np.float32]

#: The squares of larger values cannot be added up in float32. Real vectors stay below 100.
LARGEST_VALUE = 1e15


def refuse_infinite(layers: Sequence[Floats], sentences: Sequence[Sequence[str]], boundaries: bool) -> None:
    """``layers``: of each sentence [L+1, N, W], or [L+1, N+2, W] with its boundaries."""
    for values, sentence in zip(layers, sentences, strict=True):
        if values.size and not (values.max() < LARGEST_VALUE and values.min() > -LARGEST_VALUE):  # NaN is neither
            layer, place, _ = np.argwhere(~(np.abs(values) < LARGEST_VALUE))[0].tolist()
            tokens = ["the sentence's begin", *map(repr, sentence), "the sentence's end"]
            token = tokens[place if boundaries else place + 1]
            raise FormatError(
                f"the vector of {token[:60]} in layer {layer} is not made of finite numbers, or of far too large ones: "
                "weights of the model are damaged; get the model again"
            )
