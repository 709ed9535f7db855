"""The examples at the end of each verb's help are run, in a folder that has the files they name."""

from __future__ import annotations

import re
import shlex
import shutil
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.command_line import polyseme, toy_model
from polyseme.cli.app import VERBS, help_and_examples
from polyseme.formats.bilm_tf import save_bilm_tf, special_tokens
from polyseme.formats.native import load_native
from polyseme.pretrain.toy import TOY_TEXT
from polyseme.text.characters import ByteScheme
from polyseme.text.vocabulary import Indexer

EXAMPLES = {
    verb.__name__: re.findall(r"polyseme (.*)", help_and_examples(verb)[1])
    for verbs in VERBS.values()
    for verb in verbs
    # test_demo_verb.py runs it, shorter; tests/serve runs what never ends, test_models_verb.py what needs a server,
    # test_tag_verb.py what needs a task model
    if verb.__name__ not in ("demo", "serve", "explore", "pull", "tag")
}

#: What makes an example end in seconds on a page of text.
_FEW_TOKENS = "--set softmax.kind=full --set text.tokens=160 --set budget.tokens=300 --set budget.validate_every=300"
SHORTER = {"pretrain": _FEW_TOKENS, "finetune": f"{_FEW_TOKENS} --softmax-tokens 100"}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with everything that the examples name, small."""
    monkeypatch.chdir(tmp_path)
    text = TOY_TEXT.read_text(encoding="utf-8")
    compared = ("1900.txt", "2000.txt", "novels.txt")
    for name in (*compared, "news.txt", "corpus.txt", "reviews.txt", "held-out.txt", "wiki.test.tokens"):
        Path(name).write_text(text, encoding="utf-8")
    Path("data/corpora/en").mkdir(parents=True)  # of all sets, the text whose words are neighbours
    Path("data/corpora/en/enwiki-heldout.txt").write_text(text, encoding="utf-8")
    rows = (f'r{n},"{line}",5\n' for n, line in enumerate(text.replace('"', "'").splitlines()) if line)
    Path("reviews.csv").write_text("nr,body,stars\n" + "".join(rows), encoding="utf-8")
    Path("words.txt").write_text("present\nbank\nthe\n", encoding="utf-8")
    _model_files()
    return tmp_path


def _model_files() -> None:
    """The toy under the names, and in the formats, of models that were released."""
    stored = load_native(toy_model())
    boundaries = Indexer(ByteScheme(50, special_tokens(stored.vocabulary)))  # bilm-tf reads <S> as a boundary
    save_bilm_tf(replace(stored, indexer=boundaries, softmax=None), Path("pair"))
    (weights,) = Path("pair").glob("*.hdf5")
    for released in ("elmo_", "elmo_2x4096_512_2048cnn_2xhighway_"):
        shutil.copy("pair/options.json", f"{released}options.json")
        shutil.copy(weights, f"{released}weights.hdf5")
    with zipfile.ZipFile("136.zip", "w") as archive:
        for path in Path("pair").iterdir():
            archive.write(path, path.name)
    with tarfile.open("model.tar.gz", "w:gz") as archive:
        archive.add(toy_model(), "model")
    shutil.copytree(toy_model(), "my-model")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run_one_after_the_other(name: str) -> None:
    if name in ("pretrain", "finetune"):
        polyseme("prepare", "news.txt", "--out", "corpus")
    if name == "neighbours":
        polyseme("index", "corpus.txt", "--out", "corpus-index", "--model", str(toy_model()))
    for example in EXAMPLES[name]:
        if "--resume" not in example:
            shutil.rmtree("run", ignore_errors=True)
        run(example)


def run(example: str) -> None:
    """An example, made shorter; where it relies on the bundled model, the toy stands in for it."""
    name, *words = shlex.split(example)
    words = [str(toy_model()) if word == "en" else word for word in words]
    if "--model" in polyseme(name, "--help").stdout and "--model" not in words:
        words += ["--model", str(toy_model())]
    polyseme(name, *words, *shlex.split(SHORTER.get(name, "")))
