"""Every format gives back what was put in, the same bytes for the same records, and reads in plain tools."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.paths import FIXTURES, needs
from polyseme.embed import about, read
from polyseme.embed.parts import PartWriter, read_part, read_trailer, rows_of, whole_trailer
from polyseme.embed.records import Contents, Record, output_format
from polyseme.errors import ConfigError, InputError, JobError

pytest.importorskip("pyarrow")

SUFFIXES = (".h5", ".parquet", ".npz", ".npy", ".jsonl")
L1, W = 3, 4


def make_record(number: int, tokens: list[str], layers: str, pool: str | None, word: bool, dtype: str) -> Record:
    text = " ".join(tokens)
    ends = np.cumsum([len(token) + 1 for token in tokens], dtype=np.int64) - 1
    offsets = np.stack([ends - [len(token) for token in tokens], ends], axis=1) if tokens else np.empty((0, 2))
    shape = ([L1] if layers == "all" else []) + ([] if pool or word else [len(tokens)]) + [W]
    values = np.random.default_rng(number).standard_normal(shape).astype(dtype)
    position = number % len(tokens) if word else None
    return Record(
        document=number // 2,
        id=f"id {number // 2}",
        source="in.txt",
        sentence=number % 2,
        start=7 * number,
        text=text,
        tokens=tokens,
        offsets=offsets.astype(np.int32),
        values=values,
        has_layers=layers == "all",
        position=position,
        kept={"stars": number, "price": 1.5 * number, "text": "é", "new": None if number % 2 else True},
    )


KEPT = {"stars": "whole", "price": "number", "text": "text", "new": "truth"}


@st.composite
def some_contents(draw: st.DrawFn) -> tuple[Contents, list[Record]]:
    layers, dtype = draw(st.sampled_from(["all", "top"])), draw(st.sampled_from(["float32", "float16"]))
    shape = draw(st.sampled_from(["sentences", "pool", "words"]))
    letters = st.characters(exclude_categories=["Cs", "Cc", "Zs"])
    sentences = st.lists(st.text(letters, min_size=1), min_size=1 if shape == "words" else 0, max_size=5)
    pool = "mean" if shape == "pool" else None
    records = [
        make_record(number, tokens, layers, pool, shape == "words", dtype)
        for number, tokens in enumerate(draw(st.lists(sentences, max_size=6)))
    ]
    job = {"layers": layers, "dtype": dtype, "pool": pool, "words": ["x"] if shape == "words" else [], "job": "1"}
    job["kept"] = KEPT
    return contents_of(records, job), records


def contents_of(records: list[Record], job: dict[str, object]) -> Contents:
    return Contents(
        records=lambda: iter(records), headers=lambda: iter(records), rows=sum(map(rows_of, records)), about=job
    )


def assert_same(found: list[Record], expected: list[Record]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        for name in (
            "document",
            "id",
            "source",
            "sentence",
            "start",
            "text",
            "tokens",
            "has_layers",
            "position",
            "word",
            "kept",
        ):
            assert getattr(one, name) == getattr(other, name), name
        np.testing.assert_array_equal(one.offsets, other.offsets)
        np.testing.assert_array_equal(one.values, other.values)
        assert one.values.dtype == other.values.dtype


@settings(max_examples=30)
@given(some_contents())
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, given_contents: tuple[Contents, list[Record]]
) -> None:
    contents, records = given_contents
    path = tmp_path_factory.mktemp("out") / f"a{suffix}"
    output_format(path).write(path, contents)
    assert_same(list(read(path)), records)
    assert about(path) == (None if suffix == ".jsonl" else contents.about)


@settings(max_examples=10)
@given(some_contents())
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_same_records_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, given_contents: tuple[Contents, list[Record]]
) -> None:
    folder = tmp_path_factory.mktemp("out")
    for name in ("a", "another-name"):
        path = folder / f"{name}{suffix}"
        output_format(path).write(path, given_contents[0])
    assert (folder / f"a{suffix}").read_bytes() == (folder / f"another-name{suffix}").read_bytes()


@settings(max_examples=30)
@given(some_contents())
def test_a_part_gives_back_its_records(
    tmp_path_factory: pytest.TempPathFactory, given_contents: tuple[Contents, list[Record]]
) -> None:
    path = tmp_path_factory.mktemp("part") / "000000.part"
    writer = PartWriter(path)
    for record in given_contents[1]:
        writer.add(record)
    assert not path.exists()
    trailer = writer.finish((0, 0), (5, 0), sentences=3, tokens=9)
    assert read_trailer(path) == trailer
    assert trailer.rows == given_contents[0].rows
    assert_same(list(read_part(path)), given_contents[1])
    assert [r.tokens for r in read_part(path, arrays=False)] == [r.tokens for r in given_contents[1]]


def test_a_part_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "000000.part"
    writer = PartWriter(path)
    writer.add(make_record(0, ["a", "b"], "all", None, False, "float32"))
    writer.finish((0, 0), (1, 0), sentences=1, tokens=2)
    whole = path.read_bytes()
    for kept in range(len(whole)):
        path.write_bytes(whole[:kept])
        with pytest.raises(JobError, match=r"000000\.part is damaged: .*--resume, which computes that part anew"):
            read_trailer(path)
        assert whole_trailer(path) is None


def test_every_flipped_bit_of_a_part_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "000000.part"
    writer = PartWriter(path)
    writer.add(make_record(0, ["a", "b"], "all", None, False, "float32"))
    writer.finish((0, 0), (1, 0), sentences=1, tokens=2)
    whole = path.read_bytes()
    assert whole_trailer(path) is not None
    for place in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(JobError, match="is damaged"):
            list(read_part(path))
        assert whole_trailer(path) is None


# Plain tools


def sample(layers: str = "all", pool: str | None = None) -> tuple[Contents, list[Record]]:
    sentences = [["The", "cat"], ["sat"], ["The", "cat"], []]
    records = [make_record(n, tokens, layers, pool, False, "float32") for n, tokens in enumerate(sentences)]
    return contents_of(records, {"layers": layers, "dtype": "float32", "pool": pool, "words": []}), records


def test_hdf5_has_the_layout_of_allennlp(tmp_path: Path) -> None:
    contents, records = sample()
    output_format(tmp_path / "a.hdf5").write(tmp_path / "a.hdf5", contents)
    with h5py.File(tmp_path / "a.hdf5") as file:
        assert set(file) == {"0", "1", "2", "3", "sentence_to_index"}
        for number, record in enumerate(records):
            np.testing.assert_array_equal(file[str(number)][...], record.values)
        index = file["sentence_to_index"]
        assert (index.shape, h5py.check_string_dtype(index.dtype).length) == ((1,), None)
        assert json.loads(index[0]) == {"The cat": "2", "sat": "1", "": "3"}


def test_npz_is_one_matrix_for_numpy(tmp_path: Path) -> None:
    contents, records = sample("top")
    output_format(tmp_path / "a.npz").write(tmp_path / "a.npz", contents)
    with np.load(tmp_path / "a.npz") as file:
        np.testing.assert_array_equal(file["vectors"], np.concatenate([record.values for record in records]))
        assert file["starts"].tolist() == [0, 2, 3, 5, 5]
    contents, records = sample("top", pool="mean")
    output_format(tmp_path / "b.npz").write(tmp_path / "b.npz", contents)
    with np.load(tmp_path / "b.npz") as file:
        np.testing.assert_array_equal(file["vectors"], np.stack([record.values for record in records]))


def test_parquet_rows_reshape_to_the_arrays(tmp_path: Path) -> None:
    import pyarrow.parquet

    contents, records = sample()
    output_format(tmp_path / "a.parquet").write(tmp_path / "a.parquet", contents)
    rows = pyarrow.parquet.read_table(tmp_path / "a.parquet").to_pylist()
    for row, record in zip(rows, records, strict=True):
        np.testing.assert_array_equal(np.reshape(np.float32(row["values"]), row["shape"]), record.values)
        assert [row["text"][a:b] for a, b in row["offsets"]] == record.tokens


def test_vectors_are_the_mean_of_the_layers(tmp_path: Path) -> None:
    record = sample()[1][0]
    np.testing.assert_allclose(record.vectors, record.layers.mean(axis=0), atol=1e-7)
    with pytest.raises(InputError, match="--layers all"):
        _ = sample("top")[1][0].layers


# Files of others, and files that are none


@pytest.mark.shared
@needs(FIXTURES / "allennlp" / "elmo_command" / "all.hdf5")
@pytest.mark.parametrize("name", ["all", "top", "average", "all_forget", "average_sentence_keys"])
def test_files_of_allennlp_itself_are_read(name: str) -> None:
    folder = FIXTURES / "allennlp" / "elmo_command"
    unique = name == "average_sentence_keys"
    lines = (folder / ("sentences_unique.txt" if unique else "sentences.txt")).read_text(encoding="utf-8").splitlines()
    records = list(read(folder / f"{name}.hdf5"))
    assert len(records) == len(lines)
    with h5py.File(folder / f"{name}.hdf5") as file:
        for record in records:
            np.testing.assert_array_equal(record.values, file[record.id][...])
            assert record.has_layers == name.startswith("all")
    if name in ("all", "top", "average"):
        assert [record.text for record in records[1:]] == lines[1:]  # line 0 is the same as line 3, which counts
    elif unique:
        assert {record.text for record in records} == set(lines)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_no_embedding_file_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    with pytest.raises(InputError, match="does not exist"):
        read(path)
    path.write_bytes(b"something else")
    with pytest.raises(InputError, match="that can be read"):
        list(read(path))
    with pytest.raises(InputError, match="that can be read"):
        about(path)


def test_tables_and_archives_of_others_are_not_taken_for_ours(tmp_path: Path) -> None:
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({"x": [1]}), tmp_path / "a.parquet")
    np.savez(tmp_path / "a.npz", x=np.arange(3))
    for name in ("a.parquet", "a.npz"):
        assert about(tmp_path / name) is None
        with pytest.raises(InputError, match="not written by polyseme"):
            list(read(tmp_path / name))


def test_another_suffix_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'\.csv'; expected one of \.hdf5"):
        output_format(Path("a.csv"))


def test_numpy_reads_every_member_of_npz_without_pickle(tmp_path: Path) -> None:
    records = [make_record(n, ["a", "b"], "top", "mean", False, "float32") for n in range(3)]
    job = {"layers": "top", "dtype": "float32", "pool": "mean", "words": [], "kept": KEPT}
    output_format(tmp_path / "a.npz").write(tmp_path / "a.npz", contents_of(records, job))
    found = dict(np.load(tmp_path / "a.npz"))
    assert found["vectors"].shape == (3, W) and found["ids"].tolist() == ["id 0", "id 0", "id 1"]
    assert found["keep.stars"].tolist() == [0, 1, 2] and found["keep.text"].tolist() == ["é"] * 3
    assert found["keep.new"].tolist() == [True, False, True]
    assert json.loads(str(found["about"])) == job
    assert len(found["records"].tobytes().decode().splitlines()) == 3


def test_npy_is_the_matrix_and_has_its_ids_beside_it(tmp_path: Path) -> None:
    records = [make_record(n, ["a"], "top", "mean", False, "float32") for n in range(3)]
    job = {"layers": "top", "dtype": "float32", "pool": "mean", "words": []}
    output_format(tmp_path / "a.npy").write(tmp_path / "a.npy", contents_of(records, job))
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), np.stack([record.values for record in records]))
    lines = (tmp_path / "a.npy.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line).get("id") for line in lines] == ["id 0", "id 0", "id 1", None]


def test_hdf5_has_kept_columns_as_attributes(tmp_path: Path) -> None:
    job = {"layers": "top", "dtype": "float32", "pool": None, "words": [], "kept": KEPT}
    record = make_record(0, ["a"], "top", None, False, "float32")
    output_format(tmp_path / "a.h5").write(tmp_path / "a.h5", contents_of([record], job))
    with h5py.File(tmp_path / "a.h5") as file:
        attributes = file["0"].attrs
        assert attributes["id"] == "id 0" and attributes["stars"] == 0 and attributes["text"] == "é"
