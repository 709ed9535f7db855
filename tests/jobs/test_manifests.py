"""Manifests come back as they were written, or are refused with the reason; pieces are what they were."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.damage import flip_bit, rewrite
from polyseme.errors import InputError
from polyseme.jobs import pieces
from polyseme.jobs.input_files import InputFile, describe_input, sha256_of
from polyseme.jobs.manifests import read_manifest, read_values, write_json, write_manifest
from polyseme.jobs.pieces import CHECKED, Piece, check_piece, check_pieces, measure_piece


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
    with pytest.raises(InputError, match=r"about\.json is damaged: it holds no names and values"):
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
    with pytest.raises(InputError, match=r"a\.bin is damaged: its checksum is not the one that it was written with"):
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
    measured = pieces.measure_piece
    monkeypatch.setattr(pieces, "measure_piece", lambda path: read.append(path.name) or measured(path))
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
