"""polyseme's own format: a folder.

config.json          settings of network and indexer, mixes, card, and the digests of the other files
model.safetensors    parameters by the names of ``BiLM``, softmax.weight and softmax.bias; float32 or float16,
                     softmax.weight also int8 with softmax.scale, a scale for each row
vocab.txt            the words of the softmax, or of the format that the model came from (optional)
characters.txt       the characters of a Unicode scheme, in the order of their ids (optional)
words.txt            the words of a model that looks them up, in the order of their ids (optional)
README.md            the card, for people and hubs; never read back
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from polyseme.bilm_config import BiLMConfig, CharacterConfig
from polyseme.errors import ConfigError, FormatError, InputError
from polyseme.formats.arrays import ArrayFile, Floats, parameter_shapes
from polyseme.formats.card import card_text
from polyseme.formats.json_file import Settings
from polyseme.formats.model import (
    ClusterWeights,
    MixWeights,
    OutputProjection,
    SoftmaxWeights,
    StoredModel,
    model_folder,
)
from polyseme.formats.safetensors_file import (
    DIGESTS,
    check_config,
    check_digests,
    open_safetensors,
    read_rounded,
    round_rows,
    with_digests,
    write_safetensors,
)
from polyseme.jobs.manifests import CHECKSUM
from polyseme.text.characters import BYTE_ALPHABET, ByteScheme, Characters, UnicodeScheme
from polyseme.text.vocabulary import Indexer, Vocabulary, WordTable

CONFIG, WEIGHTS, VOCABULARY, README = "config.json", "model.safetensors", "vocab.txt", "README.md"
CHARACTERS, WORDS = "characters.txt", "words.txt"
FILES = (CONFIG, WEIGHTS, VOCABULARY, CHARACTERS, WORDS, README)
TITLE, FORMAT, VERSION = "native", "polyseme", 1
ROWS, SCALES = "softmax.weight", "softmax.scale"
Dtype = Literal["float32", "float16"]
SoftmaxDtype = Literal["float32", "float16", "int8"]


def save_native(
    model: StoredModel, folder: str | Path, dtype: Dtype = "float32", *, softmax: SoftmaxDtype | None = None
) -> None:
    """Write the model as a native folder, which appears when it is complete.

    A folder is replaced only if it holds nothing but an earlier save. A smaller ``dtype`` rounds the weights;
    ``softmax`` is the type of the softmax's rows, by default the same.
    """
    if dtype not in get_args(Dtype):
        raise ConfigError(f"dtype is {dtype!r}, but weights are stored as float32 or float16")
    if softmax is not None and softmax not in get_args(SoftmaxDtype):
        raise ConfigError(f"softmax is {softmax!r}, but its rows are stored as {', '.join(get_args(SoftmaxDtype))}")
    if softmax is not None and model.softmax is None:
        raise ConfigError(f"softmax is {softmax!r}, but the model has no softmax; leave it out")
    arrays = _all_tensors(model)
    rows = arrays.pop(ROWS, None)
    tensors: dict[str, npt.NDArray[Any]] = {name: _stored(name, x, dtype) for name, x in arrays.items()}
    if rows is not None:
        tensors |= _stored_rows(rows, softmax or dtype)
    with model_folder(Path(folder), FILES) as beside:
        (beside / README).write_text(card_text(model), encoding="utf-8")
        write_safetensors(beside / WEIGHTS, tensors)
        shutil.copymode(beside / README, beside / WEIGHTS)  # safetensors makes files that only the owner can read
        if model.vocabulary is not None:
            model.vocabulary.write(beside / VOCABULARY)
        write_entries(model.indexer, beside)
        write_config(beside, _config(model))


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    """config.json, with the digests of what was written beside it."""
    lists = [folder / name for name in (VOCABULARY, CHARACTERS, WORDS) if (folder / name).exists()]
    text = json.dumps(with_digests(config, folder / WEIGHTS, lists), indent=2, ensure_ascii=False)
    (folder / CONFIG).write_text(text + "\n", encoding="utf-8")


def is_native(path: Path) -> bool:
    """Whether a folder looks like a native folder, complete or not."""
    if not path.is_dir():
        return False
    return (path / WEIGHTS).is_file() or (
        (path / CONFIG).is_file() and FORMAT.encode() in (path / CONFIG).read_bytes()[:200]
    )


def load_native(folder: str | Path) -> StoredModel:
    """Read a native folder."""
    folder = Path(folder)
    settings = Settings.of(folder / CONFIG)
    check_header(settings)
    check_config(settings)
    digests = check_digests(settings, folder / WEIGHTS)
    try:
        config = BiLMConfig.from_dict(settings.part("network").values)
        indexer = read_indexer(folder, settings.part("indexer"), config)
        if settings.part("card").values.get("fold_width") is True:
            indexer = replace(indexer, fold_width=True)
    except ConfigError as error:
        raise FormatError(f"{CONFIG}: {error}") from None
    vocabulary = read_words(folder / VOCABULARY) if (folder / VOCABULARY).exists() else None
    with open_safetensors(folder / WEIGHTS) as file:
        tensors, softmax, projection = _read_tensors(file, config, _cutoffs(settings))
    if softmax is not None and vocabulary is not None and len(vocabulary) != len(softmax.bias):
        raise FormatError(
            f"{VOCABULARY} has {len(vocabulary)} words, but the softmax has {len(softmax.bias)} rows; "
            "they must belong together"
        )
    return StoredModel(
        config=config,
        tensors=tensors,
        indexer=indexer,
        vocabulary=vocabulary,
        softmax=softmax,
        mixes=_mixes(settings, config),
        output_projection=projection,
        card=settings.part("card").values,
        format=TITLE,
        digests=digests,
    )


def check_header(settings: Settings) -> None:
    """Refuse a config.json that is not ours, is newer than this version, or has unknown settings."""
    if settings.values.get("format") != FORMAT:
        raise FormatError(f'{CONFIG} does not say "format": "{FORMAT}", so this is not a native model')
    if (version := settings.whole("version")) != VERSION:
        raise FormatError(f"{CONFIG} has version {version}, but this polyseme reads version {VERSION}; update polyseme")
    settings.only("format", "version", "network", "indexer", "softmax", "mixes", "card", DIGESTS, CHECKSUM)


def _stored(name: str, x: Floats, dtype: Dtype) -> npt.NDArray[np.floating]:
    with np.errstate(over="ignore"):
        stored = x.astype(dtype, copy=False)
    if not np.isfinite(stored).all():
        raise FormatError(f"the parameter {name!r} has values that {dtype} cannot hold; save it as float32")
    return stored


def _stored_rows(rows: Floats, dtype: SoftmaxDtype) -> dict[str, npt.NDArray[Any]]:
    if dtype != "int8":
        return {ROWS: _stored(ROWS, rows, dtype)}
    numbers, scales = round_rows(rows)
    return {ROWS: numbers, SCALES: scales}


def _all_tensors(model: StoredModel) -> dict[str, Floats]:
    tensors = dict(model.tensors)
    if model.softmax is not None:
        tensors |= {"softmax.weight": model.softmax.weight, "softmax.bias": model.softmax.bias}
        if (clusters := model.softmax.clusters) is not None:
            tensors |= {"softmax.cluster_weight": clusters.weight, "softmax.cluster_bias": clusters.bias}
    if model.output_projection is not None:
        tensors["output_projection.weight"] = model.output_projection.weight
        tensors["output_projection.bias"] = model.output_projection.bias
    return tensors


def _read_tensors(
    file: ArrayFile, config: BiLMConfig, cutoffs: tuple[int, ...]
) -> tuple[dict[str, Floats], SoftmaxWeights | None, OutputProjection | None]:
    network = parameter_shapes(config)
    shapes = dict(network)
    rounded, file = read_rounded(file, ROWS, SCALES)
    for part, size in (("softmax", config.projection), ("output_projection", config.width)):
        if f"{part}.bias" in file.arrays or f"{part}.weight" in file.arrays:
            rows = (file.shape(f"{part}.bias") or (0,))[0]
            shapes |= {f"{part}.weight": (rows, size), f"{part}.bias": (rows,)}
    if cutoffs:
        count = len(cutoffs)
        shapes |= {"softmax.cluster_weight": (count, config.projection), "softmax.cluster_bias": (count,)}
    file.check(shapes)
    if unknown := sorted(set(file.arrays) - set(shapes)):
        raise FormatError(f"{file.name} has an array {unknown[0]!r} that the settings do not mention")
    values = {name: file.read(name) for name in shapes if rounded is None or name != ROWS}
    softmax = projection = None
    if "softmax.bias" in values:
        clusters = None
        if cutoffs:
            clusters = ClusterWeights(cutoffs, values["softmax.cluster_weight"], values["softmax.cluster_bias"])
        softmax = SoftmaxWeights(rounded or values[ROWS], values["softmax.bias"], clusters)
    if "output_projection.bias" in values:
        projection = OutputProjection(values["output_projection.weight"], values["output_projection.bias"])
    return {name: values[name] for name in network}, softmax, projection


def _config(model: StoredModel) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "network": model.config.to_dict(),
        "indexer": indexer_settings(model.indexer),
        **_softmax_settings(model),
        "mixes": [{"weights": list(m.weights), "scale": m.scale, "layer_norm": m.layer_norm} for m in model.mixes],
        "card": dict(model.card),
    }


def _softmax_settings(model: StoredModel) -> dict[str, Any]:
    """Where the clusters of an adaptive softmax begin; empty for any other."""
    if model.softmax is None or model.softmax.clusters is None:
        return {}
    return {"softmax": {"cutoffs": list(model.softmax.clusters.cutoffs)}}


def _cutoffs(settings: Settings) -> tuple[int, ...]:
    if "softmax" not in settings.values:
        return ()
    cutoffs = tuple(int(number) for number in settings.part("softmax").numbers("cutoffs"))
    if not cutoffs or cutoffs[0] < 1 or list(cutoffs) != sorted(set(cutoffs)):
        raise FormatError(f"{CONFIG}: the cutoffs of the softmax are {list(cutoffs)}, but should rise from 1 or more")
    return cutoffs


def _mixes(settings: Settings, config: BiLMConfig) -> tuple[MixWeights, ...]:
    mixes = []
    for part in settings.parts("mixes", ("weights", "scale", "layer_norm")):
        weights = part.numbers("weights")
        if len(weights) != config.layers + 1:
            raise FormatError(f"{CONFIG}: a mix has {len(weights)} weights for {config.layers + 1} layers")
        mixes.append(MixWeights(weights, part.real("scale"), part.boolean("layer_norm")))
    return tuple(mixes)


def indexer_settings(indexer: Indexer) -> dict[str, Any]:
    """The settings of the indexer in config.json."""
    characters, words = indexer.characters, indexer.words
    settings: dict[str, Any] = {"characters": None, "words": None}
    if isinstance(characters, ByteScheme):
        settings["characters"] = {"scheme": "bytes", "specials": dict(characters.specials)}
    elif isinstance(characters, UnicodeScheme):
        settings["characters"] = {"scheme": "unicode"}
    if words is not None:
        settings["words"] = {name: getattr(words, name) for name in ("unknown", "begin", "end", "longest")}
    return settings


def write_entries(indexer: Indexer, folder: Path) -> None:
    """Write characters.txt and words.txt, if the model has them."""
    if isinstance(indexer.characters, UnicodeScheme):
        Vocabulary(in_order(indexer.characters.ids)).write(folder / CHARACTERS)
    if indexer.words is not None:
        Vocabulary(in_order(indexer.words.ids)).write(folder / WORDS)


def read_indexer(folder: Path, settings: Settings, config: BiLMConfig) -> Indexer:
    """The indexer of a native folder, which must fit the network."""
    settings.only("characters", "words")
    if settings.has("characters") != bool(config.characters) or settings.has("words") != bool(config.words):
        raise FormatError(f"{settings.where}: network and indexer do not agree on reading words or characters")
    characters = _characters(folder, settings.part("characters"), config.characters) if config.characters else None
    words = _words(folder, settings.part("words"), config.words.size) if config.words else None
    return Indexer(characters, words)


def read_words(path: Path) -> Vocabulary:
    """Read one of the folder's lists."""
    if not path.is_file():
        raise FormatError(f"the file {path.name} is missing")
    try:
        return Vocabulary.read(path)
    except InputError as error:
        raise FormatError(str(error).replace(str(path), path.name)) from None


