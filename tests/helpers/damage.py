"""What disks and people do to files."""

from __future__ import annotations

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
