"""polyseme serve as a process: it starts, tells its address, answers, and ends when it is told to."""

from __future__ import annotations

import re
import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.command_line import PATIENCE, interrupt, polyseme, refusal, signals, start, toy_model
from helpers.running_server import Answer, Client
from polyseme.cli.app import help_and_examples
from polyseme.cli.serve import serve
from polyseme.elmo import Elmo

EXAMPLES = re.findall(r"polyseme serve ?(.*)", help_and_examples(serve)[1])


@contextmanager
def serving(*arguments: str, cwd: Path) -> Iterator[tuple[Client, Any]]:
    process = start("serve", *arguments, cwd=cwd)
    try:
        address = process.stdout.readline().strip() if process.stdout else ""
        assert address.startswith("http://"), process.communicate()
        yield Client(address), process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@signals
@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_of_the_help_serve(example: str, tmp_path: Path) -> None:
    """On a port that is free; where the bundled models are meant, the toy stands in for them."""
    (tmp_path / "my-model").symlink_to(toy_model())
    words = [word if word != "8080" else "0" for word in shlex.split(example)]
    model = [] if "--model" in words else ["--model", "my-model"]
    with serving(*words, *model, *([] if "--port" in words else ["--port", "0"]), cwd=tmp_path) as (client, process):
        assert client.get("/health").status == 200
        assert client.get("/models").json["models"][0]["name"] == "my-model"
        assert "ELMo gives every occurrence of a word" in client.get("/").body.decode()
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    assert "Traceback" not in said


@signals
def test_a_released_model_begins_from_the_state_that_it_knows(tmp_path: Path) -> None:
    text = "They fished from the bank."
    options = ("--model", str(toy_model()), "--state", "warm", "--device", "cpu", "--port", "0")
    with serving(*options, cwd=tmp_path) as (client, _):
        assert client.get("/models").json["models"][0]["state"] == "warm"
        found = client.post("/encode", texts=[text]).json["texts"][0]["vectors"]
    warm, reset = (Elmo.from_pretrained(toy_model(), state=state).encode(text).vectors for state in ("warm", "reset"))
    np.testing.assert_allclose(found, warm, rtol=1e-5, atol=1e-6)
    assert np.abs(warm - reset).max() > 1e-3


@signals
def test_what_runs_is_answered_before_the_end(tmp_path: Path) -> None:
    with serving("--model", str(toy_model()), "--port", "0", cwd=tmp_path) as (client, process):
        answers: list[Answer] = []
        text = " ".join(f"word{number}" for number in range(4000))
        thread = threading.Thread(target=lambda: answers.append(client.post("/encode", texts=[text], pool="mean")))
        thread.start()
        _wait_until_asked(client)
        process.send_signal(signal.SIGTERM)
        thread.join(PATIENCE)
        process.communicate(timeout=PATIENCE)
    assert [answer.status for answer in answers] == [200]
    assert process.returncode == 0


def _wait_until_asked(client: Client) -> None:
    """Until the request is with the server; a request of ours that comes later is answered after it was taken."""
    for _ in range(20):
        assert client.get("/health").status == 200


@signals
def test_ctrl_c(tmp_path: Path) -> None:
    with serving("--model", str(toy_model()), "--port", "0", "--quiet", cwd=tmp_path) as (client, process):
        client.get("/health")
        assert interrupt(process).strip() == "polyseme: interrupted"


@signals
def test_ctrl_c_while_the_text_is_being_indexed(tmp_path: Path) -> None:
    """With so many models that the index of the last one waits for the others."""
    names = [f"model-{letter}" for letter in "abcdefgh"]
    for name in names:
        (tmp_path / name).symlink_to(toy_model())
    models = [word for name in names for word in ("--model", name)]
    with serving(*models, "--port", "0", "--quiet", cwd=tmp_path) as (client, process):
        assert client.get("/models").json["models"][-1]["index"]["state"] == "building"
        assert interrupt(process).strip() == "polyseme: interrupted"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--host", "0.0.0.0"], "a token is needed"),
        (["--model", "nowhere.zip"], "nowhere.zip"),
        (["--model", "TOY", "--index", "nowhere"], "nowhere"),
        (["--model", "TOY", "--token", "short"], "at least 8"),
    ],
)
def test_failures_are_sentences(
    arguments: list[str], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert named in refusal("serve", *(str(toy_model()) if word == "TOY" else word for word in arguments))


def test_without_its_extra_the_verb_says_which_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    for name in [name for name in sys.modules if name.startswith("polyseme.serve")]:
        monkeypatch.delitem(sys.modules, name)
    result = polyseme("serve", "--model", "x", code=1)
    assert "pip install 'polyseme[serve]'" in result.stderr


def test_the_index_of_another_model_is_refused(tmp_path: Path) -> None:
    from helpers.running_server import SENTENCES, small_elmo
    from polyseme import Index

    (tmp_path / "text.txt").write_text("\n".join(SENTENCES[:5]), encoding="utf-8")
    Index.build(small_elmo(), tmp_path / "text.txt", tmp_path / "index")
    assert "the index was made otherwise: model was" in refusal(
        "serve", "--model", str(toy_model()), "--index", str(tmp_path / "index")
    )
