"""Equal values have equal digests; manifests and pieces come back as written; mapped files have their size."""

from __future__ import annotations

import hashlib
import mmap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.damage import flip_bit, rewrite
from polyseme.errors import InputError, JobError
from polyseme.jobs import manifests
from polyseme.jobs.manifests import (
    CHECKED,
    InputFile,
    Piece,
    canonical,
    check_piece,
    check_pieces,
    describe_input,
    digest,
    map_file,
    measure_piece,
    read_manifest,
    read_values,
    refuse_other,
    release,
    sha256_of,
    write_json,
    write_manifest,
)

BYTES = np.dtype("u1")


@dataclass(frozen=True, slots=True)
class About:
    name: str
    share: float
    inputs: tuple[InputFile, ...] = ()
    pieces: dict[str, Piece] = field(default_factory=dict)
    version: int = 1


ABOUT = About("naïve \ud800", 0.5, (InputFile("a", None, None),), {"b.bin": Piece(3, 5)})


def test_a_manifest_comes_back(tmp_path: Path) -> None:
    write_manifest(tmp_path / "about.json", ABOUT)
    assert read_manifest(tmp_path / "about.json", About, 1) == ABOUT
    assert [path.name for path in tmp_path.iterdir()] == ["about.json"]


def test_every_flipped_bit_of_a_manifest_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "about.json"
    write_manifest(path, ABOUT)
    whole = path.read_bytes()
    for place in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"about\.json"):
            read_manifest(path, About, 1)


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    path = tmp_path / "about.json"
    with pytest.raises(InputError, match=r"about\.json is missing"):
        read_manifest(path, About, 1)
    write_manifest(path, ABOUT)
    rewrite(path, version=2)
    with pytest.raises(InputError, match=r"about\.json has version 2, where 1 was expected"):
        read_manifest(path, About, 1)
    rewrite(path, version=1, colour="red")
    with pytest.raises(InputError, match=r"about\.json has no 'colour'; it has: name, share"):
        read_manifest(path, About, 1)
    write_json(path, {"version": 1, "name": 5})
    with pytest.raises(InputError, match="name is 5, but should be text"):
        read_manifest(path, About, 1)
    write_json(path, [1])
    with pytest.raises(InputError, match=r"about\.json is damaged: it is not an object of names and values"):
        read_values(path)


@given(st.lists(st.binary(max_size=9)))
def test_a_piece_grows_to_the_checksum_of_the_whole(parts: list[bytes]) -> None:
    piece = Piece()
    for part in parts:
        piece = piece.plus(part)
    assert piece == Piece().plus(b"".join(parts))


def test_a_piece_is_known_by_size_and_content(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"abcdef" * 999)
    piece = measure_piece(path)
    assert measure_piece(path, 6) == Piece().plus(b"abcdef")
    check_piece(path, piece)
    flip_bit(path)
    with pytest.raises(InputError, match=r"a\.bin is damaged: its checksum does not match"):
        check_piece(path, piece)
    path.write_bytes(b"abc")
    with pytest.raises(InputError, match=r"a\.bin has 3 bytes where 5994 were expected"):
        check_piece(path, piece)


def test_checked_pieces_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(name.encode())
    known = {name: measure_piece(tmp_path / name) for name in "ab"}
    check_pieces(tmp_path, known)
    read: list[str] = []
    measured = manifests.measure_piece
    monkeypatch.setattr(manifests, "measure_piece", lambda path: read.append(path.name) or measured(path))
    check_pieces(tmp_path, known)
    assert read == []
    flip_bit(tmp_path / "b")
    for _ in range(2):
        with pytest.raises(InputError, match="b is damaged"):
            check_pieces(tmp_path, known)
    assert read == ["b", "b"]
    (tmp_path / CHECKED).write_text("no JSON")
    (tmp_path / "b").write_bytes(b"b")
    check_pieces(tmp_path, known)
    assert read == ["b", "b", "a", "b"]


