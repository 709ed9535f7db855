"""polyseme embed: what it prints, and that shares, words and resuming work from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers.command_line import polyseme, toy_model
from polyseme import Elmo
from polyseme.embed import about, read


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return written("text.txt", "Here is your birthday present.\nLive in the present. At present!\n\nThe bank.\n")


def written(name: str, content: str) -> Path:
    path = Path.cwd() / name
    path.write_text(content, encoding="utf-8")
    return path


def embed(*arguments: str, code: int = 0) -> str:
    return polyseme("embed", *arguments, "--model", str(toy_model()), code=code).output


def test_parsing_needs_no_torch() -> None:
    program = "import sys, polyseme.cli.embed; sys.exit('torch' in sys.modules or 'h5py' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_it_says_what_it_wrote_and_what_to_do_next(text: Path) -> None:
    output = embed("text.txt", "--out", "vectors.h5")
    assert output.startswith("vectors.h5: 5 records of 17 tokens, ")
    program = output.partition('next: python -c "')[2].strip().removesuffix('"')
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed == "['Here', 'is', 'your', 'birthday', 'present', '.']\n"


def test_an_estimate_writes_nothing(text: Path) -> None:
    output = embed("text.txt", "--out", "vectors.h5", "--estimate")
    assert [line.split()[0] for line in output.splitlines()] == ["documents", "to", "time", "memory", "file", "disk"]
    assert f"4 of {sum(map(len, text.read_text(encoding='utf-8').splitlines()))} characters" in output
    assert "about 5 sentences, 17 tokens" in output
    assert [path.name for path in text.parent.iterdir()] == ["text.txt"]


def test_statistics(text: Path) -> None:
    output = embed("text.txt", "--out", "vectors.npz", "--stats")
    assert [line.split()[0] for line in output.splitlines()[:4]] == ["time", "speed", "memory", "cache"]
    assert "17 tokens in this run" in output


def test_released_models_start_warm(text: Path) -> None:
    embed("text.txt", "--out", "vectors.npz", "--state", "warm", "--device", "cpu")
    reset, warm = (Elmo.from_pretrained(toy_model(), state=state) for state in ("reset", "warm"))
    found = next(read("vectors.npz"))
    np.testing.assert_allclose(found.vectors, warm.encode(found.text).vectors, atol=1e-6)
    assert np.abs(found.vectors - reset.encode(found.text).vectors).max() > 1e-3
    assert (about("vectors.npz") or {})["state"] == "warm"


def test_words(text: Path) -> None:
    embed("text.txt", "--out", "vectors.npz", "--words", "present, bank", "--layers", "all", "--dtype", "float16")
    records = list(read("vectors.npz"))
    assert [record.word for record in records] == ["present", "present", "present", "bank"]
    assert {(record.layers.dtype.name, record.layers.ndim) for record in records} == {("float16", 2)}


def test_shares_and_merge(text: Path) -> None:
    embed("text.txt", "--out", "whole.npz")
    first = embed("text.txt", "--out", "vectors.npz", "--shard", "1/2")
    assert first == "share 1 of 2 is done\nnext, when all are: polyseme embed --merge --out vectors.npz\n"
    missing = polyseme("embed", "--merge", "--out", "vectors.npz", code=1).output
    assert "1 of 2 shares" in missing
    embed("text.txt", "--out", "vectors.npz", "--shard", "2/2")
    polyseme("embed", "--merge", "--out", "vectors.npz")
    assert Path("vectors.npz").read_bytes() == Path("whole.npz").read_bytes()


def test_resuming_what_is_complete(text: Path) -> None:
    embed("text.txt", "--out", "vectors.npz")
    assert embed("text.txt", "--out", "vectors.npz", "--resume") == "vectors.npz is complete already\n"


def test_words_that_do_not_occur_are_named_and_no_record_is_shown(text: Path) -> None:
    said = embed("text.txt", "--out", "vectors.npz", "--words", "quokka")
    assert said == "vectors.npz: 0 records; 'quokka' does not occur in the text\n"


def test_resuming_keeps_what_another_job_wrote(text: Path) -> None:
    embed("text.txt", "--out", "vectors.npz")
    said = polyseme("embed", "text.txt", "--out", "vectors.npz", "--pool", "mean", "--resume", code=1).output
    assert "vectors.npz was written by another job: " in said


def test_language_and_kind_can_be_said(text: Path) -> None:
    text.write_text('{"body": "a-b c."}\n', encoding="utf-8")
    embed("text.txt", "--out", "vectors.npz", "--kind", "jsonl", "--field", "body", "--lang", "whitespace")
    assert [record.tokens for record in read("vectors.npz")] == [["a-b", "c."]]
    described = about("vectors.npz")
    assert described is not None
    assert (described["lang"], described["field"]) == ("whitespace", "body")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "at least one file"),
        (["text.txt", "--merge"], "--merge takes no inputs"),
        (["text.txt", "--on", "ray", "--shard", "1/2"], "no --shard"),
        (["text.txt", "--layers", "some"], "some"),
        (["text.txt", "--threads", "0"], "--threads"),
    ],
)
def test_wrong_use(text: Path, arguments: list[str], expected: str) -> None:
    assert expected in embed(*arguments, code=2)


def test_a_share_that_is_none_is_refused(text: Path) -> None:
    assert "expected i/n" in embed("text.txt", "--shard", "3/2", code=1)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return written("reviews.csv", "nr,body,stars\nr7,A fine film.,5\nr9,A dull film.,1\n")


@pytest.mark.parametrize("out", ["a.h5", "a.parquet", "a.npz", "a.npy", "a.jsonl"])
def test_ids_and_columns_go_along(table: Path, out: str) -> None:
    embed("reviews.csv", "--field", "body", "--id", "nr", "--keep", "stars", "--pool", "mean", "--out", out)
    records = list(read(out))
    assert [(record.id, record.kept["stars"]) for record in records] == [("r7", "5"), ("r9", "1")]


def test_a_column_that_is_called_id_is_the_id(table: Path) -> None:
    Path("a.jsonl").write_text('{"id": 41, "text": "One."}\n{"id": "x", "text": "Two."}\n', encoding="utf-8")
    embed("a.jsonl", "--out", "a.npz")
    assert [record.id for record in read("a.npz")] == ["41", "x"]


def test_a_pipe_gets_json_lines(table: Path) -> None:
    printed = polyseme(
        *("embed", "reviews.csv", "--field", "body", "--id", "nr", "--keep", "stars", "--pool", "mean", "--out", "-"),
        *("--model", str(toy_model())),
    ).stdout
    embed("reviews.csv", "--field", "body", "--pool", "mean", "--out", "a.npz")
    lines = [json.loads(line) for line in printed.splitlines()]
    assert [(line["id"], line["kept"]) for line in lines] == [("r7", {"stars": "5"}), ("r9", {"stars": "1"})]
    np.testing.assert_array_equal(
        np.array([line["vectors"] for line in lines], np.float32), np.load("a.npz")["vectors"]
    )


def test_a_pipe_gets_arrow(table: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    arguments = ["--field", "body", "--id", "nr", "--keep", "stars", "--format", "arrow", "--out", "-"]
    command = [sys.executable, "-m", "polyseme", "embed", "reviews.csv", *arguments, "--model", str(toy_model())]
    done = subprocess.run(command, capture_output=True, check=True)
    found = pyarrow.ipc.open_stream(done.stdout).read_all()
    assert found["id"].to_pylist() == ["r7", "r9"] and found["stars"].to_pylist() == ["5", "1"]
    assert b"wrote 2 records" in done.stderr


def test_a_column_that_is_not_there(table: Path) -> None:
    assert "there is no field 'sters'; there are: 'nr', 'body', 'stars'" in embed(
        "reviews.csv", "--field", "body", "--keep", "sters", code=1
    )


def test_one_record_is_one_record(table: Path) -> None:
    Path("one.txt").write_text("Hello\n", encoding="utf-8")
    assert "1 record of 1 token," in embed("one.txt", "--out", "one.npz")
