"""A fixture for the tests of folders that keep vectors in the user's cache: import it in their conftest.py."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test writes into the user's cache."""
    monkeypatch.setenv("POLYSEME_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
