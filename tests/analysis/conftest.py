"""So that tests can say `from tiny import tiny_elmo`: small models, and small data of all tasks."""

from __future__ import annotations

import sys
from pathlib import Path

for _folder in ("embed", "lm", "tasks"):
    sys.path.insert(0, str(Path(__file__).parents[1] / _folder))
