"""What a publisher has: archives, and a file that lists releases."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path


def list_releases(home: Path, *releases: Mapping[str, object]) -> None:
    """Write the user's own file of releases."""
    lines: list[str] = []
    for release in releases:
        plain = {key: value for key, value in release.items() if key not in ("sources", "checksums")}
        lines += ["[[release]]", *_lines(plain)]
        if checksums := release.get("checksums"):
            assert isinstance(checksums, dict)
            lines.append(f"checksums = {{ {', '.join(_lines(checksums))} }}")
        sources = release.get("sources", [])
        assert isinstance(sources, list)
        for source in sources:
            lines += ["[[release.sources]]", *_lines(source)]
    (home / "releases.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _lines(values: Mapping[str, object]) -> list[str]:
    return [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in values.items()]


def zipped(files: Mapping[str, bytes], folder: str = "") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(folder + name, content)
    return buffer.getvalue()


def tarred(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
