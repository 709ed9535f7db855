"""A small corpus of names, for tests of what all tasks stand on."""

from __future__ import annotations

from pathlib import Path


def write_names(folder: Path) -> Path:
    """train.txt and dev.txt: words and tags; what is a name can be told from its spelling."""
    folder.mkdir()
    people, places, verbs = ("Ada", "Bob", "Eve", "Ida"), ("Ulm", "Oslo", "Lima", "Rome"), ("likes", "left", "saw")
    for split, step in (("train", 1), ("dev", 3)):
        lines = []
        for i, person in enumerate(people):
            for j, place in enumerate(places):
                rows = [(person, "B-PER"), (verbs[(i + step * j) % 3], "O"), ("new", "O"), (place, "B-LOC"), (".", "O")]
                lines.append("".join(f"{word}\t{tag}\n" for word, tag in rows[: None if (i + j) % 2 else 4]))
        (folder / f"{split}.txt").write_text("\n".join(lines), encoding="utf-8")
    return folder
