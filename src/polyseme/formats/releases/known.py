"""The models known by name: those bundled with the package, and releases that can be downloaded.

Releases are listed in releases.toml in the user's folder, which takes precedence, and in known.toml. A plain address
is also a release.

[[release]]
name = "our-elmo"                               # any key of ``Release``
languages = ["is"]
state = "warm"
[[release.sources]]                             # a source with all files; if it fails, the next is tried
"options.json" = "https://…/options.json"       # name here = address there
"weights.hdf5" = "https://…/weights.hdf5"
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from polyseme.errors import FormatError
from polyseme.jobs.atomic import home_folder

BUNDLED = ("en", "ko", "zh")  #: included in the package
MODELS = Path(str(resources.files("polyseme"))) / "models"

OWN = "releases.toml"
SCHEMES = ("http", "https")
CHECKSUMS = {"sha256": 64, "sha1": 40, "md5": 32}  #: hex digits of each kind
#: Settings that the model needs to work correctly; they become part of its card.
SETTINGS = ("languages", "licence", "trained_on", "words", "tokenization", "state", "mix", "warm_text")

Source = Mapping[str, str]  #: name of a file → its address
_IN_TOML: dict[str, type | tuple[type, ...]] = {
    "str": str,
    "bool": bool,
    "float | None": (int, float),
    "Mapping[str, str]": dict,
}  #: any other type is a list


@dataclass(frozen=True, slots=True)
class Release:
    """A published model. Fields that are not stated are empty."""

    name: str
    title: str = ""
    aliases: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    container: str = ""
    megabytes: float | None = None  #: approximate
    licence: str = ""
    trained_on: str = ""
    words: str = ""  #: what kind of tokens it has
    tokenization: str = ""  #: how text is split for it, if not by the rules of its language
    state: str = ""
    mix: str = ""
    warm_text: str = ""  #: what it reads before a sentence that starts warm, if plain prose is not suitable
    notes: str = ""  #: what is known about its addresses
    dead: bool = False  #: unreachable for years
    refused: str = ""  #: why it cannot be used
    by_hand: str = ""  #: a page from which files can only be downloaded by hand
    hub: str = ""  #: its repository on the hub, if any
    checksums: Mapping[str, str] = field(default_factory=dict)  #: file → "sha1:…", as published
    seen_in: str = ""
    sources: tuple[Source, ...] = ()

    @property
    def hosts(self) -> list[str]:
        """The hosts of its sources, in the order in which they are tried."""
        if self.hub or self.by_hand:
            return ["huggingface.co" if self.hub else urlsplit(self.by_hand).netloc]
        return list(dict.fromkeys(urlsplit(url).netloc for source in self.sources for url in source.values()))

    def card(self) -> dict[str, Any]:
        """The fields that the model's card takes from the release."""
        told = {name: getattr(self, name) for name in SETTINGS}
        told["languages"] = list(self.languages)
        return {"name": self.name, "description": self.title, **{name: value for name, value in told.items() if value}}


def bundled_models() -> dict[str, Path]:
    """The bundled models, by name."""
    return {name: MODELS / name for name in BUNDLED if (MODELS / name).is_dir()}


def find_release(name: str) -> Release | None:
    """Find a release by name, alias, or address of its weights or options, ignoring case."""
    return _by_name(_own_file()).get(name.casefold().rstrip("/"))


def find_file(url: str) -> tuple[Release, str] | None:
    """The release that has a file at this address, and the file's name in it."""
    release = find_release(url)
    for source in release.sources if release else ():
        for name, there in source.items():
            if _without_scheme(there) == _without_scheme(url):
                assert release is not None
                return release, name
    return None


def known_releases() -> tuple[Release, ...]:
    """All releases, the user's own first."""
    return _all_releases(_own_file())


@cache
def _all_releases(own: tuple[Path, int] | None) -> tuple[Release, ...]:
    mine = read_releases(own[0]) if own else ()
    names = {release.name for release in mine}
    shipped = read_releases(Path(__file__).with_name("known.toml"))
    return (*mine, *(release for release in shipped if release.name not in names))


