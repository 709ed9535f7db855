"""Settings for all tests."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

from helpers.packages import install as install

# A shell starts programs in the background with Ctrl-C ignored, and what they start ignores it too.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The machines are shared and noisy: a deadline would test them, not polyseme.
settings.register_profile("polyseme", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("polyseme")
