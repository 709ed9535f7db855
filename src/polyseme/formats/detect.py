"""Detect what a name, a path, an address or a hub id is, and ``load`` it; files are recognised by their content.

One table lists the known formats. Each row has a loader, and a test that looks only at names and first bytes. Other
packages may add rows after ours, so a package cannot take over what polyseme reads itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from polyseme.errors import FormatError, PluginError, PolysemeError, reason_of
from polyseme.formats.allennlp import is_allennlp, load_allennlp
from polyseme.formats.archives import extracted, is_archive
from polyseme.formats.arrays import Floats
from polyseme.formats.foreign import refuse_foreign
from polyseme.formats.manylangs import is_manylangs, load_manylangs
from polyseme.formats.model import StoredModel, reloadable
from polyseme.formats.named import local_file, locate
from polyseme.formats.native import is_native, load_native
from polyseme.formats.pairs import has_pair, load_files, load_pair, with_words
from polyseme.formats.releases.known import BUNDLED, MODELS, find_release
from polyseme.formats.tf_checkpoint import is_checkpoint, load_checkpoint
from polyseme.plugins import Group, added, broken, load_added

DEEPEST = 4  # a folder in an archive in a folder, plus one


_GROUP: Group = "polyseme.formats"


@dataclass(frozen=True, slots=True)
class Format:
    """``test`` looks only at names and first bytes. ``load`` raises a FormatError without the path."""

    title: str  #: "a native folder (config.json, model.safetensors)"
    test: Callable[[Path], bool]
    load: Callable[[Path], StoredModel]


FORMATS = (
    Format("a native folder (config.json, model.safetensors)", is_native, load_native),
    Format("an ELMoForManyLangs folder (encoder.pkl)", is_manylangs, load_manylangs),
    Format("a TensorFlow checkpoint (*.index)", is_checkpoint, load_checkpoint),
    Format("options.json with HDF5 weights", has_pair, load_pair),
    Format("an AllenNLP archive or state dict (weights.th)", is_allennlp, load_allennlp),
)


def load(source: str | Path, *, options: str | Path | None = None) -> StoredModel:
    """The model that ``source`` names: a bundled model, a path, a release, an address or a hub id.

    ``options`` is the path or address of the options file of HDF5 weights, if it is not beside them.
    """
    model = _load(source, options)
    return replace(model, tensors=reloadable(model.tensors, partial(_load_tensors, source, options)))


def _load_tensors(source: str | Path, options: str | Path | None) -> Mapping[str, Floats]:
    return _load(source, options).tensors


def _load(source: str | Path, options: str | Path | None) -> StoredModel:
    if options is not None:
        return _load_pair(str(source), str(options))
    if isinstance(source, str) and source in BUNDLED:
        return _load_bundled(source)
    path = Path(source).expanduser()
    if _is_there(path):
        return _with_context(str(source), path)
    found = locate(str(source), load_path)
    model = _with_context(str(source), found.path)
    return replace(model, card={**model.card, **found.card})


def load_path(path: Path, depth: int = 0) -> StoredModel:
    """Read the model at ``path``; the caller adds the path to errors."""
    if is_archive(path) and depth < DEEPEST:
        with extracted(path) as folder:
            return load_path(folder, depth + 1)
    if (known := _recognise(path)) is not None:
        return known.load(path)
    if path.is_dir() and depth < DEEPEST and (inner := _only_model_inside(path)):
        return load_path(inner, depth + 1)
    others, wrong = added_formats()
    raise FormatError(
        f"this is not a model that polyseme knows: found {_contents(path)}, "
        f"looked for {', '.join(known.title for known in (*FORMATS, *others))}"
        f"{''.join(f'; {error}' for error in wrong)}"
    )


def _recognise(path: Path) -> Format | None:
    """The row of the table for ``path``; a file known not to be ELMo may still have another package's format."""
    try:
        refuse_foreign(path)
    except FormatError:
        if (known := _recognise_added(path)) is not None:
            return known
        raise
    return next((known for known in FORMATS if known.test(path)), None) or _recognise_added(path)


def _recognise_added(path: Path) -> Format | None:
    return next((known for known in added_formats()[0] if known.test(path)), None)


def _with_context(shown: str, path: Path, read: Callable[[Path], StoredModel] | None = None) -> StoredModel:
    try:
        model = (read or load_path)(path)
    except PolysemeError as error:
        raise FormatError(f"{shown}: {error}") from None
    except OSError as error:
        raise FormatError(f"{shown} cannot be read: {reason_of(error)}") from None
    return model if model.card.get("name") else replace(model, card={"name": _name(path), **model.card})


def _load_bundled(language: str) -> StoredModel:
    folder = MODELS / language
    if not folder.is_dir():
        raise FormatError(f"the model {language!r} is missing in this installation; give a path or a hub id instead")
    return _with_context(language, folder, load_native)


def _load_pair(weights: str, options: str) -> StoredModel:
    """Weights and options that were given separately, each by its path or address."""
    files = local_file(options), local_file(weights)
    try:
        pair = with_words(*files, asked_for=files[1])
        model = load_files(pair)
    except PolysemeError as error:
        raise FormatError(f"{weights} with {options}: {error}") from None
    release = find_release(weights)
    return replace(model, card={**model.card, **(release.card() if release else {"name": pair.weights.stem})})


def _is_there(path: Path) -> bool:
    try:
        return path.name != "" and (path.exists() or is_checkpoint(path))
    except (OSError, ValueError):  # a name that is too long, or contains a null character
        return False


def _only_model_inside(path: Path) -> Path | None:
    """The only folder or archive inside a folder that is not a model itself."""
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


def added_formats() -> tuple[list[Format], list[PluginError]]:
    """The formats that installed packages add, and the errors of those that cannot be used."""
    found, wrong = list[Format](), list[PluginError]()
    for name in sorted(added(_GROUP)):
        try:
            found.append(_load_added(name))
        except PluginError as error:
            wrong.append(error)
    return found, wrong


def _load_added(name: str) -> Format:
    known = load_added(_GROUP, name)
    if not isinstance(known, Format):
        raise broken(_GROUP, name, f"it is of type {type(known).__name__}, not a Format")
    return known
