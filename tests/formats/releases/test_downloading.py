"""Releases come from the first place that has them, are checked before they count, and then need no network."""

from __future__ import annotations

import hashlib
import io
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest

from helpers.faulty_server import Served, serving
from helpers.release_files import list_releases, tarred, zipped
from helpers.small_models import small_model
from polyseme.elmo import Elmo
from polyseme.errors import DownloadError, FormatError
from polyseme.formats.detect import load, load_path
from polyseme.formats.releases import downloading
from polyseme.formats.releases import fetch as fetching
from polyseme.formats.releases.fetch import Patience
from polyseme.formats.releases.known import Release, find_release
from polyseme.formats.releases.reports import DownloadReport, reporting_to
from polyseme.formats.releases.store import downloads, find_download, remove

Pair = dict[str, bytes]
NOBODY = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is silent for half a second, or fails three times, is given up: tests have no time."""
    monkeypatch.setattr(fetching, "PATIENCE", Patience(seconds=0.5, tries=3, pause=0.01))


@pytest.fixture(autouse=True)
def told() -> Iterator[list[DownloadReport]]:
    """What downloads say, instead of lines on standard error."""
    reports: list[DownloadReport] = []
    with reporting_to(reports.append):
        yield reports


def served(pair: Pair, folder: str = "") -> dict[str, Served]:
    return {f"{folder}/{name}": Served(content) for name, content in pair.items()}


def source(address: str, pair: Pair, folder: str = "") -> dict[str, str]:
    return {name: f"{address}{folder}/{name}" for name in pair}


def known(name: str) -> Release:
    release = find_release(name)
    assert release is not None
    return release


def test_a_release_is_downloaded_once_and_then_needs_no_network(home: Path, pair: Pair) -> None:
    with serving(served(pair)) as (address, asked):
        list_releases(home, {"name": "tiny", "languages": ["is"], "state": "warm", "sources": [source(address, pair)]})
        assert load("tiny").fingerprint() == small_model().fingerprint()
        assert len(asked) == 2
        assert load("TINY").card["state"] == "warm"
        assert len(asked) == 2
    elmo = Elmo.from_pretrained("tiny", device="cpu")
    assert (elmo.state, elmo.lang, elmo.stored.card["name"]) == ("warm", "is", "tiny")
    assert elmo.fingerprint == small_model().fingerprint()
    assert Elmo.from_pretrained("tiny", state="reset", lang="en").state == "reset"


def test_what_a_row_says_is_how_the_model_is_used(home: Path, pair: Pair) -> None:
    """SeqVec: sums, residues as tokens, a state that a protein has led to."""
    with serving(served(pair)) as (address, _):
        row = {"name": "ours", "languages": ["protein"], "tokenization": "protein", "mix": "sum", "state": "warm"}
        list_releases(home, {**row, "warm_text": "M K V", "sources": [source(address, pair)]})
        elmo = Elmo.from_pretrained("ours", device="cpu")
    protein = elmo.encode("MKT AY")
    assert protein.tokens == ["M", "K", "T", "A", "Y"]
    assert protein.vectors == pytest.approx(protein.layers.sum(axis=0), abs=1e-6)
    prose = Elmo(load("ours"), state="warm", device="cpu")
    assert prose.identity == elmo.identity != Elmo(small_model(), state="warm", device="cpu").identity
    assert elmo.identity.startswith(f"{elmo.fingerprint}-warm-")


def test_converted_the_settings_stay_with_the_model(home: Path, pair: Pair, tmp_path: Path) -> None:
    with serving(served(pair)) as (address, _):
        list_releases(home, {"name": "ours", "mix": "sum", "state": "warm", "sources": [source(address, pair)]})
        Elmo.from_pretrained("ours").save_pretrained(tmp_path / "native")
    elmo = Elmo.from_pretrained(tmp_path / "native", device="cpu")
    assert (elmo.state, elmo.mix) == ("warm", (1.0, 1.0, 1.0))


@pytest.mark.parametrize("kind", ["zip", "zip with a folder", "tar.gz", "parts"])
def test_archives_are_unpacked_once(home: Path, pair: Pair, kind: str) -> None:
    packed = {"zip": zipped(pair), "zip with a folder": zipped(pair, "uniref50_v2/"), "tar.gz": tarred(pair)}
    content = packed.get(kind, packed["tar.gz"])
    files = {"model.tar.gz" if "zip" not in kind else "model.zip": content}
    if kind == "parts":
        middle = len(content) // 2
        files = {"model.tgz.part-00": content[:middle], "model.tgz.part-01": content[middle:]}
    with serving(served(files)) as (address, _):
        row = {"name": "tiny", "sources": [source(address, files)]}
        if kind == "parts":
            row["checksums"] = {"model.tgz": f"sha1:{hashlib.sha1(content).hexdigest()}"}
        list_releases(home, row)
        assert load("tiny").fingerprint() == small_model().fingerprint()
    folder = home / "releases" / "tiny"
    names = sorted(path.name for path in folder.rglob("*") if path.is_file())
    assert names == ["options.json", "release.json", "weights.hdf5"]
    assert sorted(path.name for path in (home / "releases").iterdir()) == ["checksums.json", "tiny"]


def test_places_are_tried_in_their_order(home: Path, pair: Pair, told: list[DownloadReport]) -> None:
    """The first is not there, the second forbids it, the third has half of it, the fourth a page, the fifth has it."""
    files = served(pair, "/good") | {"/half/options.json": Served(pair["options.json"])}
    files |= {f"/forbidden/{name}": Served(status=403) for name in pair}
    files |= {f"/page/{name}": Served(b"<!DOCTYPE html><p>moved</p>") for name in pair}
    with serving(files) as (address, asked):
        folders = ["/forbidden", "/half", "/page", "/good"]
        sources = [source(NOBODY, pair), *(source(address, pair, folder) for folder in folders)]
        list_releases(home, {"name": "tiny", "sources": sources})
        assert load("tiny").fingerprint() == small_model().fingerprint()
    assert [one.path.split("/")[1] for one in asked] == ["forbidden", "half", "half", "page", "good", "good"]
    notes = [report.text for report in told if report.stage == "note"]
    assert notes[0] == "tiny: its publisher states no licence"
    assert [text.partition(";")[0].split(" ", 1)[1] for text in notes[1:]] == [
        "cannot be reached (connection refused)",
        "answers 403 (forbidden)",
        "answers 404 (not found)",
        "does not send it: a web page was sent instead of options.json",
    ]


def test_where_all_fail_one_sentence_says_why_and_what_is_known(home: Path, pair: Pair) -> None:
    with serving({}) as (address, _):
        sources = [source(NOBODY, pair), source(address, pair)]
        list_releases(home, {"name": "gone", "notes": "dead since 2019", "sources": sources})
        with pytest.raises(DownloadError) as caught:
            load("gone")
    said = str(caught.value)
    assert said.startswith(
        "gone could not be downloaded: 127.0.0.1:9 cannot be reached (connection refused); 127.0.0.1:"
    )
    assert said.endswith(" answers 404 (not found); what is known of it: dead since 2019")


def test_the_licence_is_said_before_anything_comes(home: Path, pair: Pair, told: list[DownloadReport]) -> None:
    with serving(served(pair)) as (address, _):
        list_releases(home, {"name": "tiny", "licence": "CC0", "sources": [source(address, pair)]})
        load("tiny")
    assert told[0].text == "tiny: its licence: CC0"
    begun = [report for report in told if report.stage == "begin"]
    assert [(report.file, report.total) for report in begun] == [(name, len(pair[name])) for name in pair]
    assert [report.file for report in told if report.stage == "end"] == list(pair)


@pytest.mark.parametrize("kind", ["sha256", "sha1", "md5"])
def test_a_published_checksum_is_verified(home: Path, pair: Pair, kind: str) -> None:
    right = f"{kind}:{hashlib.new(kind, pair['weights.hdf5']).hexdigest()}"
    wrong = f"{kind}:{hashlib.new(kind, b'').hexdigest()}"
    with serving(served(pair)) as (address, _):
        rows = [{"name": name, "checksums": {"weights.hdf5": text}} for name, text in (("a", right), ("b", wrong))]
        list_releases(home, *({**row, "sources": [source(address, pair)]} for row in rows))
        load("a")
        with pytest.raises(DownloadError, match=f"weights.hdf5 has the {kind} checksum .* but its publisher says"):
            load("b")
    assert find_download(known("b")) is None


def test_what_came_first_is_remembered_and_another_file_is_refused(home: Path, pair: Pair) -> None:
    """Also after the release was removed; --again takes the new one, and is remembered in its turn."""
    other = dict(pair, **{"options.json": pair["options.json"] + b"\n"})
    files = served(pair)
    with serving(files) as (address, _):
        list_releases(home, {"name": "tiny", "sources": [source(address, pair)]})
        load("tiny")
        remove(next(downloads()))
        files |= served(other)
        with pytest.raises(DownloadError, match=r"options.json has .* polyseme pull tiny --again"):
            load("tiny")
        downloading.pull(known("tiny"), load_path, again=True)
        remove(next(downloads()))
        load("tiny")
        files |= served(pair)
        remove(next(downloads()))
        with pytest.raises(DownloadError, match="when it first came"):
            load("tiny")


def test_a_file_that_changes_on_this_disk_is_refused(home: Path, pair: Pair) -> None:
    with serving(served(pair)) as (address, _):
        list_releases(home, {"name": "tiny", "sources": [source(address, pair)]})
        load("tiny")
    path = home / "releases" / "tiny" / "model" / "weights.hdf5"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(DownloadError, match=r"weights.hdf5 has other bytes .* again with: polyseme pull tiny --again"):
        load("tiny")
    path.unlink()
    with pytest.raises(DownloadError, match=r"weights.hdf5 of tiny is missing; get it again with"):
        load("tiny")


def with_nan(weights: bytes) -> bytes:
    buffer = io.BytesIO(weights)
    with h5py.File(buffer, "r+") as file:
        file["char_embed"][0, 0] = np.nan
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "weights.hdf5 is empty"),
        (b"<html>404</html>", "a web page was sent instead of weights.hdf5"),
        (b"garbage", "should be an HDF5 file, but begins with b'garbage'"),
        ("truncated", "it is truncated, so copy or download it again"),
        ("other shape", "has shape"),
        ("not finite", "that are not finite numbers"),
    ],
)
def test_what_is_no_sound_model_does_not_count(home: Path, pair: Pair, content: str | bytes, problem: str) -> None:
    files = dict(pair)
    if isinstance(content, bytes):
        files["weights.hdf5"] = content
    elif content == "truncated":
        files["weights.hdf5"] = pair["weights.hdf5"][: len(pair["weights.hdf5"]) // 2]
    elif content == "other shape":
        files["options.json"] = pair["options.json"].replace(b'"projection_dim": 4', b'"projection_dim": 5')
    else:
        files["weights.hdf5"] = with_nan(pair["weights.hdf5"])
    with serving(served(files)) as (address, asked):
        list_releases(home, {"name": "tiny", "sources": [source(address, pair)]})
        with pytest.raises(DownloadError, match=problem):
            load("tiny")
        before = len(asked)
        with pytest.raises(DownloadError):
            load("tiny")
        assert len(asked) > before, "the bad file is not kept"
    assert list(downloads()) == []


def test_a_server_that_promises_too_little_is_found_out(home: Path, pair: Pair) -> None:
    files = served(pair)
    files["/weights.hdf5"].promises = 1000
    with serving(files) as (address, _):
        list_releases(home, {"name": "tiny", "sources": [source(address, pair)]})
        with pytest.raises(DownloadError, match="truncated"):
            load("tiny")


def test_two_at_once_download_once(home: Path, pair: Pair) -> None:
    files = served(pair)
    files["/weights.hdf5"].wait = 0.3
    found: list[str] = []
    waited: list[DownloadReport] = []

    def run() -> None:
        with reporting_to(waited.append):
            found.append(load("tiny").fingerprint())

    with serving(files) as (address, asked):
        list_releases(home, {"name": "tiny", "sources": [source(address, pair)]})
        threads = [threading.Thread(target=run) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [small_model().fingerprint()] * 3
    assert len(asked) == 2
    text = "tiny is being downloaded by another process; waiting for it"
    assert sum(report.text == text for report in waited) >= 1


def test_an_address_is_a_model_too(home: Path, pair: Pair, tmp_path: Path) -> None:
    """A zip, or weights whose options lie beside them, by AllenNLP's rule for names."""
    files = {
        "/a/x_options.json": pair["options.json"],
        "/a/x_weights.hdf5": pair["weights.hdf5"],
        "/b/y.zip": zipped(pair),
    }
    with serving({path: Served(content) for path, content in files.items()}) as (address, asked):
        for path in ("/a/x_weights.hdf5", "/b/y.zip"):
            assert load(address + path).fingerprint() == small_model().fingerprint()
        count = len(asked)
        assert count == 3
        load(address + "/b/y.zip")
        assert len(asked) == count
        assert {download.name for download in downloads()} == {address + "/a/x_weights.hdf5", address + "/b/y.zip"}


