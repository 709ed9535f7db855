"""Settings for all tests."""

from __future__ import annotations

import os
import signal

if "PYTEST_XDIST_WORKER" in os.environ:
    # Several processes share the cores. Threads that wait for each other are many times slower where each process has
    # as many as there are cores; this has to be said before numpy and torch are imported.
    workers = int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))

import pytest
from hypothesis import HealthCheck, settings

from helpers.packages import install as install

# A shell starts programs in the background with Ctrl-C ignored, and what they start ignores it too.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The machines are shared and noisy: a deadline would test them, not polyseme.
settings.register_profile("polyseme", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("polyseme")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Processes that share the tests compare their names, so a name must be the same in each."""
    addresses = [item.nodeid for item in items if " object at 0x" in item.nodeid]
    if addresses:
        raise pytest.UsageError(f"the name of a test has an address in it; give it ids: {addresses[0]}")
