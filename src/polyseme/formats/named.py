"""The name of a release, an address or a hub id → its files on this disk, downloaded once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from polyseme.errors import FormatError
from polyseme.formats.releases.checksums import check_published
from polyseme.formats.releases.downloading import Check, pull
from polyseme.formats.releases.known import (
    Release,
    file_name,
    file_release,
    find_file,
    find_release,
    is_url,
    known_releases,
    url_release,
)
from polyseme.formats.releases.store import verify


@dataclass(frozen=True, slots=True)
class Located:
    """A model on this disk, and what is known about it from its name."""

    path: Path
    card: Mapping[str, Any] = field(default_factory=dict)


def locate(name: str, check: Check, *, again: bool = False) -> Located:
    """The files of a release, an address or a hub id; ``check`` must accept new ones.

    A name in the table of releases is never taken for a hub id. ``again`` downloads the files even if they are here.
    """
    release = find_release(name)
    if release is None and not is_url(name):
        return Located(_from_hub(name))
    release = release or url_release(name)
    card = {} if is_url(release.name) else release.card()
    if release.hub:
        return Located(_checked_hub_folder(release), card)
    download = pull(release, check, again=again)
    verify(download)
    return Located(download.model, card)


def local_file(name: str) -> Path:
    """A file by its path or its address."""
    if not is_url(name):
        path = Path(name).expanduser()
        if not path.is_file():
            raise FormatError(f"there is no file {name!r}; give the path or the address of a file")
        return path
    known = find_file(name)
    release, file = known or (file_release(name), file_name(name))
    download = pull(release, _any_file)
    verify(download)
    return download.model / file


def _any_file(folder: Path) -> None:
    """Accepts any single file: it can only be checked when it is read together with others."""


def _from_hub(name: str) -> Path:
    from polyseme.formats.hub import download, is_hub_id  # the hub's package takes long to import

    if not is_hub_id(name):
        near = ", ".join(get_close_matches(name, [release.name for release in known_releases()], n=3))
        raise FormatError(
            f"there is no file or folder {name!r}, and no release of that name; give a path, an address, a hub id such "
            f"as owner/name, or a name that `polyseme models` lists{f' (perhaps {near})' if near else ''}"
        )
    try:
        return download(name)
    except FormatError as error:
        raise FormatError(f"there is no file or folder {name!r}, so it was taken for a hub id: {error}") from None


def _checked_hub_folder(release: Release) -> Path:
    from polyseme.formats.hub import download

    folder = download(release.hub)
    for name, checksum in release.checksums.items():
        check_published(folder / name, checksum)
    return folder
