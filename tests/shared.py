"""Where the golden files and data sets lie when they are there: ``shared`` beside the checkout, or $POLYSEME_SHARED."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("POLYSEME_SHARED", Path(__file__).parents[2] / "shared"))
FIXTURES = SHARED / "fixtures"
DATA = SHARED / "data"


def needs(path: Path) -> pytest.MarkDecorator:
    """Skip a test, with a reason, where ``path`` does not exist."""
    return pytest.mark.skipif(not path.exists(), reason=f"{path.name} is not beside this checkout")
