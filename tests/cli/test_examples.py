"""The examples at the end of each verb's help are run, in a folder that has the files they name."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import polyseme, toy_model

from polyseme.cli.app import VERBS, help_and_examples
from polyseme.formats.bilm_tf import save_bilm_tf, special_tokens
from polyseme.formats.native import load_native
from polyseme.pretrain.toy import TEXT
from polyseme.text.characters import ByteScheme
from polyseme.text.indexing import Indexer

EXAMPLES = {
    verb.__name__: re.findall(r"polyseme (.*)", help_and_examples(verb)[1])
    for verbs in VERBS.values()
    for verb in verbs
}

#: What makes an example run on a toy, in seconds; it says nothing that the example says itself.
SHORTER = {
    "pretrain": "--set softmax.kind=full --set text.tokens=160 --set budget.tokens=300 --set budget.validate_every=300",
}
NEEDS_TRAINED_MODEL = {"demo"}  # trains for half a minute: test_demo.py runs it, once


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with everything that the examples name, small."""
    monkeypatch.chdir(tmp_path)
    text = TEXT.read_text(encoding="utf-8")
    for name in ("news.txt", "corpus.txt"):
        Path(name).write_text(text, encoding="utf-8")
    with gzip.open("reviews.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps({"body": line}) + "\n" for line in text.splitlines() if line)
    _model_files()
    return tmp_path


def _model_files() -> None:
    """The toy under the names, and in the formats, of models that were released."""
    stored = load_native(toy_model())
    boundaries = Indexer(ByteScheme(50, special_tokens(stored.vocabulary)))  # bilm-tf reads <S> as a boundary
    save_bilm_tf(replace(stored, indexer=boundaries, softmax=None), Path("pair"))
    (weights,) = Path("pair").glob("*.hdf5")
    released = "elmo_2x4096_512_2048cnn_2xhighway_"
    Path(f"{released}options.json").write_bytes(Path("pair/options.json").read_bytes())
    Path(f"{released}weights.hdf5").write_bytes(weights.read_bytes())
    with zipfile.ZipFile("136.zip", "w") as archive:
        for path in Path("pair").iterdir():
            archive.write(path, path.name)
    with tarfile.open("model.tar.gz", "w:gz") as archive:
        archive.add(toy_model(), "model")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in NEEDS_TRAINED_MODEL])
def test_examples_run(name: str) -> None:
    if name == "pretrain":
        polyseme("prepare", "news.txt", "--out", "corpus")
    for example in EXAMPLES[name]:
        polyseme(*shlex.split(example), *shlex.split(SHORTER.get(name, "")), *_model(name, example))


def _model(name: str, example: str) -> list[str]:
    """Where an example relies on the bundled model, the toy stands in for it."""
    takes_model = "--model" in polyseme(name, "--help").stdout
    return ["--model", str(toy_model())] if takes_model and "--model" not in example else []
