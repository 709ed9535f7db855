"""So that tests can say `from tiny import tiny_elmo`: the small model of the embed job's tests."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "embed"))
