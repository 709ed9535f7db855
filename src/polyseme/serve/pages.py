"""The files of the explorer page, read once into memory: nothing else can be asked for by a path."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import resources

from starlette.requests import Request
from starlette.responses import Response

KINDS = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
#: Pages under a name of their own.
NAMES = {"index.html": "/", "docs.html": "/docs"}


@dataclass(frozen=True, slots=True)
class PageFile:
    content: bytes
    kind: str
    tag: str

    def answer(self, request: Request) -> Response:
        headers = {"ETag": self.tag, "Cache-Control": "no-cache"}  # always asked for anew, sent only when changed
        if request.headers.get("if-none-match") == self.tag:
            return Response(status_code=304, headers=headers)
        return Response(self.content, 200, headers, self.kind)


def read_pages() -> dict[str, PageFile]:
    """Path → file."""
    found = {}
    for file in resources.files("polyseme.serve").joinpath("page").iterdir():
        kind = KINDS.get(file.name.rpartition(".")[2])
        if kind is not None:
            content = file.read_bytes()
            tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
            found[NAMES.get(file.name, f"/{file.name}")] = PageFile(content, kind, tag)
    return found
