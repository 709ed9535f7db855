"""AllenNLP: read the ELMo part of an archive (model.tar.gz) or of a bare state dict; write files for AllenNLP.

The archive's own weights are read, not an HDF5 file that it may also contain: they may have been fine-tuned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from polyseme.bilm_config import BiLMConfig
from polyseme.errors import FormatError
from polyseme.formats.arrays import ArrayFile
from polyseme.formats.bilm_tf import BOUNDARIES, check_bilm_tf, save_bilm_tf
from polyseme.formats.json_file import Settings, read_json
from polyseme.formats.model import MixWeights, OutputProjection, StoredModel
from polyseme.formats.names import ALLENNLP
from polyseme.formats.options_json import ASSUMED, config_from_options, config_from_shapes
from polyseme.formats.renaming import read_tensors, shapes_by_name
from polyseme.formats.torch_file import is_torch_file, read_state_dict
from polyseme.text.characters import BYTE_ALPHABET, ByteScheme
from polyseme.text.vocabulary import Indexer

TITLE = "AllenNLP"
WEIGHTS, CONFIG, ARCHIVED = "weights.th", "config.json", "fta"
CHARACTERS = "_token_embedder._char_embedding_weights"
MAX_CHARACTERS = 50  # the only value that AllenNLP supports
LANGUAGE_MODELS = ("language_model", "masked_language_model", "next_token_lm")


@dataclass(frozen=True, slots=True)
class Embedder:
    """The settings of one ELMo in an archive's config.json, and their path in it."""

    path: tuple[str, ...] = ()
    values: Mapping[str, Any] | None = None


def is_allennlp(path: Path) -> bool:
    """Whether it is an unpacked archive or a file of tensors."""
    return (path / WEIGHTS).is_file() if path.is_dir() else is_torch_file(path)


def load_allennlp(path: Path) -> StoredModel:
    """Read the ELMo part of an unpacked archive, or of a state dict (with options.json beside it, if there is one)."""
    folder = path if path.is_dir() else path.parent
    config = read_json(folder / CONFIG) if path.is_dir() and (folder / CONFIG).is_file() else {}
    file = read_state_dict(folder / WEIGHTS if path.is_dir() else path)
    prefix = find_elmo(file, config)
    embedder = _embedder(config, prefix)
    options = _options(folder, embedder)
    bilm = file.within(prefix)
    network = _network(bilm, options)
    elmo = file.within(prefix.removesuffix("_elmo_lstm."))
    layer_norm = Settings(embedder.values or {}, CONFIG).boolean("do_layer_norm", False)
    return StoredModel(
        config=network,
        tensors=read_tensors(bilm, ALLENNLP, network),
        indexer=Indexer(characters=ByteScheme(MAX_CHARACTERS, {**BOUNDARIES, **_tokens_to_add(config, embedder)})),
        mixes=_mixes(elmo, network.layers + 1, layer_norm),
        output_projection=_output_projection(file, prefix, network, bool(config)),
        card={"assumed": list(ASSUMED)} if options is None else {},
        format=TITLE,
    )


def find_elmo(file: ArrayFile, config: Mapping[str, Any]) -> str:
    """The prefix of the biLM's arrays."""
    prefixes = [name.removesuffix(CHARACTERS) for name in file.arrays if name.endswith(CHARACTERS)]
    if not prefixes:
        raise FormatError(f"{file.name} has no ELMo part: {_what_instead(file, config)}")
    for other in prefixes[1:]:
        if not _same_values(file, prefixes[0] + CHARACTERS, other + CHARACTERS):
            raise FormatError(
                f"{file.name} has several ELMo parts ({prefixes[0]!r}, {other!r}), where one was expected"
            )
    return prefixes[0]


def _same_values(file: ArrayFile, one: str, other: str) -> bool:
    shape = file.shape(one)
    if file.shape(other) != shape:
        return False
    file.check({one: shape, other: shape})
    return np.array_equal(file.read(one), file.read(other))


def save_allennlp(model: StoredModel, folder: Path) -> None:
    """Write options.json and weights.hdf5 for AllenNLP, or say why it could not read them."""
    check_allennlp(model)
    save_bilm_tf(replace(model, vocabulary=None, softmax=None), folder)


def check_allennlp(model: StoredModel) -> None:
    """Refuse a model that AllenNLP cannot run."""
    config, characters = model.config, model.indexer.characters
    wrong = None
    if config.characters is None or config.words is not None or not isinstance(characters, ByteScheme):
        wrong = "it does not read bytes"
    elif config.characters.max_characters != MAX_CHARACTERS:
        wrong = f"it reads {config.characters.max_characters} characters of a token, and AllenNLP {MAX_CHARACTERS}"
    elif characters.specials not in ({}, BOUNDARIES):  # without any, only a token spelled <S> is read differently there
        wrong = "its special tokens are not exactly <S> and </S>"
    elif not config.skip_connections:
        wrong = "it has no skip connections"
    elif not config.bidirectional:
        wrong = "it has one direction only"
    elif not config.project_tokens:
        wrong = "its token encoder has no projection"
    elif not config.has_projection:
        wrong = "its LSTM has no projection"
    if wrong:
        raise FormatError(f"AllenNLP cannot read this model: {wrong}; save it as a native model or for bilm-tf")
    check_bilm_tf(replace(model, vocabulary=None))


