"""What mkdocs does besides: links to files outside docs/, and a check that no page asks another server for anything."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

#: "[a file](../src/polyseme/elmo.py)"
_OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./([^)#]+)(#[^)]*)?\)")
#: What a browser fetches by itself; a link that a reader may follow is none.
_ELSEWHERE = r"""["']?(?:https?:)?//"""
_FETCHED = re.compile(
    rf"<(?:script|img|iframe|source)[^>]*\ssrc={_ELSEWHERE}"
    rf"|<link[^>]*rel=[\"']?(?:stylesheet|preload|preconnect|icon)[^>]*href={_ELSEWHERE}"
)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Files of the repository: links where its address is known (as in a GitHub workflow), else plain text."""
    repository = os.environ.get("GITHUB_REPOSITORY")
    if repository is None:
        return _OUTSIDE.sub(r"\1", markdown)
    server = os.environ.get("GITHUB_SERVER_URL", "https://github.com")
    return _OUTSIDE.sub(rf"[\1]({server}/{repository}/blob/main/\2\3)", markdown)


def on_post_build(config: Any, **_: Any) -> None:
    """No font, script, style or picture from elsewhere."""
    for page in sorted(Path(config["site_dir"]).rglob("*.html")):
        if found := _FETCHED.search(page.read_text(encoding="utf-8")):
            raise SystemExit(f"{page} would fetch something from another server: {found[0]}")
