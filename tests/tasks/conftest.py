"""A small biLM on disk and a small corpus of names, for tests of the foundation that all tasks stand on."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.caches import own_cache as own_cache
from helpers.tiny_models import tiny_model
from helpers.toy_names import write_names
from polyseme.formats.native import save_native


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("tasks") / "model"
    save_native(tiny_model(), folder)
    return str(folder)


@pytest.fixture
def names(tmp_path: Path) -> Path:
    return write_names(tmp_path / "names")
