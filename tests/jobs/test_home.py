"""Where polyseme keeps what it can get again, on each system."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from polyseme.jobs.home import home_folder


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
