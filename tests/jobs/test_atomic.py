"""Files and folders are whole or not there; one process writes them at a time; each system has a place for caches."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from polyseme.errors import JobError
from polyseme.jobs.atomic import exclusive, folder_when_complete, home_folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_folder_appears_when_the_block_ends(tmp_path: Path) -> None:
    with folder_when_complete(tmp_path / "new" / "a") as folder:
        (folder / "file").write_text("x")
        assert not (tmp_path / "new" / "a").exists()
    assert names(tmp_path / "new") == ["a"]
    assert names(tmp_path / "new" / "a") == ["file"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_in_the_block_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), folder_when_complete(tmp_path / "a") as folder:
        (folder / "file").write_text("x")
        raise error
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    "number, sentence", [(errno.ENOSPC, "no space left for"), (errno.EIO, "a cannot be written: input/output error")]
)
def test_an_error_of_the_disk_is_a_sentence(tmp_path: Path, number: int, sentence: str) -> None:
    with pytest.raises(JobError, match=sentence), folder_when_complete(tmp_path / "a"):
        raise OSError(number, os.strerror(number))
    assert names(tmp_path) == []


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / "a.partial").mkdir()
    (tmp_path / "a.partial" / "old").write_text("x")
    (tmp_path / "a.partial.lock").touch()
    with folder_when_complete(tmp_path / "a") as folder:
        assert names(folder) == []
    assert names(tmp_path) == ["a"]


def test_a_folder_gives_way_to_a_new_one_also_after_a_kill_and_nothing_else_does(tmp_path: Path) -> None:
    for left in ("a", "a.old", "a.partial.old"):
        (tmp_path / left).mkdir()
        (tmp_path / left / "earlier").write_text("x")
    with folder_when_complete(tmp_path / "a", replace=True) as folder:
        (folder / "new").write_text("x")
    assert names(tmp_path) == ["a", "a.old"], "a user's own copy stays"
    assert names(tmp_path / "a") == ["new"]


def test_a_folder_that_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="a cannot be written"), folder_when_complete(tmp_path / "a"):
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "theirs").write_text("x")
    assert names(tmp_path) == ["a"]
    assert names(tmp_path / "a") == ["theirs"]


def test_a_file_of_that_name_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    with pytest.raises(JobError, match="already exists"), folder_when_complete(tmp_path / "a"):
        pass
    assert (tmp_path / "a").read_text() == "x"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(JobError, match="a cannot be written: permission denied"), folder_when_complete(tmp_path / "a"):
        pass
    tmp_path.chmod(stat.S_IRWXU)


def test_a_lock_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with exclusive(lock, "busy"):
        with pytest.raises(JobError, match="busy"), exclusive(lock, "busy"):
            pass
        assert lock.exists()
    with exclusive(lock, "busy"):
        pass
    assert not lock.exists()


def test_a_lock_of_a_dead_process_is_free(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from polyseme.jobs.atomic import exclusive\n"
        "with exclusive(Path(sys.argv[1]), 'busy'): os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path / "lock"], check=True)
    assert (tmp_path / "lock").exists()
    with exclusive(tmp_path / "lock", "busy"):
        pass


def test_it_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYSEME_HOME", str(tmp_path))
    assert home_folder() == tmp_path
    monkeypatch.setenv("POLYSEME_HOME", "~/models")
    assert home_folder() == Path.home() / "models"


@pytest.mark.parametrize(
    ("platform", "settings", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/caches"}, "/caches/polyseme"),
        ("linux", {"XDG_CACHE_HOME": ""}, "~/.cache/polyseme"),
        ("darwin", {}, "~/Library/Caches/polyseme"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/polyseme/cache"),
    ],
)
def test_each_system_has_its_folder_for_caches(
    platform: str, settings: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.delenv("POLYSEME_HOME", raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert home_folder() == Path(expected).expanduser()
