"""The package's metadata hook: links of the README and the project's addresses, as an index page needs them.

A page of the package index shows the README far from its files, so its links and pictures need whole addresses. No file
here holds the repository's address: it is that of the GitHub workflow which builds the release ($GITHUB_REPOSITORY), so
that a fork links to itself. Elsewhere links stay as they are, and addresses that need it are left out.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

#: "[a page](docs/index.md)", "![a picture](docs/senses.png)"; neither "https://…" nor "#anchor"
LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!https?:|#)([^)]+)\)")


class AddressesHook(MetadataHookInterface):
    """Called by hatchling for every build."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        text, address = Path(self.root, "README.md").read_text(encoding="utf-8"), repository()
        urls: dict[str, str] = self.config["urls"]
        metadata["readme"] = {"content-type": "text/markdown", "text": with_whole_links(text, address)}
        metadata["urls"] = {
            name: url.format(repository=address) for name, url in urls.items() if address or "{repository}" not in url
        }


def repository() -> str | None:
    """https://github.com/owner/name, in a workflow of GitHub's."""
    name = os.environ.get("GITHUB_REPOSITORY")
    return name and f"{os.environ.get('GITHUB_SERVER_URL', 'https://github.com')}/{name}"


def with_whole_links(text: str, address: str | None) -> str:
    """Relative links of a Markdown text → links into the repository; pictures as they are, not on a page about them."""
    if address is None:
        return text
    return LINK.sub(lambda m: f"{m[1]}{m[2]}({address}/{'raw' if m[1] else 'blob'}/main/{m[3]})", text)
