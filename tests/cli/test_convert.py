"""polyseme convert: the same model in another format, or one sentence why not."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from typer.testing import CliRunner

from helpers.command_line import refusal
from helpers.paths import COMMITTED
from polyseme.cli.app import app
from polyseme.formats.detect import load

GOLDEN = COMMITTED / "formats"
SKIP = GOLDEN / "bilm-tf-generated" / "inference" / "skip2_relu"
WORDS = SKIP.parent / "word_input"
RUN = CliRunner()


@pytest.mark.parametrize("target", ["native", "bilm-tf", "allennlp"])
def test_the_model_stays_the_same(tmp_path: Path, target: str) -> None:
    out = tmp_path / "out"
    result = RUN.invoke(app, ["convert", str(SKIP), str(out), "--to", target])
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    assert result.stderr == f"wrote {out}; next: polyseme info {out}\n"
    assert load(out).fingerprint() == load(SKIP).fingerprint()


def test_a_vocabulary_becomes_a_table_of_word_vectors(tmp_path: Path) -> None:
    """As bilm-tf's own ``dump_token_embeddings`` makes it; the folder then reads words."""
    words, out = SKIP.parent / "vocab.txt", tmp_path / "out"
    command = ["convert", str(SKIP), str(out), "--to", "bilm-tf", "--vocabulary", str(words)]
    for again in ([], ["--overwrite"]):
        result = RUN.invoke(app, [*command, *again])
        assert result.exit_code == 0, result.output
    with h5py.File(out / "embeddings.hdf5") as found, h5py.File(WORDS / "token_embeddings.hdf5") as expected:
        np.testing.assert_allclose(found["embedding"][...], expected["embedding"][...], atol=1e-5)
    model = load(out)
    assert model.config.words is not None and model.config.words.size == len(words.read_text("utf-8").splitlines())
    assert load(out / "weights.hdf5").config.characters == load(SKIP).config.characters


def test_native_is_what_is_written_unless_said(tmp_path: Path) -> None:
    result = RUN.invoke(app, ["convert", str(GOLDEN / "manylangs" / "model.zip"), str(tmp_path / "out"), "--quiet"])
    assert (result.exit_code, result.output) == (0, "")
    assert load(tmp_path / "out").format == "native"


def test_half_precision_is_half_the_size(tmp_path: Path) -> None:
    for dtype in ("float32", "float16"):
        RUN.invoke(app, ["convert", str(SKIP), str(tmp_path / dtype), "--dtype", dtype])
    sizes = [(tmp_path / dtype / "model.safetensors").stat().st_size for dtype in ("float16", "float32")]
    assert sizes[0] < 0.6 * sizes[1]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([str(GOLDEN / "manylangs" / "model.zip"), "OUT", "--to", "bilm-tf"], "it reads words and characters together"),
        ([str(GOLDEN / "bilm-tf-generated" / "checkpoint"), "OUT", "--to", "allennlp"], "10 characters of a token"),
        ([str(SKIP), "OUT", "--to", "bilm-tf", "--dtype", "float16"], "stores weights as float32 only"),
        ([str(SKIP), "OUT", "--vocabulary", "words.txt"], "belongs to bilm-tf's files; add --to bilm-tf"),
        ([str(SKIP), "OUT", "--to", "bilm-tf", "--vocabulary", "words.txt"], "there is no file words.txt"),
        ([str(GOLDEN / "nowhere"), "OUT"], "there is no file or folder"),
        ([str(SKIP), "FULL"], "already exists; choose another name, or replace it with --overwrite"),
        ([str(SKIP), "FULL", "--overwrite"], "holds 'mine.txt', which is not part of a model"),
    ],
)
def test_what_cannot_be_done_is_said_and_leaves_nothing(tmp_path: Path, arguments: list[str], reason: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    places = {"OUT": str(tmp_path / "out"), "FULL": str(tmp_path / "full")}
    assert reason in refusal("convert", *(places.get(argument, argument) for argument in arguments))
    assert [path.name for path in sorted(tmp_path.rglob("*"))] == ["full", "mine.txt"]


def test_a_format_that_is_none_is_wrong_use(tmp_path: Path) -> None:
    assert RUN.invoke(app, ["convert", str(SKIP), str(tmp_path / "out"), "--to", "onnx"]).exit_code == 2