def test_an_input_is_known_by_the_hash_that_sha256sum_prints(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.txt").write_bytes(b"two")
    (tmp_path / "sub" / "a.txt").write_bytes(b"one")
    one, two = hashlib.sha256(b"one").hexdigest(), hashlib.sha256(b"two").hexdigest()
    assert describe_input(tmp_path / "b.txt", name="b") == InputFile("b", 3, two)
    assert sha256_of(tmp_path) == hashlib.sha256(f"{two}  b.txt\n{one}  sub/a.txt\n".encode()).hexdigest()
    assert describe_input(tmp_path).size == 6
    with pytest.raises(InputError, match="gone cannot be read: no such file"):
        describe_input(tmp_path / "gone")


@dataclass(frozen=True)
class Choice:
    layers: str
    scale: float = 3.0
    words: tuple[str, ...] = ()
    more: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ChoiceOfTomorrow:
    layers: str
    speed: int = 5
    scale: float = 3.0
    words: tuple[str, ...] = ()
    more: dict[str, int] = field(default_factory=dict)


def test_canonical_json_leaves_out_defaults_and_has_one_form() -> None:
    assert canonical(Choice("all", 3)) == b'{"layers":"all"}'
    assert canonical(Choice("ä", 2.0, ("b", "a"), {"z": 1, "y": 2})) == (
        rb'{"layers":"\u00e4","more":{"y":2,"z":1},"scale":2,"words":["b","a"]}'
    )
    assert canonical("\ud800") == rb'"\ud800"'


def test_a_later_class_with_a_new_default_has_the_same_digest() -> None:
    assert digest(ChoiceOfTomorrow("top", scale=1.5)) == digest(Choice("top", scale=1.5))
    assert digest(ChoiceOfTomorrow("top", speed=6)) != digest(Choice("top"))


@given(st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3) | st.none(), max_size=4))
def test_the_order_of_names_does_not_matter(values: dict[str, Any]) -> None:
    assert digest(dict(reversed(values.items()))) == digest(values)


def refusal(before: Any, now: Any, **options: Any) -> str:
    with pytest.raises(JobError) as refused:
        refuse_other(before, now, what="it is another job", remedy="undo that", **options)
    return str(refused.value)


def test_equal_descriptions_pass_and_so_does_what_may_change() -> None:
    refuse_other(Choice("all"), Choice("all", 3), what="", remedy="")
    refuse_other({"a": {"b": 1, "c": 2}}, {"a": {"b": 3, "c": 4}}, what="", remedy="", free=("a",))
    assert "a.c was 2 and is 4" in refusal({"a": {"b": 1, "c": 2}}, {"a": {"b": 3, "c": 4}}, free=("a.b",))
    assert "ab was 1 and is 2" in refusal({"ab": 1}, {"ab": 2}, free=("a",))


def test_a_difference_is_named_with_both_values() -> None:
    assert refusal({"job": Choice("all")}, {"job": Choice("top", words=("a",))}) == (
        'it is another job: job.layers was "all" and is "top"; job.words was [] and is ["a"]; undo that'
    )
    assert refusal({"model": None}, {"model": "en"}) == 'it is another job: model was none and is "en"; undo that'
    assert refusal({}, {"seed": 0}) == "it is another job: seed was none and is 0; undo that"


def test_files_are_named() -> None:
    before = {"inputs": (InputFile("a.txt", 3, "00"), InputFile("b.txt", 4, "11"))}
    now = {"inputs": (InputFile("a.txt", 3, "00"), InputFile("b.txt", 4, "22"))}
    assert refusal(before, now) == 'it is another job: sha256 of b.txt was "11" and is "22"; undo that'
    other_order = {"inputs": tuple(reversed(before["inputs"]))}
    assert 'inputs was ["a.txt", "b.txt"] and is ["b.txt", "a.txt"]' in refusal(before, other_order)


def test_many_differences_are_counted_and_long_values_shortened() -> None:
    said = refusal({str(n): n for n in range(9)}, {str(n): "x" * 100 for n in range(9)})
    assert said.count(" was ") == 3
    assert said.endswith("; and 6 more; undo that")
    assert len(said) < 300


def resident() -> int:
    """Bytes of mapped files that are in this process's memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("RssFile:"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "numbers.bin").write_bytes(bytes(range(256)) * 2**17)  # 32 MB
    return tmp_path / "numbers.bin"


def test_what_is_mapped_is_the_file(file: Path) -> None:
    array = map_file(file, np.dtype("<u4"), 2**23)
    assert array[1] == 0x07060504 and not array.flags.writeable


@pytest.mark.parametrize("count", [2**25 - 1, 2**25 + 1])
def test_another_size_is_refused(file: Path, count: int) -> None:
    with pytest.raises(InputError, match=r"numbers\.bin has \d+ bytes where"):
        map_file(file, BYTES, count)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.bin is missing"):
        map_file(tmp_path / "nothing.bin", BYTES, 1)


@pytest.mark.skipif(not hasattr(mmap, "MADV_DONTNEED"), reason="the system has no such call")
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say what is resident")
def test_memory_is_given_back_and_the_numbers_stay(file: Path) -> None:
    array = map_file(file, BYTES, 2**25)
    before = int(array.sum())
    held = resident()
    release(array, np.ones(3))
    assert resident() < held - 2**24
    assert int(array.sum()) == before
