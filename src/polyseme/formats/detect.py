"""What a path, an archive or a hub id is, by its content; ``load`` reads it.

One table says what is known. Each row has a test that looks at names and first bytes only, and a loader.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from polyseme.errors import FormatError, PolysemeError
from polyseme.formats.allennlp import is_allennlp, load_allennlp
from polyseme.formats.archives import extracted, is_archive
from polyseme.formats.foreign import refuse_foreign
from polyseme.formats.manylangs import is_manylangs, load_manylangs
from polyseme.formats.model import StoredModel
from polyseme.formats.native import is_native, load_native
from polyseme.formats.pairs import has_pair, load_pair
from polyseme.formats.tf_checkpoint import is_checkpoint, load_checkpoint

BUNDLED = ("en", "ko", "zh")
DEEPEST = 4  # a folder in an archive in a folder, and one to spare


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of model on disk."""

    title: str
    test: Callable[[Path], bool]
    load: Callable[[Path], StoredModel]


FORMATS = (
    Format("a native folder (config.json, model.safetensors)", is_native, load_native),
    Format("an ELMoForManyLangs folder (encoder.pkl)", is_manylangs, load_manylangs),
    Format("a TensorFlow checkpoint (*.index)", is_checkpoint, load_checkpoint),
    Format("options.json with HDF5 weights", has_pair, load_pair),
    Format("an AllenNLP archive or state dict (weights.th)", is_allennlp, load_allennlp),
)


def load(source: str | Path) -> StoredModel:
    """The model that ``source`` names: a bundled model, a file, a folder, an archive or a hub id."""
    if isinstance(source, str) and source in BUNDLED:
        return _load_bundled(source)
    path = Path(source).expanduser()
    if _is_there(path):
        return _with_context(str(source), path)
    return _load_from_hub(str(source))


def load_path(path: Path, depth: int = 0) -> StoredModel:
    """Read what lies at ``path``; errors do not say where, the caller does."""
    if is_archive(path) and depth < DEEPEST:
        with extracted(path) as folder:
            return load_path(folder, depth + 1)
    refuse_foreign(path)
    for known in FORMATS:
        if known.test(path):
            return known.load(path)
    if path.is_dir() and depth < DEEPEST and (inner := _only_model_inside(path)):
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


def bundled_models() -> dict[str, Path]:
    """The models that came with the package, by their names."""
    folder = Path(str(resources.files("polyseme"))) / "models"
    return {name: folder / name for name in BUNDLED if (folder / name).is_dir()}


def _load_bundled(language: str) -> StoredModel:
    if language not in (bundled := bundled_models()):
        raise FormatError(f"the model {language!r} is missing in this installation; give a path or a hub id instead")
    return _with_context(language, bundled[language])


def _load_from_hub(source: str) -> StoredModel:
    from polyseme.formats.hub import download, is_hub_id  # the hub's package takes long to import

    if not is_hub_id(source):
        raise FormatError(
            f"there is no file or folder {source!r}; give a path, a hub id such as owner/name, "
            f"or a bundled model ({', '.join(BUNDLED)})"
        )
    try:
        folder = download(source)
    except FormatError as error:
        raise FormatError(f"there is no file or folder {source!r}, so it was taken for a hub id: {error}") from None
    return _with_context(source, folder)


def _is_there(path: Path) -> bool:
    try:
        return path.name != "" and (path.exists() or is_checkpoint(path))
    except (OSError, ValueError):  # a name that is too long, or holds a null character
        return False


def _only_model_inside(path: Path) -> Path | None:
    """The one folder or archive in a folder that is itself no model."""
    inside = [item for item in path.iterdir() if not item.name.startswith((".", "__MACOSX"))]
    if len(inside) == 1 and inside[0].is_dir():
        return inside[0]
    archives = [item for item in inside if is_archive(item)]
    return archives[0] if len(archives) == 1 else None


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
