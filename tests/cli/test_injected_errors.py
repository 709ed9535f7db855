"""Whatever a library raises inside a verb comes out as one sentence and the exit code 1, never as a traceback."""

from __future__ import annotations

import errno
import shlex
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import pytest
from safetensors import SafetensorError

from helpers.command_line import polyseme, toy_model
from polyseme.cli.app import GROUPS, VERBS

#: For every verb how it is called, and what of the library it calls then: there the error is injected.
CALLS: dict[str, tuple[str, str]] = {
    "demo": ("demo --out shown", "polyseme.elmo:Elmo.from_pretrained"),
    "embed": ("embed text.txt --model TOY --out out.h5", "polyseme.elmo:Elmo.from_pretrained"),
    "models": ("models", "polyseme.formats.releases.known:known_releases"),
    "pull": ("pull original", "polyseme.formats.named:locate"),
    "info": ("info TOY", "polyseme.formats.detect:load"),
    "convert": ("convert TOY there", "polyseme.formats.native:save_native"),
    "export": ("export TOY --static text.txt --out v.txt", "polyseme.elmo:Elmo.from_pretrained"),
    "prepare": ("prepare text.txt --out corpus", "polyseme.pretrain.corpus.preparation:prepare"),
    "pretrain": ("pretrain corpus --out run", "polyseme.pretrain.training.pretraining:pretrain"),
    "finetune": ("finetune TOY corpus --out run", "polyseme.pretrain.training.finetuning:finetune"),
    "evaluate": ("evaluate TOY text.txt", "polyseme.pretrain.training.evaluate_files:evaluate_files"),
    "score": ("score text.txt --model TOY", "polyseme.elmo:Elmo.from_pretrained"),
    "substitutes": ("substitutes 'a [b] c' --model TOY", "polyseme.elmo:Elmo.from_pretrained"),
    "index": ("index text.txt --model TOY --out index", "polyseme.elmo:Elmo.from_pretrained"),
    "senses": ("senses bank --in text.txt --model TOY", "polyseme.elmo:Elmo.from_pretrained"),
    "shift": ("shift text.txt text.txt --words text.txt --model TOY", "polyseme.elmo:Elmo.from_pretrained"),
    "neighbours": ("neighbours index 'a [b] c'", "polyseme.index.vector_index:Index.open"),
    "serve": ("serve --model TOY", "polyseme.serve.served:load_models"),
    "explore": ("explore --export site --model TOY", "polyseme.serve.served:load_models"),
    "reproduce": ("reproduce --data . --out report", "polyseme.reproduce.report:Asked.before"),
    "tag": ("tag text.txt", "polyseme.tasks.trained_task:Task.load"),
    "task train": ("task train sst --train t.txt --dev d.txt --out run", "polyseme.tasks.run:train_task"),
    "task eval": ("task eval run text.txt", "polyseme.tasks.trained_task:Task.load"),
    "task predict": ("task predict run text.txt", "polyseme.tasks.trained_task:Task.load"),
}

ERRORS: dict[str, tuple[Exception, str]] = {
    "a full disk": (OSError(errno.ENOSPC, "No space left on device"), "no space left on the disk; make room"),
    "a full disk for a file": (
        OSError(errno.EFBIG, "File too large", "out.partial"),
        "no space left on the disk for out;",
    ),
    "a full disk under safetensors": (
        SafetensorError("I/O error: No space left on device (os error 28)"),
        "no space left",
    ),
    "no memory": (MemoryError(), "there is not enough memory"),
    "no memory under torch": (
        RuntimeError("[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory: you tried …"),
        "there is not enough memory",
    ),
    "a renamed archive": (zipfile.BadZipFile("File is not a zip file"), "a file is not a zip archive"),
    "5,000 digits": (
        ValueError("Exceeds the limit (4300 digits) for integer string conversion"),
        "a number has far more digits",
    ),
    "nesting": (RecursionError("maximum recursion depth exceeded"), "a file is nested too deeply"),
    "no right to read": (
        PermissionError(errno.EACCES, "Permission denied", "x.txt"),
        "x.txt cannot be used: permission",
    ),
    "a system without a name": (OSError(errno.EIO, "Input/output error"), "the system refused: input/output error"),
    "a mistake of ours": (KeyError("weights"), "this should not have happened (KeyError: 'weights'); please report it"),
    "several lines": (AssertionError("one\ntwo"), "this should not have happened (AssertionError: one two)"),
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    for name in ("text.txt", "t.txt", "d.txt"):
        Path(name).write_text("Some text.\n", encoding="utf-8")
    yield tmp_path


def inject(target: str, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    module, _, name = target.partition(":")
    *parents, last = name.split(".")
    where: Any = import_module(module)
    for parent in parents:
        where = getattr(where, parent)

    def fail(*args: Any, **options: Any) -> NoReturn:
        raise error.with_traceback(None)  # the last one's would keep all that its frames held: models, gigabytes

    monkeypatch.setattr(where, last, fail)


def test_every_verb_is_tried() -> None:
    verbs = {verb.__name__ for group in VERBS.values() for verb in group}
    verbs |= {f"{first} {second}" for first, (_, seconds) in GROUPS.items() for second in seconds}
    assert set(CALLS) == verbs


@pytest.mark.parametrize("verb", CALLS)
@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.usefixtures("place")
def test_an_error_comes_out_as_one_sentence(verb: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    line, target = CALLS[verb]
    error, said = ERRORS[kind]
    inject(target, error, monkeypatch)
    result = polyseme(*(str(toy_model()) if word == "TOY" else word for word in shlex.split(line)), code=1)
    assert result.stderr.splitlines()[-1].startswith(f"polyseme: {said}")
    assert "Traceback" not in result.output
    error.__traceback__ = error.__context__ = None


def test_whoever_wants_the_traceback_gets_it(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from polyseme.cli.app import app

    monkeypatch.setenv("POLYSEME_TRACEBACK", "1")
    inject("polyseme.formats.detect:load", KeyError("weights"), monkeypatch)
    assert isinstance(CliRunner().invoke(app, ["info", "x"]).exception, KeyError)