def _network(bilm: ArrayFile, options: Settings | None) -> BiLMConfig:
    if options is None:
        return config_from_shapes(shapes_by_name(bilm, ALLENNLP), bilm.name)
    network = config_from_options(options, alphabet=(bilm.shape(CHARACTERS) or (0,))[0] - 1)
    if network.characters is None or network.characters.max_characters != MAX_CHARACTERS:
        raise FormatError(f"{options.where}: AllenNLP reads {MAX_CHARACTERS} characters of a token, the options differ")
    return network


def _embedder(config: Mapping[str, Any], prefix: str) -> Embedder:
    """The settings that belong to the arrays, by the embedder's name, or the only ones."""
    found = list(_embedders(config.get("model"), ("model",)))
    named = re.search(r"token_embedder_([^.]+)\.", prefix)
    for embedder in found:
        if named and embedder.path[-1] == named[1]:
            return embedder
    return found[0] if len(found) == 1 else Embedder()


def _embedders(values: Any, path: tuple[str, ...]) -> Iterator[Embedder]:
    if isinstance(values, Mapping):
        if "options_file" in values:
            yield Embedder(path, values)
        for key, inner in values.items():
            yield from _embedders(inner, (*path, str(key)))


def _options(folder: Path, embedder: Embedder) -> Settings | None:
    """The options in the archive, or beside a state dict; options that the config only points to are not available."""
    wanted = ".".join((*embedder.path, "options_file"))
    archived = folder / ARCHIVED
    for path in archived.iterdir() if archived.is_dir() else ():
        if path.name == wanted:
            return Settings(read_json(path), "options.json")
    return Settings.of(folder / "options.json") if (folder / "options.json").is_file() else None


def _tokens_to_add(config: Mapping[str, Any], embedder: Embedder) -> dict[str, int]:
    indexers = Settings(config, CONFIG).part("dataset_reader").part("token_indexers").values
    found = {}
    for name, indexer in indexers.items():
        if isinstance(indexer, Mapping) and indexer.get("type") == "elmo_characters":
            found[name] = Settings(indexer, CONFIG).part("tokens_to_add")
    name = embedder.path[-1] if embedder.path else ""
    added = found.get(name) or (next(iter(found.values())) if len(found) == 1 else Settings({}, CONFIG))
    tokens = {token: added.whole(token) for token in added.values}
    for token, raw in tokens.items():
        if not 0 <= raw < BYTE_ALPHABET:
            raise FormatError(f"{CONFIG}: tokens_to_add gives {token!r} the id {raw}, which is not a character")
    return tokens


def _mixes(elmo: ArrayFile, layers: int, layer_norm: bool) -> tuple[MixWeights, ...]:
    mixes: list[MixWeights] = []
    while (gamma := f"scalar_mix_{len(mixes)}.gamma") in elmo.arrays:
        names = [f"scalar_mix_{len(mixes)}.scalar_parameters.{layer}" for layer in range(layers)]
        elmo.check(dict.fromkeys([gamma, *names], (1,)))
        mixes.append(MixWeights(tuple(elmo.read(n).item() for n in names), elmo.read(gamma).item(), layer_norm))
    return tuple(mixes)


def _output_projection(file: ArrayFile, prefix: str, network: BiLMConfig, archive: bool) -> OutputProjection | None:
    """A token embedder has its projection beside its ELMo; in a model, that place may hold anything."""
    beside = prefix.removesuffix("_elmo_lstm.").removesuffix("_elmo.")
    weight, bias = f"{beside}_projection.weight", f"{beside}_projection.bias"
    is_embedder = re.fullmatch(r"(.*\.)?token_embedder_[^.]+\.", beside) is not None
    if weight not in file.arrays or (archive and not is_embedder):
        return None
    rows = (file.shape(bias) or (0,))[0]
    file.check({weight: (rows, network.width), bias: (rows,)})
    return OutputProjection(file.read(weight), file.read(bias))


def _what_instead(file: ArrayFile, config: Mapping[str, Any]) -> str:
    model = config.get("model")
    kind = model.get("type") if isinstance(model, Mapping) else None
    if kind in LANGUAGE_MODELS or any(name.startswith("_contextualizer.") for name in file.arrays):
        return "it is a language model of AllenNLP's own kind, which is not ELMo"
    if any("bidirectional_lm_token_embedder" in str(value) for value in (model,)):
        return "its embedder is a language model of AllenNLP's own kind, which is not ELMo"
    if kind is not None:
        return f"it is an AllenNLP model of type {kind!r} without one"
    if any(name.endswith("weight_hh_l0_reverse") for name in file.arrays):
        return "it is a plain torch LSTM, such as CoVe"
    some = ", ".join(list(file.arrays)[:3])
    return f"no array's name ends with {CHARACTERS!r}, but it has {some}, …"