def test_options_and_weights_at_two_addresses(home: Path, pair: Pair, tmp_path: Path) -> None:
    files = {"/a/one.json": Served(pair["options.json"]), "/b/two.hdf5": Served(pair["weights.hdf5"])}
    (tmp_path / "options.json").write_bytes(pair["options.json"])
    with serving(files) as (address, asked):
        weights, options = f"{address}/b/two.hdf5", f"{address}/a/one.json"
        assert load(weights, options=options).fingerprint() == small_model().fingerprint()
        assert len(asked) == 2
        assert load(weights, options=tmp_path / "options.json").fingerprint() == small_model().fingerprint()
        assert len(asked) == 2
        with pytest.raises(DownloadError, match="answers 404"):
            load(weights, options=f"{address}/none.json")


def test_the_addresses_of_a_known_release_are_the_release(home: Path, pair: Pair) -> None:
    with serving(served(pair)) as (address, asked):
        list_releases(home, {"name": "tiny", "state": "warm", "sources": [source(address, pair)]})
        weights, options = f"{address}/weights.hdf5", f"{address}/options.json"
        assert load(weights).card["state"] == "warm"
        assert load(weights, options=options).card["state"] == "warm"
        assert len(asked) == 2
    assert [download.name for download in downloads()] == ["tiny"]


