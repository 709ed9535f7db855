"""Where the data sets are: ``shared`` beside the checkout, or $POLYSEME_SHARED."""

from __future__ import annotations

import os
from pathlib import Path

SHARED = Path(os.environ.get("POLYSEME_SHARED", Path(__file__).parents[2] / "shared"))
DATA = SHARED / "data"