@cache
def _by_name(own: tuple[Path, int] | None) -> dict[str, Release]:
    found: dict[str, Release] = {}
    releases = _all_releases(own)
    for names in (_names, _aliases, _addresses):  # a name takes precedence over an alias, in any order
        for release in releases:
            for name in names(release):
                found.setdefault(name.casefold().rstrip("/"), release)
    return found


def _names(release: Release) -> Iterator[str]:
    yield release.name


def _aliases(release: Release) -> Iterator[str]:
    yield from release.aliases


def _addresses(release: Release) -> Iterator[str]:
    for source in release.sources:
        for name, url in source.items():
            if name != "vocab.txt":  # several models share one
                yield from (f"{scheme}://{_without_scheme(url)}" for scheme in SCHEMES)


def _without_scheme(url: str) -> str:
    return url.partition("://")[2]


def _own_file() -> tuple[Path, int] | None:
    """The user's file and its modification time, so that changes are noticed."""
    path = home_folder() / OWN
    return (path, path.stat().st_mtime_ns) if path.is_file() else None


def read_releases(path: Path) -> tuple[Release, ...]:
    """The releases that a file lists."""
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FormatError(f"{path} is not valid TOML: {error}") from None
    families = told.get("family", {})
    rows = told.get("release", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise FormatError(f"{path}: a release should begin with [[release]]")
    return tuple(_release({**families.get(row.get("family"), {}), **row}, path) for row in rows)


def _release(row: dict[str, Any], path: Path) -> Release:
    row.pop("family", None)
    where = f"{path}, release {row.get('name')!r}"
    kinds = {one.name: _IN_TOML.get(str(one.type), list) for one in fields(Release)}
    for key, value in row.items():
        if key not in kinds:
            raise FormatError(f"{where}: {key!r} is unknown; there are: {', '.join(kinds)}")
        if not isinstance(value, kinds[key]):
            raise FormatError(f"{where}: {key} is {value!r}, which has the wrong type")
    if not row.get("name"):
        raise FormatError(f"{path}: a release has no name")
    _check_sources(row.get("sources", []), where)
    _check_checksums(row.get("checksums", {}), where)
    lists = {key: tuple(value) for key, value in row.items() if isinstance(value, list)}
    return Release(**{**row, **lists})


def _check_sources(sources: list[Any], where: str) -> None:
    for source in sources:
        if not isinstance(source, dict) or not source:
            raise FormatError(f"{where}: a source should be names of files and their addresses")
        for name, url in source.items():
            if not isinstance(url, str) or urlsplit(url).scheme not in SCHEMES:
                raise FormatError(f"{where}: {url!r} is not an address of the form http://… or https://…")
            if "/" in name or "\\" in name or name in ("", ".", ".."):
                raise FormatError(f"{where}: {name!r} is not a file name")


def _check_checksums(checksums: dict[str, Any], where: str) -> None:
    for name, text in checksums.items():
        kind, _, digits = str(text).partition(":")
        if len(digits) != CHECKSUMS.get(kind) or not set(digits) <= set("0123456789abcdef"):
            raise FormatError(f"{where}: the checksum of {name} is {text!r}, but should be sha256:…, sha1:… or md5:…")


def is_url(text: str) -> bool:
    return text.partition("://")[0].lower() in SCHEMES and bool(urlsplit(text).netloc)


def url_release(url: str) -> Release:
    """A plain address as a release; beside AllenNLP's …_weights.hdf5 there is an …_options.json."""
    name = file_name(url)
    files = {name: url}
    path = urlsplit(url).path
    if path.endswith("weights.hdf5"):
        options = urlsplit(url)._replace(path=path.removesuffix("weights.hdf5") + "options.json").geturl()
        files = {file_name(options): options, **files}
    return Release(name=url, sources=(files,))


def file_release(url: str) -> Release:
    """One file at a plain address."""
    return Release(name=url, sources=({file_name(url): url},))


def file_name(url: str) -> str:
    """The local name of the file at an address."""
    name = re.sub(r"[^\w.-]", "-", unquote(urlsplit(url).path).rstrip("/").rpartition("/")[2])
    return name.lstrip(".") or "model"
