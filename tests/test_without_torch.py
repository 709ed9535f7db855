"""Where PyTorch is not installed, everything that a CPU can do works, and the rest says what to install.

Each test runs in a Python of its own, where importing torch fails.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from helpers.command_line import PATIENCE
from helpers.golden import golden
from helpers.small_lms import small_lm
from polyseme.formats.native import save_native

BLOCKED = "import sys\nsys.modules['torch'] = None\n"
VERB = BLOCKED + "from polyseme.cli.app import main\nsys.argv[0] = 'polyseme'\nmain()"


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=PATIENCE, check=False)


def polyseme(*arguments: str) -> str:
    done = run(VERB, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    save_native(small_lm(), "model")
    Path("text.txt").write_text("the cat sat on a present .\nHere is your birthday present .\n" * 5, encoding="utf-8")
    return "model"


def test_texts_have_vectors_scores_substitutes_and_senses(model: str) -> None:
    script = BLOCKED + (
        "from polyseme import Elmo\n"
        "elmo = Elmo.from_pretrained(sys.argv[1])\n"
        "print(elmo.device, elmo.encode('the cat sat').vectors.shape)\n"
        "print(elmo.score('the cat sat').total.forward < 0, len(elmo.substitutes('the [cat] sat', k=3)))\n"
        "print(len(elmo.sense('the [cat] sat').substitutes) > 0)\n"
        "elmo.save_pretrained('copy')"
    )
    done = run(script, model)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["cpu (3, 10)", "True 3", "True"]


def test_files_are_embedded_in_every_format(model: str) -> None:
    for name in ("vectors.h5", "vectors.npz", "vectors.parquet"):
        polyseme("embed", "text.txt", "--model", model, "--out", name, "--quiet")
        assert Path(name).exists()


def test_models_are_shown_and_converted(model: str) -> None:
    assert json.loads(polyseme("info", "en", "--json"))["layers"] == 2
    polyseme("convert", model, "small", "--dtype", "float16", "--softmax", "int8")
    polyseme("convert", str(golden("allennlp/token_embedder_projection.th")), "from-torch")
    polyseme("convert", str(golden("manylangs/model_char_only")), "from-many-languages")
    polyseme("convert", "from-torch", "hdf5", "--to", "bilm-tf")
    assert "english" in polyseme("models").lower()


def test_a_model_is_asked(model: str) -> None:
    assert polyseme("score", "the cat sat", "--model", model)
    assert "cat" in polyseme("substitutes", "the [cat] sat", "--model", model, "-k", "20")
    polyseme("index", "text.txt", "--model", model, "--out", "index", "--quiet")
    assert "present" in polyseme("neighbours", "index", "Here is your birthday [present] .", "-k", "3")


def test_the_demo(tmp_path: Path) -> None:
    assert "present" in polyseme("demo", "--out", str(tmp_path / "out"))
    assert (tmp_path / "out" / "senses.html").exists()


def test_a_server_answers(model: str) -> None:
    command = [sys.executable, "-c", VERB, "serve", "--model", model, "--port", "0", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            body = json.dumps({"texts": ["the cat sat"]}).encode()
            asked = urllib.request.Request(f"{address}/encode", body, {"Content-Type": "application/json"})
            with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
                assert answer.status == 200
        finally:
            server.terminate()


def test_a_corpus_is_prepared(model: str) -> None:
    polyseme("prepare", "text.txt", "--out", "corpus", "--quiet")
    assert Path("corpus").is_dir()


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("pretrain", "corpus", "--out", "run"), "train"),
        (("finetune", "model", "corpus", "--out", "run"), "train"),
        (("evaluate", "model", "text.txt"), "train"),
        (("task", "train", "ner", "--data", "names", "--out", "run"), "tasks"),
        (("task", "predict", "run", "text.txt"), "tasks"),
        (("reproduce", "--data", "data", "--out", "report"), "tasks"),
        (("embed", "text.txt", "--device", "cuda", "--out", "x.h5"), "train"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else value,
)
def test_what_needs_torch_says_what_to_install(model: str, arguments: tuple[str, ...], extra: str) -> None:
    done = run(VERB, *arguments)
    assert done.returncode == 1
    assert done.stderr.startswith("polyseme: ") and done.stderr.count("\n") == 1
    assert done.stderr.endswith(f"needs packages that are not installed; run: pip install 'polyseme[{extra}]'\n")


@pytest.mark.parametrize(
    ("expression", "extra"),
    [
        ("polyseme.BiLM", "train"),
        ("polyseme.ElmoRepresentations", "train"),
        ("polyseme.Task", "tasks"),
        ("polyseme.Elmo.from_pretrained('model').bilm", "train"),
        ("polyseme.Elmo.from_pretrained('model').ids([['a']])", "train"),
    ],
)
def test_public_names_say_what_to_install(model: str, expression: str, extra: str) -> None:
    done = run(BLOCKED + f"import polyseme\n{expression}")
    assert f"pip install 'polyseme[{extra}]'" in done.stderr.splitlines()[-1]
