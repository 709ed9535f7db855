"""A home of its own for every test, and small releases to download into it."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.small_models import small_model
from polyseme.formats.bilm_tf import save_bilm_tf


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    monkeypatch.setenv("POLYSEME_HOME", str(folder))
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """options.json and weights.hdf5 of a small model."""
    folder = tmp_path_factory.mktemp("pair") / "model"
    save_bilm_tf(small_model(), folder)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
