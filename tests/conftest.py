"""Settings for all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from helpers.packages import install as install

# The machines are shared and noisy: a deadline would test them, not polyseme.
settings.register_profile("polyseme", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("polyseme")