def test_a_known_name_with_a_slash_is_not_taken_for_a_hub_id(home: Path, pair: Pair) -> None:
    with serving(served(pair)) as (address, _):
        list_releases(home, {"name": "our:elmo", "aliases": ["our/elmo"], "sources": [source(address, pair)]})
        assert load("our/elmo").fingerprint() == small_model().fingerprint()


def test_a_folder_of_that_name_comes_first(
    home: Path, pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small").mkdir()
    for name, content in pair.items():
        (Path("small") / name).write_bytes(content)
    assert load("small").fingerprint() == small_model().fingerprint()


def test_what_is_refused_and_what_only_people_can_download() -> None:
    with pytest.raises(DownloadError, match="polyseme cannot use transformer-elmo: it is a Transformer, not the LSTM"):
        load("transformer-elmo")
    with pytest.raises(
        DownloadError, match=r"bioelmo cannot be downloaded automatically: on Google Drive, .* their folder"
    ):
        load("bioelmo")


def test_a_name_that_nobody_knows() -> None:
    with pytest.raises(FormatError, match=r"no file or folder 'orignal', and no release.* \(perhaps original"):
        load("orignal")


def test_damaged_records_are_named(home: Path, pair: Pair) -> None:
    (home / "releases").mkdir()
    (home / "releases" / "checksums.json").write_text("{", encoding="utf-8")
    with serving(served(pair)) as (address, _):
        list_releases(home, {"name": "tiny", "sources": [source(address, pair)]})
        with pytest.raises(DownloadError, match=r"checksums.json, the checksums of all downloads, cannot be read"):
            load("tiny")


def test_a_damaged_manifest_is_as_none(home: Path, pair: Pair) -> None:
    with serving(served(pair)) as (address, asked):
        list_releases(home, {"name": "tiny", "sources": [source(address, pair)]})
        load("tiny")
        manifest = home / "releases" / "tiny" / "release.json"
        assert json.loads(manifest.read_bytes())["name"] == "tiny"
        manifest.write_text("[]", encoding="utf-8")
        assert load("tiny").fingerprint() == small_model().fingerprint()
        assert len(asked) == 4
