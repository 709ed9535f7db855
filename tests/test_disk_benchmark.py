"""benchmarks/disk.py counts what is in a folder, and nothing that it only points to."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from helpers.paths import ROOT


def test_targets_of_links_are_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    sys.modules.pop("disk", None)
    from disk import megabytes

    folder = tmp_path / "venv"
    folder.mkdir()
    (tmp_path / "python").write_bytes(bytes(5_000_000))
    (folder / "own").write_bytes(bytes(2_000_000))
    (folder / "python").symlink_to(tmp_path / "python")
    assert megabytes(folder) == 2
