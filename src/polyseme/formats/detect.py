"""What a path, an archive or a hub id is, by its content; ``load`` reads it.

One table says what is known. Each row has a test that looks at names and first bytes only, and a loader.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from polyseme.errors import FormatError, PolysemeError
from polyseme.formats.archives import extracted, is_archive
from polyseme.formats.model import StoredModel
from polyseme.formats.native import CONFIG, WEIGHTS, load_native
from polyseme.formats.pairs import has_pair, load_pair

BUNDLED = ("en", "ko", "zh")
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+(@[\w./-]+)?")
DEEPEST = 3  # folders with one folder inside, as archives like to have


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of model on disk."""

    title: str
    test: Callable[[Path], bool]
    load: Callable[[Path], StoredModel]


def _is_native(path: Path) -> bool:
    return path.is_dir() and (path / CONFIG).is_file() and (path / WEIGHTS).is_file()


FORMATS = (
    Format("a native folder (config.json, model.safetensors)", _is_native, load_native),
    Format("options.json with HDF5 weights", has_pair, load_pair),
)


def load(source: str | Path) -> StoredModel:
    """The model that ``source`` names: a bundled model, a file, a folder, an archive or a hub id."""
    if isinstance(source, str) and source in BUNDLED:
        return _load_bundled(source)
    path = Path(source).expanduser()
    if path.exists():
        return _with_context(str(source), path)
    raise FormatError(
        f"there is no file or folder {str(source)!r}; give a path, a hub id such as owner/name, "
        f"or a bundled model ({', '.join(BUNDLED)})"
    )


def load_path(path: Path, depth: int = 0) -> StoredModel:
    """Read what lies at ``path``; errors do not say where, the caller does."""
    if is_archive(path):
        with extracted(path) as folder:
            return load_path(folder)
    for known in FORMATS:
        if known.test(path):
            return known.load(path)
    if path.is_dir() and depth < DEEPEST and (inner := _only_folder(path)):
        return load_path(inner, depth + 1)
    raise FormatError(
        f"this is no model that polyseme knows: found {_contents(path)}, "
        f"looked for {', '.join(known.title for known in FORMATS)}"
    )


def _with_context(shown: str, path: Path) -> StoredModel:
    try:
        model = load_path(path)
    except PolysemeError as error:
        raise FormatError(f"{shown}: {error}") from None
    except OSError as error:
        raise FormatError(f"{shown} cannot be read: {(error.strerror or str(error)).lower()}") from None
    return model if model.card.get("name") else replace(model, card={"name": _name(path), **model.card})


def _load_bundled(language: str) -> StoredModel:
    folder = Path(str(resources.files("polyseme"))) / "models" / language
    if not folder.is_dir():
        raise FormatError(f"the model {language!r} is not bundled yet; give a path or a hub id instead")
    return _with_context(language, folder)


def _only_folder(path: Path) -> Path | None:
    inside = [item for item in path.iterdir() if not item.name.startswith((".", "__MACOSX"))]
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else None


def _contents(path: Path) -> str:
    if path.is_file():
        with path.open("rb") as file:
            return f"a file that begins with {file.read(8)!r}" if path.stat().st_size else "an empty file"
    names = sorted(item.name for item in path.iterdir())
    return f"a folder with {', '.join(names[:5])}{', …' if len(names) > 5 else ''}" if names else "an empty folder"


def _name(path: Path) -> str:
    name = path.resolve().name
    for suffix in (".zip", ".tar.gz", ".tgz"):
        name = name.removesuffix(suffix)
    return name
