"""FASTA in, vectors of residues and of proteins out: what docs/proteins.md says, with a made-up model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers.command_line import polyseme, refusal
from helpers.tiny_models import tiny_model
from polyseme.elmo import Elmo
from polyseme.embed import read
from polyseme.formats.native import save_native
from polyseme.formats.releases.known import find_release

FASTA = """>sp|P69905|HBA_HUMAN Hemoglobin subunit alpha
MVLSPADKTN
vkaawgkv*
>second some words
GAV
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A tiny model with the card that the release ``seqvec`` has, and two proteins."""
    monkeypatch.chdir(tmp_path)
    Path("proteins.fasta").write_text(FASTA)
    release = find_release("seqvec")
    assert release is not None
    stored = tiny_model(card=dict(release.card()))
    save_native(stored, "protein-model")
    return "protein-model"


def test_a_residue_is_a_token_and_the_layers_are_summed(model: str) -> None:
    polyseme("embed", "proteins.fasta", "--model", model, "--out", "residues.h5", "--quiet")
    first, second = read("residues.h5")
    assert (first.id, second.id) == ("P69905", "second")
    assert "".join(first.tokens) == "MVLSPADKTNVKAAWGKV"
    elmo = Elmo.from_pretrained(model, device="cpu")
    layers = elmo.encode_tokens([list("GAV")])[0].layers  # [L+1, 3, W]
    np.testing.assert_allclose(second.vectors, layers.sum(axis=0), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(elmo.encode("GAV").vectors, second.vectors)


def test_a_protein_is_the_mean_of_its_residues(model: str) -> None:
    polyseme("embed", "proteins.fasta", "--model", model, "--pool", "mean", "--out", "proteins.npz", "--quiet")
    found = np.load("proteins.npz")
    assert found["ids"].tolist() == ["P69905", "second"]
    elmo = Elmo.from_pretrained(model, device="cpu")
    np.testing.assert_allclose(found["vectors"], elmo.vectors(["MVLSPADKTNVKAAWGKV", "GAV"]), rtol=1e-5, atol=1e-6)


def test_a_line_that_holds_no_residues_is_named(model: str) -> None:
    Path("bad.fasta").write_text(">a\nMKT\nMK 1\n")
    assert "bad.fasta, line 3 has characters that are not residues" in refusal(
        "embed", "bad.fasta", "--model", model, "--out", "bad.h5", "--quiet"
    )