def unicode_scheme(ids: Mapping[str, int], longest: int, where: str) -> UnicodeScheme:
    """The scheme of a character dictionary, which must have its six specials."""
    for special in UnicodeScheme.SPECIALS:
        if special not in ids:
            raise FormatError(f"{where} has no entry {special!r}, which every model of Unicode characters needs")
    return UnicodeScheme(ids, longest)


def in_order(ids: Mapping[str, int]) -> tuple[str, ...]:
    """Entries in the order of their ids.

    An id without an entry (its word occurs again later in the list) gets a copy of the last entry, which looks up the
    last id anyway.
    """
    last = max(ids, key=lambda entry: ids[entry])
    entries = [last] * (ids[last] + 1)
    for entry, number in ids.items():
        entries[number] = entry
    return tuple(entries)


def _words(folder: Path, settings: Settings, size: int) -> WordTable:
    settings.only("unknown", "begin", "end", "longest")
    ids = _ids(folder / WORDS, size)
    longest = settings.whole("longest") if settings.has("longest") else None
    unknown = settings.text("unknown") if settings.has("unknown") else None
    return WordTable(ids, unknown, settings.text("begin"), settings.text("end"), longest)


def _characters(folder: Path, settings: Settings, config: CharacterConfig) -> Characters:
    settings.only("scheme", "specials")
    scheme = settings.text("scheme")
    if scheme == "bytes" and config.alphabet == BYTE_ALPHABET:
        return ByteScheme(config.max_characters, _specials(settings))
    if scheme == "unicode":
        return unicode_scheme(_ids(folder / CHARACTERS, config.alphabet), config.max_characters, CHARACTERS)
    raise FormatError(
        f"{settings.where}: the scheme {scheme!r} with {config.alphabet} characters is none; "
        f"expected 'unicode', or 'bytes' with {BYTE_ALPHABET}"
    )


def _specials(settings: Settings) -> dict[str, int]:
    specials = settings.part("specials")
    ids = {token: specials.whole(token) for token in specials.values}
    for token, raw in ids.items():
        if not 0 <= raw < BYTE_ALPHABET:
            raise FormatError(
                f"{settings.where}: the special token {token!r} has the id {raw}, which is not a character"
            )
    return ids


def _ids(path: Path, size: int) -> dict[str, int]:
    entries = read_words(path)
    if len(entries) != size:
        raise FormatError(f"{path.name} has {len(entries)} lines, but the network has {size} rows for them")
    return {word: number for number, word in enumerate(entries.words)}
