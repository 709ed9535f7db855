"""The embed job: the vectors of the engine, in the order of the input, resumed only as the same job."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from helpers.paths import FIXTURES, needs
from helpers.tiny_models import tiny_elmo
from polyseme.elmo import Elmo
from polyseme.embed import about, read
from polyseme.embed.assembly import assemble
from polyseme.embed.compute import WindowLimits
from polyseme.embed.description import Options, Shard
from polyseme.embed.estimate import estimate
from polyseme.embed.job import embed_files
from polyseme.embed.parts import LOCK, parts_folder
from polyseme.errors import ConfigError, InputError, JobError
from polyseme.jobs.atomic import exclusive
from polyseme.jobs.progress import Progress

pytest.importorskip("pyarrow")

SUFFIXES = (".h5", ".parquet", ".npz")
LINES = ["The cat sat on the mat .", "A bank .", "", "naïve 日本語 test", "The Bank of the bank .", "A bank ."] * 7
SMALL = WindowLimits(window=20, part=50)  # several windows in a part, several parts in a job


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path


class Stop(Exception):
    """Raised by a test in the middle of a job."""


def stop_after(windows: int):  # type: ignore[no-untyped-def]
    def on_progress(progress: Progress) -> None:
        nonlocal windows
        windows -= 1
        if windows == 0:
            raise Stop

    return on_progress


def interrupted(text: Path, out: Path, windows: int = 6, **options: object) -> None:
    """Leave a job unfinished, with parts."""
    with pytest.raises(Stop):
        embed_files([text], out, tiny_elmo(), limits=SMALL, progress=stop_after(windows), **options)  # type: ignore[arg-type]
    assert not out.exists()
    assert list(parts_folder(out).glob("*/*.part"))


# Vectors


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("layers", ["all", "top", "average"])
def test_a_file_holds_what_the_engine_gives(text: Path, suffix: str, layers: str) -> None:
    out, elmo = text.with_name(f"out{suffix}"), tiny_elmo()
    summary = embed_files([text], out, elmo, Options(layers=layers), limits=SMALL)  # type: ignore[arg-type]
    records = list(read(out))
    assert [record.text for record in records] == LINES
    assert [record.id for record in records] == [str(number) for number in range(len(LINES))]
    for record in records:
        expected = elmo.encode_tokens([record.text.split()])[0]
        chosen = {"all": expected.layers, "top": expected.layers[-1], "average": expected.vectors}[layers]
        np.testing.assert_array_equal(record.values, chosen)
    assert summary is not None
    assert (summary.documents, summary.records) == (len(LINES), len(LINES))
    assert summary.tokens == sum(len(line.split()) for line in LINES)
    assert [path.name for path in text.parent.iterdir()] in ([text.name, out.name], [out.name, text.name])


def test_sentences_of_raw_text_know_where_they_stand(tmp_path: Path) -> None:
    raw = "  Mr. Smith went. He didn't  return! "
    (tmp_path / "in.jsonl").write_text(json.dumps({"body": raw}))
    embed_files([tmp_path / "in.jsonl"], tmp_path / "out.npz", tiny_elmo(lang="en"), Options(field="body"))
    records = list(read(tmp_path / "out.npz"))
    assert [record.sentence for record in records] == [0, 1]
    for record in records:
        assert raw[record.start : record.start + len(record.text)] == record.text
        assert [record.text[a:b] for a, b in record.offsets] == record.tokens


@pytest.mark.parametrize("layers", ["all", "average"])
def test_pooling_gives_the_mean_of_all_tokens_of_a_document(tmp_path: Path, layers: str) -> None:
    texts = ["One two . Three .\nFour !", "", "Five"]
    (tmp_path / "in.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts))
    elmo = tiny_elmo(lang="en")
    options = Options(layers=layers, pool="mean")  # type: ignore[arg-type]
    embed_files([tmp_path / "in.jsonl"], tmp_path / "out.npz", elmo, options, limits=WindowLimits(2, 3))
    records = list(read(tmp_path / "out.npz"))
    assert [record.text for record in records] == texts
    for record, text in zip(records, texts, strict=True):
        expected = elmo.encode(text).layers  # [L+1, N, W]
        mean = expected.mean(axis=1) if text else np.zeros((3, 8))
        np.testing.assert_allclose(record.values, mean if layers == "all" else mean.mean(axis=0), atol=1e-6)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_target_words_come_with_sentence_and_offsets(text: Path, suffix: str) -> None:
    out, elmo = text.with_name(f"out{suffix}"), tiny_elmo()
    summary = embed_files([text], out, elmo, Options(words=("bank", "test"), layers="all"), limits=SMALL)
    records = list(read(out))
    wanted = [token for line in LINES for token in line.split() if token.lower() in ("bank", "test")]
    assert [record.word for record in records] == wanted
    for record in records:
        assert record.position is not None
        begin, end = record.offsets[record.position]
        assert record.text[begin:end] == record.word
        expected = elmo.encode_tokens([record.tokens])[0].layers[:, record.position]
        np.testing.assert_array_equal(record.layers, expected)
    assert summary is not None
    assert summary.sentences == sum("bank" in line.lower() or "test" in line for line in LINES)  # no other was encoded


def test_words_that_do_not_occur_give_an_empty_file(text: Path) -> None:
    for suffix in SUFFIXES:
        out = text.with_name(f"out{suffix}")
        embed_files([text], out, tiny_elmo(), Options(words=("nowhere",)))
        assert list(read(out)) == []


def test_float16_is_the_rounded_float32(text: Path) -> None:
    for dtype in ("float32", "float16"):
        embed_files([text], text.with_name(f"{dtype}.npz"), tiny_elmo(), Options(dtype=dtype))  # type: ignore[arg-type]
    for half, full in zip(read(text.with_name("float16.npz")), read(text.with_name("float32.npz")), strict=True):
        np.testing.assert_array_equal(half.values, full.values.astype(np.float16))


@pytest.mark.shared
@needs(FIXTURES / "allennlp" / "skip2_relu" / "weights.hdf5")
def test_the_file_is_the_one_that_allennlp_writes(tmp_path: Path) -> None:
    folder = FIXTURES / "allennlp"
    elmo = Elmo.from_pretrained(folder / "skip2_relu" / "weights.hdf5", device="cpu", lang="whitespace")
    sentences = folder / "elmo_command" / "sentences.txt"
    embed_files([sentences], tmp_path / "out.hdf5", elmo, Options(layers="all"))
    with (
        h5py.File(tmp_path / "out.hdf5") as ours,
        h5py.File(folder / "elmo_command" / "all_forget.hdf5") as theirs,  # one batch, so from the zero state
        h5py.File(folder / "elmo_command" / "all.hdf5") as indexed,
    ):
        assert set(ours) == set(indexed)
        assert json.loads(ours["sentence_to_index"][0]) == json.loads(indexed["sentence_to_index"][0])
        for key in theirs:
            np.testing.assert_allclose(ours[key][...], theirs[key][...], atol=1e-5)


COMMAND = FIXTURES / "allennlp" / "elmo_command"


@pytest.mark.shared
@needs(COMMAND / "all.hdf5")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("all", Options(layers="all", batch_size=2)),
        ("top", Options(layers="top", batch_size=2)),
        ("average", Options(layers="average", batch_size=2)),
        ("all_forget", Options(layers="all", sentence_index=False)),
        ("average_sentence_keys", Options(layers="average", keys="sentences")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_of_allennlps_command_is_made_again(tmp_path: Path, name: str, options: Options) -> None:
    weights = FIXTURES / "allennlp" / "skip2_relu" / "weights.hdf5"
    elmo = Elmo.from_pretrained(weights, device="cpu", lang="whitespace", state="carry")
    elmo.encode_tokens([["what", "came", "before"]])  # does not matter
    sentences = COMMAND / ("sentences_unique.txt" if options.keys == "sentences" else "sentences.txt")
    embed_files([sentences], tmp_path / "out.hdf5", elmo, options)
    with h5py.File(tmp_path / "out.hdf5") as ours, h5py.File(COMMAND / f"{name}.hdf5") as theirs:
        assert set(ours) == set(theirs)
        assert ("sentence_to_index" in ours) == (name in ("all", "top", "average"))
        for key in set(theirs) - {"sentence_to_index"}:
            assert ours[key].dtype == theirs[key].dtype
            np.testing.assert_allclose(ours[key][...], theirs[key][...], atol=1e-5)
    lines = [line.strip() for line in sentences.read_text(encoding="utf-8").splitlines()]
    assert [record.text for record in read(tmp_path / "out.hdf5")] == lines


def carrying() -> Elmo:
    return Elmo(tiny_elmo().stored, device="cpu", lang="whitespace", state="carry")


@pytest.mark.parametrize("size", [1, 3, 64])
def test_a_carried_state_flows_from_batch_to_batch(text: Path, size: int) -> None:
    out, elmo = text.with_suffix(".h5"), carrying()
    embed_files([text], out, carrying(), Options(layers="all", batch_size=size), limits=SMALL)
    expected = [
        encoding.layers
        for begin in range(0, len(LINES), size)
        for encoding in elmo.encode_tokens([line.split() for line in LINES[begin : begin + size]])
    ]
    for record, layers in zip(read(out), expected, strict=True):
        np.testing.assert_array_equal(record.layers, layers)


def test_a_job_with_carried_state_is_resumed_from_its_beginning(text: Path) -> None:
    out, again = text.with_suffix(".h5"), text.with_name("again.h5")
    options = Options(layers="all", batch_size=2)
    embed_files([text], out, carrying(), options, limits=SMALL)
    with pytest.raises(Stop):
        embed_files([text], again, carrying(), options, limits=SMALL, progress=stop_after(9))
    assert list(parts_folder(again).glob("*/*.part"))
    embed_files([text], again, carrying(), options, limits=SMALL, resume=True)
    assert again.read_bytes() == out.read_bytes()


@pytest.mark.parametrize(
    ("out", "options", "shard", "expected"),
    [
        ("x.h5", Options(), Shard(0, 2), "cannot be shared between processes"),
        ("x.h5", Options(words=("bank",)), Shard(), "depends on every sentence"),
        ("x.npz", Options(keys="sentences"), Shard(), "only HDF5 has keys that can be chosen"),
        ("x.npz", Options(sentence_index=False), Shard(), "only HDF5 has keys that can be chosen"),
    ],
)
def test_what_a_carried_state_and_keys_cannot_do(
    text: Path, out: str, options: Options, shard: Shard, expected: str
) -> None:
    with pytest.raises(ConfigError, match=expected):
        embed_files([text], text.with_name(out), carrying(), options, shard=shard)


def test_a_batch_size_is_for_a_carried_state(text: Path) -> None:
    with pytest.raises(ConfigError, match='add the state "carry"'):
        embed_files([text], text.with_suffix(".h5"), tiny_elmo(), Options(batch_size=2))


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["one two", "and / or", "three"], None),
        (["the same", "the same"], "occurs in the text twice"),
        (["and", "and/or"], "occurs in the text twice"),
        (["a // b"], "cannot be a key in HDF5"),
        (["."], "cannot be a key in HDF5"),
        ([".", ""], "cannot be a key in HDF5"),
    ],
)
def test_sentences_as_keys(tmp_path: Path, lines: list[str], expected: str | None) -> None:
    path, out = tmp_path / "in.txt", tmp_path / "out.h5"
    path.write_text("\n".join(lines), encoding="utf-8")
    elmo = Elmo(tiny_elmo().stored, device="cpu", lang="whitespace")
    if expected is None:
        embed_files([path], out, elmo, Options(keys="sentences"))
        assert [record.text for record in read(out)] == lines
        return
    with pytest.raises(InputError, match=expected):
        embed_files([path], out, elmo, Options(keys="sentences"))
    assert not out.exists()


# Going on


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    "options", [Options(layers="all"), Options(pool="mean"), Options(words=("bank",))], ids=["all", "pool", "words"]
)
def test_a_resumed_job_gives_the_same_bytes(text: Path, suffix: str, options: Options) -> None:
    whole, out = text.with_name(f"whole{suffix}"), text.with_name(f"out{suffix}")
    embed_files([text], whole, tiny_elmo(), options, limits=SMALL)
    interrupted(text, out, windows=4, options=options)
    embed_files([text], out, tiny_elmo(), options, limits=SMALL, resume=True)
    assert out.read_bytes() == whole.read_bytes()
    assert not parts_folder(out).exists()


def test_what_is_finished_is_not_computed_again(text: Path) -> None:
    out = text.with_name("out.npz")
    interrupted(text, out, windows=6)
    seen: list[Progress] = []
    embed_files([text], out, tiny_elmo(), limits=SMALL, resume=True, progress=seen.append)
    assert 0 < seen[-1].tokens < sum(len(line.split()) for line in LINES)
    assert seen[-1].done == seen[-1].total


def test_an_unfinished_job_is_not_overwritten(text: Path) -> None:
    out = text.with_name("out.npz")
    interrupted(text, out)
    with pytest.raises(JobError, match=r"interrupted after [1-9]\d* sentences; continue with --resume"):
        embed_files([text], out, tiny_elmo(), limits=SMALL)


def test_resuming_a_finished_job_does_nothing(text: Path) -> None:
    out = text.with_name("out.npz")
    embed_files([text], out, tiny_elmo())
    before = out.stat().st_mtime_ns
    assert embed_files([text], out, tiny_elmo(), resume=True) is None
    assert out.stat().st_mtime_ns == before
    assert not parts_folder(out).exists()


@pytest.mark.parametrize("suffix", [".h5", ".npz", ".npy", ".parquet"])
def test_resuming_does_not_replace_the_result_of_another_job(text: Path, suffix: str) -> None:
    out = text.with_name(f"out{suffix}")
    embed_files([text], out, tiny_elmo(), Options(layers="all"))
    before = out.read_bytes()
    other = r'was written by another job: layers was "all" and is "top"; choose another name, or replace it with --over'
    with pytest.raises(JobError, match=other):
        embed_files([text], out, tiny_elmo(), Options(layers="top"), resume=True)
    text.write_text("Hello .\n")
    with pytest.raises(JobError, match=r'inputs\..*in\.txt was ".*" and is ".*"; choose another name'):
        embed_files([text], out, tiny_elmo(), Options(layers="all"), resume=True)
    assert out.read_bytes() == before
    assert not parts_folder(out).exists()
    embed_files([text], out, tiny_elmo(), Options(layers="top"), resume=True, overwrite=True)
    assert (about(out) or {})["layers"] == "top"


@pytest.mark.parametrize("name", ["notes.jsonl", "notes.h5", "notes.npz", "notes.npy", "notes.parquet"])
@pytest.mark.parametrize("shard", [Shard(), Shard(1, 2)])
def test_resuming_does_not_replace_a_file_that_is_no_result(text: Path, name: str, shard: Shard) -> None:
    out = text.with_name(name)
    out.write_text('{"note": "by hand"}\n')
    with pytest.raises(JobError, match=r"already exists and .*; choose another name, or replace it with --overwrite"):
        embed_files([text], out, tiny_elmo(), shard=shard, resume=True)
    assert out.read_text() == '{"note": "by hand"}\n'
    assert not parts_folder(out).exists()


def test_an_old_result_stays_until_the_new_one_is_complete(text: Path) -> None:
    out = text.with_name("out.npz")
    embed_files([text], out, tiny_elmo())
    old = out.read_bytes()
    with pytest.raises(Stop):
        embed_files([text], out, tiny_elmo(seed=1), limits=SMALL, progress=stop_after(6), overwrite=True)
    assert out.read_bytes() == old


def test_a_changed_input_is_not_resumed(text: Path) -> None:
    out = text.with_name("out.npz")
    interrupted(text, out)
    text.write_text(text.read_text(encoding="utf-8").replace("mat", "hat"), encoding="utf-8")
    with pytest.raises(JobError, match=r'another job: sha256 of .*in\.txt was ".*" and is ".*"; undo that'):
        embed_files([text], out, tiny_elmo(), limits=SMALL, resume=True)
    assert list(parts_folder(out).glob("*/*.part"))  # nothing is lost


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"elmo": tiny_elmo(seed=1)}, 'model was "1:.*" and is "1:'),
        ({"elmo": tiny_elmo(lang="en")}, 'lang was "whitespace" and is "en"'),
        (
            {"options": Options(layers="top", dtype="float16")},
            'options.layers was "average" and is "top"; options.dtype was "float32" and is "float16"; undo',
        ),
    ],
)
def test_another_job_is_not_resumed(text: Path, change: dict[str, object], expected: str) -> None:
    out = text.with_name("out.npz")
    interrupted(text, out)
    settings = {"elmo": tiny_elmo(), "limits": SMALL, "resume": True, **change}
    with pytest.raises(JobError, match=expected):
        embed_files([text], out, **settings)  # type: ignore[arg-type]


def test_other_inputs_are_not_resumed(text: Path) -> None:
    out, other = text.with_name("out.npz"), text.with_name("other.txt")
    interrupted(text, out)
    other.write_text("Hello .")
    with pytest.raises(JobError, match=r'inputs was .*in\.txt"\] and is .*other\.txt"\]; size of .* was none and is 7'):
        embed_files([text, other], out, tiny_elmo(), limits=SMALL, resume=True)


@pytest.mark.parametrize("resume", [True, False])
def test_one_process_at_a_time(text: Path, resume: bool) -> None:
    """Also without --resume: then "interrupted, delete its parts" would be bad advice."""
    out = text.with_name("out.npz")
    interrupted(text, out)
    with (
        exclusive(parts_folder(out) / "1-of-1" / LOCK, ""),
        pytest.raises(JobError, match="another process is writing"),
    ):
        embed_files([text], out, tiny_elmo(), limits=SMALL, resume=resume)
    embed_files([text], out, tiny_elmo(), limits=SMALL, resume=True)


# Input


def give_standard_input(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))


def test_standard_input_is_read_once_and_can_be_resumed(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_standard_input(monkeypatch, text.read_text(encoding="utf-8"))
    out = tmp_path / "out.npz"
    with pytest.raises(Stop):
        embed_files(["-"], out, tiny_elmo(), limits=SMALL, progress=stop_after(6))
    give_standard_input(monkeypatch, "")
    embed_files(["-"], out, tiny_elmo(), limits=SMALL, resume=True)
    records = list(read(out))
    assert [record.text for record in records] == LINES
    assert {record.source for record in records} == {"-"}


def test_standard_input_of_an_earlier_job_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give_standard_input(monkeypatch, "  \n")
    with pytest.raises(InputError, match="no text"):
        embed_files(["-"], tmp_path / "out.npz", tiny_elmo(), Options(kind="jsonl"))
    give_standard_input(monkeypatch, "Hello .\n")
    embed_files(["-"], tmp_path / "out.npz", tiny_elmo())
    assert [record.text for record in read(tmp_path / "out.npz")] == ["Hello ."]


def test_bad_input_is_known_before_the_work_begins(text: Path) -> None:
    with text.open("ab") as file:
        file.write(b"caf\xe9\n")
    seen: list[Progress] = []
    with pytest.raises(InputError, match=f"line {len(LINES) + 1} is not UTF-8"):
        embed_files([text], text.with_name("out.npz"), tiny_elmo(), limits=SMALL, progress=seen.append)
    assert not seen
    assert not text.with_name("out.npz").exists()


def test_files_are_told_apart(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(f"{name} .\n")
    embed_files([tmp_path / "*.txt"], tmp_path / "out.parquet", tiny_elmo())
    found = [(record.document, record.id, record.source) for record in read(tmp_path / "out.parquet")]
    assert found == [(0, "0", str(tmp_path / "a.txt")), (1, "0", str(tmp_path / "b.txt"))]


def test_protein_ids_are_kept(tmp_path: Path) -> None:
    (tmp_path / "p.fasta").write_text(">sp|P1|A x\nMKV\n>P2\nac*\n")
    embed_files([tmp_path / "p.fasta"], tmp_path / "out.h5", tiny_elmo(), Options(pool="mean"))
    found = [(record.id, record.tokens) for record in read(tmp_path / "out.h5")]
    assert found == [("P1", ["M", "K", "V"]), ("P2", ["A", "C"])]


def test_an_empty_input_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("\n\n")
    with pytest.raises(InputError, match="no text to embed"):
        embed_files([tmp_path / "in.txt"], tmp_path / "out.npz", tiny_elmo())


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"layers": "some"}, "layers is 'some', but should be one of 'all', 'top', 'average'"),
        ({"dtype": "float64"}, "dtype is 'float64'"),
        ({"pool": "max"}, "pool is 'max', but should be 'mean' or none"),
        ({"pool": "mean", "words": ("a",)}, "choose one"),
        ({"words": ("New York",)}, "'New York' is not a single word"),
        ({"batch_size": 0}, "a batch has at least one sentence"),
        ({"keys": "sentences", "pool": "mean"}, "only whole sentences can be keys"),
    ],
)
def test_options_that_do_not_fit_are_refused(settings: dict[str, object], expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        Options(**settings)  # type: ignore[arg-type]


def test_a_folder_that_is_not_there_is_named(text: Path) -> None:
    with pytest.raises(ConfigError, match="nowhere does not exist"):
        embed_files([text], text.parent / "nowhere" / "out.npz", tiny_elmo())


# Several machines


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("count", [2, 3, 50])
def test_shares_merge_into_the_same_bytes(text: Path, suffix: str, count: int) -> None:
    whole, out, elmo = text.with_name(f"whole{suffix}"), text.with_name(f"out{suffix}"), tiny_elmo()
    embed_files([text], whole, elmo, Options(layers="all"), limits=SMALL)
    for index in range(count):
        options = Options(layers="all")
        assert embed_files([text], out, elmo, options, limits=SMALL, shard=Shard(index, count)) is None
        assert not out.exists()
    assemble(out)
    assert out.read_bytes() == whole.read_bytes()
    assert not parts_folder(out).exists()


def test_merging_says_which_shares_are_missing(text: Path) -> None:
    out, elmo = text.with_name("out.npz"), tiny_elmo()
    with pytest.raises(JobError, match="nothing to merge"):
        assemble(out)
    embed_files([text], out, elmo, limits=SMALL, shard=Shard(1, 3))
    with pytest.raises(JobError, match=r"2 of 3 shares .* \(1-of-3, 3-of-3\)"):
        assemble(out)
    with pytest.raises(Stop):
        embed_files([text], out, elmo, limits=SMALL, shard=Shard(0, 3), progress=stop_after(3))
    embed_files([text], out, elmo, limits=SMALL, shard=Shard(2, 3))
    with pytest.raises(JobError, match=r"1 of 3 shares .* \(1-of-3\)"):
        assemble(out)


def test_merging_notices_a_lost_part_and_another_job(text: Path) -> None:
    out, elmo = text.with_name("out.npz"), tiny_elmo()
    embed_files([text], out, elmo, limits=SMALL, shard=Shard(0, 2))
    embed_files([text], out, tiny_elmo(seed=1), limits=SMALL, shard=Shard(1, 2))
    with pytest.raises(JobError, match=r'2-of-2 is a share of another job than 1-of-2: model was "1:.*" and is "1:'):
        assemble(out)
    last = max(parts_folder(out).glob("1-of-2/*.part"))
    for name in ("2-of-2/job.json", "2-of-2/complete.json"):
        (parts_folder(out) / name).write_bytes((parts_folder(out) / name.replace("2-of-2", "1-of-2")).read_bytes())
    last.unlink()
    with pytest.raises(JobError, match=r"has [0-9]+ of its [0-9]+ parts"):
        assemble(out)


# Estimate


def test_an_estimate_is_close_for_a_whole_sample(text: Path) -> None:
    out = text.with_name("out.h5")
    found = estimate([text], out, tiny_elmo())
    assert list(text.parent.iterdir()) == [text]
    summary = embed_files([text], out, tiny_elmo())
    assert summary is not None
    assert (found.documents, found.sentences, found.tokens) == (len(LINES), len(LINES), summary.tokens)
    assert found.file_bytes == pytest.approx(summary.bytes, rel=0.1, abs=4096)  # HDF5 takes room in steps of 4 kB
    assert found.seconds > 0


def test_an_estimate_from_a_sample_of_many_texts_is_close(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyseme.embed.estimate._SAMPLE_CHARACTERS", 10_000)
    lines = [f"{'word ' * (number * 7919 % 23)}." for number in range(6_000)]
    path = tmp_path / "in.txt"
    path.write_text("\n\n".join(lines))
    found = estimate([path], tmp_path / "out.parquet", tiny_elmo())
    assert found.tokens == pytest.approx(sum(len(line.split()) for line in lines), rel=0.1)


def test_standard_input_cannot_be_estimated(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="standard input can be read only once"):
        estimate(["-"], tmp_path / "out.h5", tiny_elmo())


def test_a_file_that_is_there_is_kept_unless_told_otherwise(text: Path) -> None:
    out = text.with_name("out.h5")
    embed_files([text], out, tiny_elmo(), limits=SMALL)
    before = out.read_bytes()
    with pytest.raises(JobError, match=r"out\.h5 already exists; choose another name, or replace it with --overwrite"):
        embed_files([text], out, tiny_elmo(), Options(layers="all"), limits=SMALL)
    assert out.read_bytes() == before
    assert not parts_folder(out).exists()
    embed_files([text], out, tiny_elmo(), Options(layers="all"), limits=SMALL, overwrite=True)
    assert out.read_bytes() != before


def test_a_job_that_fails_before_it_begins_leaves_no_folder(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "bad.jsonl").write_text("{")
    for name in ("empty.txt", "bad.jsonl"):
        with pytest.raises(InputError):
            embed_files([tmp_path / name], tmp_path / "out.h5", tiny_elmo())
        assert not parts_folder(tmp_path / "out.h5").exists()
