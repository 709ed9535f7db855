"""A small biLM on disk and a small corpus of names, for tests of the foundation that all tasks stand on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "embed"))  # so that tests can say `from tiny import tiny_model`

from names import write_names
from tiny import tiny_model

from polyseme.formats.native import save_native


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("tasks") / "model"
    save_native(tiny_model(), folder)
    return str(folder)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test writes into the user's cache."""
    monkeypatch.setenv("POLYSEME_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def names(tmp_path: Path) -> Path:
    return write_names(tmp_path / "names")
