"""Plain addresses in place of names: what the files at them are called, and which belong together."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from polyseme.formats.releases.known import SCHEMES, Release


def is_url(text: str) -> bool:
    return text.partition("://")[0].lower() in SCHEMES and bool(urlsplit(text).netloc)


def url_release(url: str) -> Release:
    """A plain address as a release; AllenNLP's …_weights.hdf5 has its …_options.json beside it."""
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
    """What the file at an address is called here."""
    name = re.sub(r"[^\w.-]", "-", unquote(urlsplit(url).path).rstrip("/").rpartition("/")[2])
    return name.lstrip(".") or "model"
