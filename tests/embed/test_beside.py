"""The file is written while the job computes: nothing is read again, and a failure there loses nothing."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from helpers.tiny_models import tiny_elmo
from polyseme.embed import read
from polyseme.embed.compute import WindowLimits
from polyseme.embed.description import Options, Shard
from polyseme.embed.job import embed_files
from polyseme.embed.parts import parts_folder
from polyseme.errors import JobError
from polyseme.jobs.progress import Progress

pytest.importorskip("pyarrow")

SUFFIXES = (".h5", ".parquet", ".jsonl")
LIMITS = WindowLimits(window=100, part=300)


class Stop(Exception):
    """Raised by a test in the middle of a job."""


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path, chance = tmp_path / "in.txt", random.Random(1)
    words = ["the", "bank", "naïve", "日本語", "."]
    path.write_text("".join(" ".join(chance.choices(words, k=chance.randint(0, 12))) + "\n" for _ in range(300)))
    return path


def stop_with_parts(out: Path) -> object:
    def on_progress(_: Progress) -> None:
        if list(parts_folder(out).glob("*/*.part")):
            raise Stop

    return on_progress


def embed_in_shares(text: Path, out: Path, options: Options) -> bytes:
    """The bytes that the parts give."""
    from polyseme.embed.assembly import assemble

    for index in (0, 1):
        embed_files([text], out, tiny_elmo(), options, limits=LIMITS, shard=Shard(index, 2))
    assemble(out)
    return out.read_bytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    "options", [Options(layers="all"), Options(pool="mean"), Options(words=("bank",))], ids=["all", "pool", "words"]
)
def test_a_job_that_runs_through_reads_no_part(
    text: Path, suffix: str, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = embed_in_shares(text, text.with_name(f"shares{suffix}"), options)
    monkeypatch.delattr("polyseme.embed.job.assemble")
    out = text.with_name(f"out{suffix}")
    summary = embed_files([text], out, tiny_elmo(), options, limits=LIMITS)
    assert out.read_bytes() == expected
    assert summary is not None and summary.records == len(list(read(out)))
    assert summary.bytes == len(expected)
    assert not parts_folder(out).exists()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_stopped_job_leaves_its_parts_and_nothing_else(text: Path, suffix: str) -> None:
    out, whole = text.with_name(f"out{suffix}"), text.with_name(f"whole{suffix}")
    with pytest.raises(Stop):
        embed_files([text], out, tiny_elmo(), limits=LIMITS, progress=stop_with_parts(out))  # type: ignore[arg-type]
    assert {path.suffix for path in parts_folder(out).glob("*/*")} <= {".part", ".json"}
    killed = parts_folder(out) / "1-of-1" / f"{out.name}.partial"
    killed.write_bytes(b"what a killed job leaves")
    embed_files([text], out, tiny_elmo(), limits=LIMITS, resume=True)
    embed_files([text], whole, tiny_elmo(), limits=LIMITS)
    assert out.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in text.parent.iterdir()) == sorted([text.name, out.name, whole.name])


@pytest.mark.parametrize("after", [0, 5, 250])
def test_a_file_that_cannot_be_written_loses_no_part(text: Path, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from polyseme.embed import jsonl

    line_of, written = jsonl.line_of, [0]

    def fail(record):  # type: ignore[no-untyped-def]
        written[0] += 1
        if written[0] > after:
            raise OSError(28, "No space left on device")
        return line_of(record)

    monkeypatch.setattr(jsonl, "line_of", fail)
    out, whole = text.with_name("out.jsonl"), text.with_name("whole.jsonl")
    with pytest.raises(JobError, match=r"no space left for .*out\.jsonl .*--resume; what is finished is safe"):
        embed_files([text], out, tiny_elmo(), limits=LIMITS)
    assert not out.exists()
    assert not list(parts_folder(out).glob("*/*.partial"))
    assert after < 250 or list(parts_folder(out).glob("*/*.part"))
    monkeypatch.undo()
    embed_files([text], out, tiny_elmo(), limits=LIMITS, resume=True)
    embed_files([text], whole, tiny_elmo(), limits=LIMITS)
    assert out.read_bytes() == whole.read_bytes()


def test_a_job_keeps_few_token_vectors_and_others_keep_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyseme.embed.job.KEPT_TOKENS", 50)
    text = tmp_path / "in.txt"
    text.write_text("".join(f"word{number} of many\n" for number in range(400)))
    elmo = tiny_elmo()
    limit = elmo.engine._rows.limit  # type: ignore[union-attr]
    embed_files([text], tmp_path / "few.h5", elmo, limits=LIMITS)
    assert elmo.engine.cache.rows <= 100  # type: ignore[union-attr]  # 50, or what one window needs
    assert elmo.engine._rows.limit == limit  # type: ignore[union-attr]
    monkeypatch.undo()
    embed_files([text], tmp_path / "all.h5", tiny_elmo(), limits=LIMITS)
    assert (tmp_path / "few.h5").read_bytes() == (tmp_path / "all.h5").read_bytes()
