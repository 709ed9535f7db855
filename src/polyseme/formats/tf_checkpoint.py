"""A bilm-tf checkpoint or a TF-Hub module, read without TensorFlow: the model, its softmax and its mix."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from polyseme.errors import FormatError
from polyseme.formats.arrays import ArrayFile
from polyseme.formats.bilm_tf import read_tf_model, read_vocabulary, tf_layout
from polyseme.formats.json_file import Settings
from polyseme.formats.model import MixWeights, StoredModel
from polyseme.formats.options_json import ASSUMED, config_from_shapes, options_from_config
from polyseme.formats.renaming import shapes_by_name
from polyseme.formats.tensor_bundle import open_bundle

TITLE = "TensorFlow checkpoint"
INDEX = ".index"
VOCABULARIES = ("vocab.txt.gz", "vocab.txt")


def is_checkpoint(path: Path) -> bool:
    """Whether it is a checkpoint's folder, index file or prefix, or an unpacked TF-Hub module."""
    return _prefix_of(path) is not None


def load_checkpoint(path: Path) -> StoredModel:
    """Read the newest checkpoint of a folder, or the one named, with options.json and vocab.txt beside it."""
    prefix = _prefix_of(path)
    if prefix is None:
        raise FormatError("no checkpoint was found")
    folder = prefix.parent
    words = next((folder / name for name in VOCABULARIES if (folder / name).is_file()), None)
    vocabulary = read_vocabulary(words) if words else None
    with open_bundle(prefix) as everything:
        file = everything.within(find_scope(everything))
        if (folder / "options.json").is_file():
            return read_tf_model(file, Settings.of(folder / "options.json"), vocabulary, TITLE)
        model = read_tf_model(file, _options_from_shapes(file), vocabulary, TITLE)
        mix = _aggregation(everything, model.config.layers + 1)
        return replace(model, mixes=mix, card={"assumed": list(ASSUMED)})


def find_scope(file: ArrayFile) -> str:
    """The prefix of the biLM's variables: ``lm/`` in a checkpoint, ``bilm/`` in a module."""
    for ending in ("char_embed", "embedding"):
        for name in sorted(file.arrays, key=len):
            if name == ending or name.endswith(f"/{ending}"):
                return name.removesuffix(ending)
    some = ", ".join(list(file.arrays)[:3]) or "none"
    raise FormatError(f"{file.name} has no variable 'char_embed' or 'embedding', so it is not a biLM; it has {some}")


def _options_from_shapes(file: ArrayFile) -> Settings:
    config = config_from_shapes(shapes_by_name(file, tf_layout(file).table), file.name)
    return Settings(options_from_config(config), file.name)


def _aggregation(file: ArrayFile, layers: int) -> tuple[MixWeights, ...]:
    """The mix of a TF-Hub module."""
    scope = next((name.removesuffix("weights") for name in file.arrays if name.endswith("aggregation/weights")), None)
    if scope is None:
        return ()
    scale = () if file.shape(f"{scope}scaling") == () else (1,)
    file.check({f"{scope}weights": (layers,), f"{scope}scaling": scale})
    return (MixWeights(tuple(file.read(f"{scope}weights").tolist()), file.read(f"{scope}scaling").item()),)


def _prefix_of(path: Path) -> Path | None:
    if path.is_dir():
        return _newest(path) or _newest(path / "variables")
    if path.name.endswith(INDEX) and path.is_file():
        return path.with_name(path.name.removesuffix(INDEX))
    return path if path.with_name(path.name + INDEX).is_file() else None


def _newest(folder: Path) -> Path | None:
    """The prefix named in the file ``checkpoint``, else the one with the highest step."""
    if not folder.is_dir():
        return None
    prefixes = [path.with_name(path.name.removesuffix(INDEX)) for path in folder.glob(f"*{INDEX}")]
    prefixes = [prefix for prefix in prefixes if any(folder.glob(f"{prefix.name}.data-*"))] or prefixes
    named = folder / "checkpoint"
    if named.is_file() and named.stat().st_size < 1 << 20:
        text = named.read_bytes().decode("utf-8", "replace")
        if match := re.search(r'^model_checkpoint_path:\s*"([^"]+)"', text, re.MULTILINE):
            name = match[1].replace("\\", "/").rsplit("/", 1)[-1]  # often an absolute path on another machine
            if folder / name in prefixes:
                return folder / name
    return max(prefixes, key=_step, default=None)


def _step(prefix: Path) -> tuple[int, str]:
    number = re.search(r"-(\d+)$", prefix.name)
    return int(number[1]) if number else -1, prefix.name
