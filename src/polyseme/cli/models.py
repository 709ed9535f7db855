"""polyseme models: which models there are, on this machine and elsewhere."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from polyseme.cli.printing import on_terminal, print_json, print_tsv

#: Columns that a narrow terminal does without, the container first, and the least that is shown of a title.
MAKE_WAY, LEAST_TITLE = (4, 3), 20


@dataclass(frozen=True, slots=True)
class _Row:
    """A model that can be named."""

    name: str
    here: str  #: "bundled", "downloaded", "known", "by hand", "dead" or "refused"
    languages: tuple[str, ...]
    size: int | None  #: bytes, where known
    licence: str
    container: str
    host: str
    title: str
    told: dict[str, Any]  #: all that is known, for programs

    def has(self, word: str) -> bool:
        names = " ".join([self.name, self.title, *self.languages, *self.told.get("aliases", ())])
        return re.search(rf"(?<![^\W_]){re.escape(word)}", names, re.IGNORECASE) is not None


def models(
    word: Annotated[
        str | None, typer.Argument(help="Only models with this in their name, title or language.", metavar="WORD")
    ] = None,
    remove: Annotated[
        str | None, typer.Option(help="Delete the files of a downloaded model.", metavar="NAME", show_default=False)
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print everything known about each model as a JSON list.")
    ] = False,
) -> None:
    """List all models known by name: bundled, downloaded, and every released ELMo.

    A model is downloaded when its name is first used, or with polyseme pull. Models are kept in $POLYSEME_HOME.

    Examples:

      polyseme models german

      polyseme models nlpl --json
    """
    from polyseme.errors import InputError

    if remove is not None:
        _remove(remove)
        return
    rows = [row for row in _all_rows() if word is None or row.has(word)]
    if as_json:
        print_json([_for_programs(row) for row in rows], indent=2)
    elif not rows:
        raise InputError(f"no model has {word!r} in its name, title or language; see them all with: polyseme models")
    elif on_terminal():
        _print_table(rows)
    else:
        head = ("name", "here", "languages", "bytes", "licence", "container", "host", "title")
        cells = [(row.name, row.here, " ".join(row.languages), row.size, row.licence) for row in rows]
        rest = [(row.container, row.host, row.title) for row in rows]
        print_tsv(head, [(*one, *two) for one, two in zip(cells, rest, strict=True)])


def _all_rows() -> list[_Row]:
    from polyseme.formats.releases.known import known_releases
    from polyseme.formats.releases.store import downloads, find_download

    here = list(downloads())
    rows = _bundled_rows()
    known = known_releases()
    for release in known:
        found = find_download(release)
        where = "by hand" if release.by_hand else "dead" if release.dead else "refused" if release.refused else "known"
        about = int(release.megabytes * 1e6) if release.megabytes else None
        told = {name: getattr(release, name) for name in type(release).__dataclass_fields__}
        rows.append(
            _Row(
                name=release.name,
                here="downloaded" if found else where,
                languages=release.languages,
                size=found.size if found else about,
                licence=release.licence,
                container=release.container,
                host=(release.hosts or [""])[0],
                title=release.title,
                told=told | ({"folder": str(found.model)} if found else {}),
            )
        )
    names = {release.name for release in known}
    for download in here:
        if download.name not in names:
            told = {"urls": download.urls, "folder": str(download.model), "date": download.date}
            rows.append(_Row(download.name, "downloaded", (), download.size, "", "", "", "", told))
    return rows


def _bundled_rows() -> list[_Row]:
    rows = []
    for name, folder in _bundled_folders().items():
        card = json.loads((folder / "config.json").read_bytes()).get("card", {})
        size = sum(path.stat().st_size for path in folder.iterdir())
        told = {"aliases": [card.get("name", "")], "folder": str(folder)}
        title = str(card.get("description", "")).partition(":")[0]
        languages, licence = tuple(card.get("languages", ())), str(card.get("licence", ""))
        rows.append(_Row(name, "bundled", languages, size, licence, "native folder", "", title, told))
    return rows


def _bundled_folders() -> dict[str, Path]:
    from polyseme.formats.releases.known import bundled_models

    return bundled_models()


def _for_programs(row: _Row) -> dict[str, Any]:
    told = {"name": row.name, "here": row.here, "languages": list(row.languages), "bytes": row.size}
    told |= {"licence": row.licence or None, "container": row.container, "host": row.host, "title": row.title}
    return told | {key: value for key, value in row.told.items() if key not in told and value not in ("", (), {})}


def _print_table(rows: list[_Row]) -> None:
    """One line for each model, as wide as the terminal; the title comes last, and is cut if there is no room.

    On a narrow terminal, the container and then the licence make way for where the model is and its title.
    """
    from polyseme.formats.releases.reports import shown_size

    lines = [("name", "lang", "size", "licence", "container", "from", "what it is")]
    for row in rows:
        size = shown_size(row.size) if row.size else ""
        licence = row.licence.partition(" (")[0] or "not stated"
        where = ".".join(row.host.split(".")[-2:]) if row.here in ("known", "by hand") else row.here
        lines.append((row.name, " ".join(row.languages), size, licence, row.container, where, row.title))
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    room = shutil.get_terminal_size().columns - 1
    shown = list(range(len(widths)))
    for column in MAKE_WAY:
        if sum(widths[one] + 2 for one in shown[:-1]) + LEAST_TITLE > room:
            shown.remove(column)
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        cells[2] = line[2].rjust(widths[2])  # a number
        text = "  ".join(cells[one] for one in shown).rstrip()
        typer.echo(text if len(text) <= room else text[: room - 1] + "…")


def _remove(name: str) -> None:
    from polyseme.errors import InputError
    from polyseme.formats.releases.known import find_release
    from polyseme.formats.releases.reports import shown_size
    from polyseme.formats.releases.store import downloads, remove

    release = find_release(name)
    wanted = release.name if release else name
    found = [download for download in downloads() if download.name == wanted]
    if not found:
        here = ", ".join(sorted({download.name for download in downloads()})) or "none"
        raise InputError(f"{name} is not among the downloaded models, so nothing was removed; there are: {here}")
    for download in found:
        remove(download)
        typer.echo(f"removed {download.name}, {shown_size(download.size)}", err=True)
