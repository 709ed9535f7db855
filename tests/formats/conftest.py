"""The largest differences from the originals are part of the output of a test run."""

from __future__ import annotations

from typing import Any

from helpers import golden


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for family, difference in sorted(golden.DIFFERENCES.items()):
        terminalreporter.write_line(f"largest difference from {family}: {difference:.1e}")
