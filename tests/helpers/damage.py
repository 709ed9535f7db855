"""What disks and people do to files."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from polyseme.jobs.manifests import read_values, write_manifest


def flip_bit(path: Path, seed: int = 0, *, before: int = 0) -> None:
    """One bit of a file, anywhere; not in its last ``before`` bytes."""
    content, chance = bytearray(path.read_bytes()), random.Random(seed)
    content[chance.randrange(len(content) - before)] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def rewrite(path: Path, **values: Any) -> None:
    """A manifest with other values, and a checksum that fits them."""
    write_manifest(path, {**read_values(path), **values})


def forget_digests(folder: Path) -> None:
    """A native model as it was before there were digests: what is wrong with it must be seen in other ways."""
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    kept = {name: value for name, value in config.items() if name not in ("digests", "checksum")}
    path.write_text(json.dumps(kept), encoding="utf-8")
