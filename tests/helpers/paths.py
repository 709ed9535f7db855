"""Where things lie: the checkout, and beside it the golden files and data sets (``shared``, or $POLYSEME_SHARED)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
#: The small golden files that every test run needs.
COMMITTED = ROOT / "tests" / "fixtures"

SHARED = Path(os.environ.get("POLYSEME_SHARED", ROOT.parent / "shared"))
FIXTURES = SHARED / "fixtures"
DATA = SHARED / "data"


def needs(path: Path) -> pytest.MarkDecorator:
    """Skip a test, with a reason, where ``path`` does not exist."""
    return pytest.mark.skipif(not path.exists(), reason=f"{path.name} is not beside this checkout")
