"""Settings for all tests."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))  # so that tests can say `from shared import FIXTURES`

# The machines are shared and noisy: a deadline would test them, not polyseme.
settings.register_profile("polyseme", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("polyseme")
