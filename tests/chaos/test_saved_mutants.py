"""Mutants of `make fuzz`: those that were found to do harm once, and some new ones of every surface."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from chaos.fuzz import SAVED, fuzz, read_mutant
from chaos.surfaces import surfaces

pytest.importorskip("pyarrow")
pytest.importorskip("zstandard")

SURFACES = {surface.name.replace(" ", "-"): surface for surface in surfaces()}
MUTANTS = sorted(path for path in SAVED.glob("*/*") if path.is_dir())


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda path: f"{path.parent.name}-{path.name}")
@pytest.mark.timeout(60)
def test_what_did_harm_once_is_read_or_refused(mutant: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(mutant, tmp_path / "mutant"))
    assert read_mutant(SURFACES[mutant.parent.name], folder)[0] in ("read", "refused")


@pytest.mark.parametrize("name", SURFACES)
def test_some_mutants_of_every_surface(name: str, tmp_path: Path) -> None:
    pytest.importorskip("resource", reason="the limits of a process are those of POSIX")
    tally = fuzz(SURFACES[name], range(15), seed=20, place=tmp_path)
    assert tally.failures == []
    assert tally.read + tally.refused == 15
