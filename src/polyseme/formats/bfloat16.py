"""bfloat16, which numpy does not know: the upper half of a float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.formats.arrays import Floats

BFLOAT16 = "<u2"  #: how its bits are held


def widened(bits: npt.NDArray[Any]) -> Floats:
    """The bits as 16-bit numbers → the same values as float32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)
