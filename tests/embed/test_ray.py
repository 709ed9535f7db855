"""On a Ray cluster with two workers: the same vectors as on one machine."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from helpers.tiny_models import tiny_elmo, tiny_model
from polyseme.embed import about, read
from polyseme.embed.description import Options
from polyseme.embed.job import embed_files
from polyseme.errors import ConfigError, JobError, MissingExtra
from polyseme.formats.native import save_native


def test_without_ray_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "polyseme.embed.ray", raising=False)
    with pytest.raises(MissingExtra, match=r"polyseme\[ray\]"):
        import polyseme.embed.ray  # noqa: F401


@pytest.mark.parametrize("problem", [RuntimeError("no room.\nmore"), ValueError("no room"), Exception("no room")])
def test_when_ray_does_not_start_one_sentence_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    ray = pytest.importorskip("ray")
    from polyseme.embed.ray import embed_on_ray

    def init(**_: object) -> None:
        raise problem

    monkeypatch.setattr(ray, "init", init)
    (tmp_path / "in.txt").write_text("Live in the present.\n")
    with pytest.raises(JobError, match=r"^Ray did not start \(no room\); .*RAY_ADDRESS=local[^\n]*$"):
        embed_on_ray([tmp_path / "in.txt"], tmp_path / "out.parquet", "en")


@pytest.fixture(scope="module")
def cluster():  # type: ignore[no-untyped-def]
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    yield ray
    ray.shutdown()


@pytest.mark.slow
def test_two_workers_give_the_same_vectors(tmp_path: Path, cluster: object) -> None:
    from polyseme.embed.ray import embed_on_ray

    save_native(tiny_model(), tmp_path / "model")
    text, out = tmp_path / "in.txt", tmp_path / "out.parquet"
    text.write_text("".join(f"word{n} " * (n % 9) + "\n" for n in range(300)))
    options = Options(layers="all")
    count = embed_on_ray([text], out, str(tmp_path / "model"), options, lang="whitespace", workers=2)

    embed_files([text], tmp_path / "alone.parquet", tiny_elmo(), options)
    expected = list(read(tmp_path / "alone.parquet"))
    assert count == len(expected) == 300
    for ours, other in zip(read(out), expected, strict=True):
        assert (ours.document, ours.id, ours.text, ours.tokens) == (other.document, other.id, other.text, other.tokens)
        np.testing.assert_array_equal(ours.layers, other.layers)
    assert len(list(out.glob("*.parquet"))) == 16
    described = about(out)
    assert described is not None
    assert described["model"] == tiny_elmo().fingerprint
    assert not (tmp_path / "out.parquet.parts").exists()
    with pytest.raises(JobError, match="exists"):
        embed_on_ray([text], out, str(tmp_path / "model"), options, lang="whitespace", workers=2)


@pytest.mark.slow
def test_shares_that_are_there_are_not_computed_again(tmp_path: Path, cluster: object) -> None:
    import pyarrow.dataset

    from polyseme.embed.ray import embed_on_ray

    save_native(tiny_model(), tmp_path / "model")
    text, out = tmp_path / "in.txt", tmp_path / "out.parquet"
    text.write_text("".join(f"word{n} .\n" for n in range(40)))
    embed_on_ray([text], out, str(tmp_path / "model"), lang="whitespace", workers=1)
    assert pyarrow.dataset.dataset(out).count_rows() == 40  # a folder that other programs read
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in out.glob("*.parquet")}

    unfinished = tmp_path / "out.parquet.parts" / "on-ray"
    unfinished.parent.mkdir()
    out.rename(unfinished)
    (unfinished / "2-of-8.parquet").unlink()
    with pytest.raises(JobError, match="--resume"):
        embed_on_ray([text], out, str(tmp_path / "model"), lang="whitespace", workers=2)
    with pytest.raises(JobError, match="layers was average, is all"):
        embed_on_ray(
            [text], out, str(tmp_path / "model"), Options(layers="all"), lang="whitespace", workers=2, resume=True
        )
    assert embed_on_ray([text], out, str(tmp_path / "model"), lang="whitespace", workers=2, resume=True) == 40
    after = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in out.glob("*.parquet")}
    assert {name: data for name, (data, _) in after.items()} == {name: data for name, (data, _) in before.items()}
    assert [name for name in sorted(after) if after[name] != before[name]] == ["2-of-8.parquet"]


@pytest.mark.slow
def test_what_goes_wrong_in_a_worker_is_told_in_its_own_words(
    tmp_path: Path, cluster: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    from polyseme.embed.ray import embed_on_ray

    save_native(tiny_model(), tmp_path / "model")
    text, out = tmp_path / "in.jsonl", tmp_path / "out.parquet"
    text.write_text('{"text": "a ."}\n{"title": "b"}\n')
    monkeypatch.setattr("polyseme.embed.job.survey", lambda *_: (2, 10))  # so that only the workers read the input
    with pytest.raises(JobError, match=r"a worker failed: .*line 2: there is no field 'text'; there are: 'title'"):
        embed_on_ray([text], out, str(tmp_path / "model"), lang="whitespace", workers=1)
    assert not out.exists()


@pytest.mark.slow
def test_what_ray_cannot_do_is_refused(tmp_path: Path, cluster: object) -> None:
    from polyseme.embed.ray import embed_on_ray

    with pytest.raises(ConfigError, match="standard input"):
        embed_on_ray(["-"], tmp_path / "out.parquet", "en")
    (tmp_path / "in.txt").write_text("a .")
    with pytest.raises(ConfigError, match=r"should end in \.parquet"):
        embed_on_ray([tmp_path / "in.txt"], tmp_path / "out.h5", "en")
