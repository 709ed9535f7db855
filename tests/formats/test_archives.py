"""Archives: nothing is written outside, nothing fills the disk, and a damaged one is called damaged."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.golden import golden
from helpers.refusals import refused
from polyseme.errors import FormatError
from polyseme.formats import archives
from polyseme.formats.archives import extracted, is_archive
from polyseme.formats.detect import load

NLPL = "nlpl/with_vocab.zip"


def zip_of(path: Path, *names: str, content: bytes = b"x") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return path


def tar_of(path: Path, *entries: tarfile.TarInfo, mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:
        for entry in entries:
            archive.addfile(entry, io.BytesIO(b"\0" * entry.size))
    return path


def entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = 1) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, size if kind == tarfile.REGTYPE else 0
    return info


OUTSIDE = ("../evil", "a/../../evil", "/tmp/evil", "..\\evil", "C:\\evil", "C:/evil", "//server/evil")


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_zip_that_writes_outside(tmp_path: Path, name: str) -> None:
    with refused("would be written outside its folder"):
        load(zip_of(tmp_path / "x.zip", "options.json", name))


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_tar_that_writes_outside(tmp_path: Path, name: str) -> None:
    with refused("would be written outside its folder"):
        load(tar_of(tmp_path / "x.tar.gz", entry("weights.th"), entry(name)))


@given(st.lists(st.sampled_from(["..", ".", "a", "b", "", "\\", "/", "C:", "~"]), min_size=1, max_size=6))
@settings(max_examples=60)
def test_no_name_leaves_the_folder(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    folder = tmp_path_factory.mktemp("zip")
    path = zip_of(folder / "x.zip", "/".join(parts) or "x")
    before = set(folder.iterdir())
    try:
        with extracted(path) as inside:
            assert all(file.resolve().is_relative_to(inside.resolve()) for file in inside.rglob("*"))
    except FormatError:
        pass
    assert set(folder.iterdir()) == before


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar(tmp_path: Path, kind: bytes) -> None:
    with refused("is a link or a device"):
        load(tar_of(tmp_path / "x.tar", entry("inside"), entry("weights.th", kind, "/etc/passwd"), mode="w"))


def test_a_link_in_a_zip(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        info = zipfile.ZipInfo("options.json")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    with refused("is a link"):
        load(tmp_path / "x.zip")


def test_two_entries_of_one_name(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = zip_of(tmp_path / "x.zip", "a/b", "a/b")
    with refused("is there twice"):
        load(path)
    with refused("is there twice"):
        load(zip_of(tmp_path / "y.zip", "a/b", "a//b"))


def test_a_zip_bomb_is_refused_by_what_it_promises(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "bomb.zip", "weights.hdf5", content=b"\0" * (40 << 20))
    assert path.stat().st_size < 100_000
    with refused("unpacks to more than"):
        load(path)


def test_a_zip_bomb_that_promises_little_is_stopped_while_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "ALWAYS_ALLOWED", 1 << 20)
    path = zip_of(tmp_path / "bomb.zip", "weights.hdf5", content=b"\0" * (8 << 20))
    data = bytearray(path.read_bytes())
    where = data.rindex(b"PK\x01\x02") + 24  # the size in the list of contents
    assert int.from_bytes(data[where : where + 4], "little") == 8 << 20
    data[where : where + 4] = (100).to_bytes(4, "little")
    path.write_bytes(data)
    with refused("unpacks to more than|damaged or truncated"):
        load(path)


def test_a_tar_bomb_is_stopped(tmp_path: Path) -> None:
    path = tar_of(tmp_path / "bomb.tar.gz", *(entry(f"part{n}", size=4 << 20) for n in range(8)))
    assert path.stat().st_size < 100_000
    with refused("unpacks to more than"):
        load(path)


def test_too_many_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_ENTRIES", 5)
    with refused("more than 5 files"):
        load(zip_of(tmp_path / "x.zip", *map(str, range(6))))
    with refused("more than 5 files"):
        load(tar_of(tmp_path / "x.tar.gz", *(entry(str(n)) for n in range(6))))


@pytest.mark.parametrize("name", [NLPL, "allennlp/archives/fta_projection.tar.gz"])
@pytest.mark.parametrize("share", [0.5, 0.99])
def test_a_truncated_archive(tmp_path: Path, name: str, share: float) -> None:
    whole = golden(name).read_bytes()
    path = tmp_path / golden(name).name
    path.write_bytes(whole[: int(share * len(whole))])
    with refused("damaged or truncated|not a model that polyseme knows"):
        load(path)


@pytest.mark.parametrize("position", [300, 5000, 20000])
def test_a_damaged_archive(tmp_path: Path, position: int) -> None:
    data = bytearray(golden(NLPL).read_bytes())
    data[position : position + 50] = os.urandom(50)
    (tmp_path / "x.zip").write_bytes(data)
    with refused("."):
        load(tmp_path / "x.zip")


def test_an_encrypted_entry(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "x.zip", "options.json")
    data = bytearray(path.read_bytes())
    for start in (6, data.rindex(b"PK\x01\x02") + 8):
        data[start] |= 1
    path.write_bytes(data)
    with refused("damaged or truncated"):
        load(path)


def test_archives_are_known_by_content(tmp_path: Path) -> None:
    for number, name in enumerate((NLPL, "allennlp/archives/direct_two_mixes.tar.gz")):
        path = tmp_path / f"nameless{number}"
        path.write_bytes(golden(name).read_bytes())
        assert is_archive(path)
        load(path)
    for name in ("allennlp/token_embedder_projection.th", "allennlp/char_ids.npz", "allennlp/sentences.json"):
        assert not is_archive(golden(name))


def test_an_archive_in_an_archive_in_an_archive_ends(tmp_path: Path) -> None:
    content = b"nothing"
    for _ in range(8):
        path = zip_of(tmp_path / "x.zip", "inner.zip", content=content)
        content = path.read_bytes()
    with refused("not a model that polyseme knows"):
        load(path)


def test_the_temporary_folder_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    load(golden(NLPL))
    assert list(tmp_path.iterdir()) == []
