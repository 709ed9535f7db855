"""One file from a server that breaks off, lies, sends on, is silent or refuses: whole, or a sentence says why."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.faulty_server import Served, serving
from polyseme.errors import DownloadError, JobError
from polyseme.formats.releases import fetch as fetching
from polyseme.formats.releases.fetch import Patience, fetch

IMPATIENT = Patience(seconds=0.5, tries=3, pause=0.01)
CONTENT = random.Random(0).randbytes(300_000)


def get(served: Served, path: Path, content: bytes = CONTENT) -> list[tuple[int, int | None]]:
    """Fetch it, see that it is right, and give what was reported."""
    told: list[tuple[int, int | None]] = []
    with serving({"/file": served}) as (address, _):
        fetch(f"{address}/file", path, lambda done, total: told.append((done, total)), IMPATIENT)
    assert path.read_bytes() == content
    assert sorted(path.parent.iterdir()) == [path]  # nothing is left beside it
    return told


def test_a_file_comes_whole_and_says_how_far_it_is(tmp_path: Path) -> None:
    told = get(Served(CONTENT), tmp_path / "file")
    assert told[0] == (0, len(CONTENT))
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert told == sorted(told)


@pytest.mark.parametrize("tag", ['"v1"', None, 'W/"weak"'])
def test_a_connection_that_breaks_again_and_again_is_taken_up_where_it_was(tmp_path: Path, tag: str | None) -> None:
    with serving({"/file": Served(CONTENT, breaks_after=70_000, tag=tag)}) as (address, asked):
        fetch(f"{address}/file", tmp_path / "file", lambda done, total: None, Patience(tries=3, pause=0.01))
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert [one.range for one in asked] == [None, *(f"bytes={70_000 * n}-" for n in range(1, 5))]


@settings(max_examples=30)
@given(st.integers(5_000, 400_000), st.booleans())
def test_whatever_it_breaks_off_after(tmp_path_factory: pytest.TempPathFactory, size: int, tag: bool) -> None:
    path = tmp_path_factory.mktemp("any") / "file"
    get(Served(CONTENT, breaks_after=size, tag='"v1"' if tag else None), path)


def test_a_server_without_ranges_sends_it_again_from_its_beginning(tmp_path: Path) -> None:
    """And a server that breaks off at the same place every time is given up."""
    with (
        serving({"/file": Served(CONTENT, ranges=False, breaks_after=100_000)}) as (address, asked),
        pytest.raises(DownloadError, match="promises 300,000 bytes and breaks off after 100,000"),
    ):
        fetch(f"{address}/file", tmp_path / "file", lambda done, total: None, IMPATIENT)
    assert len(asked) == 4  # once with progress, three times without
    assert not (tmp_path / "file").exists()


def test_a_later_process_goes_on(tmp_path: Path) -> None:
    served = Served(CONTENT, breaks_after=100_000)
    files = {"/file": served}
    path = tmp_path / "file"

    class Killed(BaseException):
        pass

    def kill(done: int, total: int | None) -> None:
        if done >= 100_000:
            raise Killed

    with serving(files) as (address, asked):
        with pytest.raises(Killed):
            fetch(f"{address}/file", path, kill, IMPATIENT)
        assert not path.exists()
        fetch(f"{address}/file", path, lambda done, total: None, IMPATIENT)
    assert path.read_bytes() == CONTENT
    assert asked[1].range == "bytes=100000-"


def test_another_version_is_not_mixed_with_what_is_here(tmp_path: Path) -> None:
    """With a tag the server tells; without one the size does."""
    other = random.Random(1).randbytes(250_000)
    for number, (tag, new) in enumerate([('"v1"', '"v2"'), (None, None)]):
        path = tmp_path / str(number) / "file"
        path.parent.mkdir()
        files = {"/file": Served(CONTENT, breaks_after=100_000, tag=tag)}
        with serving(files) as (address, _):
            with pytest.raises(DownloadError):
                files["/file"].ranges = False
                fetch(f"{address}/file", path, lambda done, total: None, IMPATIENT)
            files["/file"] = Served(other, tag=new)
            fetch(f"{address}/file", path, lambda done, total: None, IMPATIENT)
        assert path.read_bytes() == other


def test_what_came_from_one_address_is_not_gone_on_with_from_another(tmp_path: Path) -> None:
    other = random.Random(2).randbytes(len(CONTENT))
    files = {"/a": Served(CONTENT, breaks_after=100_000, ranges=False), "/b": Served(other, tag=None)}
    with serving(files) as (address, asked):
        with pytest.raises(DownloadError):
            fetch(f"{address}/a", tmp_path / "file", lambda done, total: None, IMPATIENT)
        fetch(f"{address}/b", tmp_path / "file", lambda done, total: None, IMPATIENT)
    assert (tmp_path / "file").read_bytes() == other
    assert asked[-1].range is None


def test_a_server_that_sends_other_pieces_than_asked_for_is_given_up(tmp_path: Path) -> None:
    with (
        serving({"/file": Served(CONTENT, breaks_after=100_000, wrong_piece=True)}) as (address, _),
        pytest.raises(DownloadError, match=r"127\.0\.0\.1:\d+ "),
    ):
        fetch(f"{address}/file", tmp_path / "file", lambda done, total: None, IMPATIENT)


def test_a_server_that_promises_too_much(tmp_path: Path) -> None:
    """Asked for the rest it says that there is none: what is here is the file, and its content is checked elsewhere."""
    get(Served(CONTENT, promises=400_000), tmp_path / "file")


def test_a_server_that_promises_too_little_gives_a_short_file(tmp_path: Path) -> None:
    """Nothing in HTTP tells; the content does (test_downloading.py)."""
    with serving({"/file": Served(CONTENT, promises=200_000)}) as (address, _):
        fetch(f"{address}/file", tmp_path / "file", lambda done, total: None, IMPATIENT)
    assert (tmp_path / "file").read_bytes() == CONTENT[:200_000]


def test_a_server_that_does_not_say_the_size(tmp_path: Path) -> None:
    told = get(Served(CONTENT, sends_length=False), tmp_path / "file")
    assert told[-1] == (len(CONTENT), None)


def test_a_server_that_is_silent_is_asked_again(tmp_path: Path) -> None:
    served = Served(CONTENT, silent_for=1.0)
    with serving({"/file": served}) as (address, asked):

        def recover(done: int, total: int | None) -> None:
            served.silent_for = 1.0 if len(asked) < 2 else 0.0

        fetch(f"{address}/file", tmp_path / "file", recover, IMPATIENT)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert asked[1].range == "bytes=65536-"


def test_a_server_that_stays_silent_is_given_up(tmp_path: Path) -> None:
    with (
        serving({"/file": Served(b"x" * 70_000, silent_for=5.0, ranges=False)}) as (address, _),
        pytest.raises(DownloadError, match="is silent for 0 seconds"),
    ):
        fetch(f"{address}/file", tmp_path / "file", lambda done, total: None, Patience(0.3, 2, 0.01))


@pytest.mark.parametrize(("status", "asks"), [(403, 1), (404, 1), (410, 1), (500, 3), (503, 3)])
def test_refusals(tmp_path: Path, status: int, asks: int) -> None:
    """What may pass is asked for again; what will not is not."""
    with (
        serving({"/file": Served(CONTENT, status=status)}) as (address, asked),
        pytest.raises(DownloadError, match=rf"127\.0\.0\.1:\d+ answers {status} \("),
    ):
        fetch(f"{address}/file", tmp_path / "file", lambda done, total: None, IMPATIENT)
    assert len(asked) == asks
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_recovers(tmp_path: Path) -> None:
    get(Served(CONTENT, failures=2), tmp_path / "file")


def test_redirects_are_followed(tmp_path: Path) -> None:
    files = {"/file": Served(redirect="/there"), "/there": Served(redirect="/last"), "/last": Served(CONTENT)}
    with serving(files) as (address, asked):
        fetch(f"{address}/file", tmp_path / "file", lambda done, total: None, IMPATIENT)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert [one.path for one in asked] == ["/file", "/there", "/last"]


@pytest.mark.parametrize("there", ["file:///etc/passwd", "ftp://127.0.0.1/x"])
def test_redirects_to_other_kinds_of_addresses_are_not(tmp_path: Path, there: str) -> None:
    with (
        serving({"/file": Served(redirect=there)}) as (address, _),
        pytest.raises(DownloadError, match=r"not (safe to follow|allowed)"),
    ):
        fetch(f"{address}/file", tmp_path / "file", lambda done, total: None, IMPATIENT)


def test_from_an_encrypted_address_no_redirect_leads_to_a_plain_one() -> None:
    handler = fetching._SafeRedirects()
    request = fetching.urllib.request.Request("https://example.org/file")
    with pytest.raises(DownloadError, match=r"example\.org sends on to 'http://example\.org/file'"):
        handler.redirect_request(request, None, 302, "Found", {}, "http://example.org/file")


def test_a_circle_of_redirects_ends(tmp_path: Path) -> None:
    with (
        serving({"/file": Served(redirect="/file")}) as (address, _),
        pytest.raises(DownloadError, match="answers 302"),
    ):
        fetch(f"{address}/file", tmp_path / "file", lambda done, total: None, IMPATIENT)


def test_nobody_there(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"127\.0\.0\.1:9 cannot be reached \(connection refused\)"):
        fetch("http://127.0.0.1:9/file", tmp_path / "file", lambda done, total: None, IMPATIENT)


def test_no_room(tmp_path: Path) -> None:
    with (
        serving({"/file": Served(b"x", promises=1 << 60)}) as (address, _),
        pytest.raises(JobError, match="POLYSEME_HOME"),
    ):
        fetch(f"{address}/file", tmp_path / "file", lambda done, total: None, IMPATIENT)
