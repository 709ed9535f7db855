"""The settings of a network: options.json of bilm-tf and AllenNLP, or the shapes of the weights ↔ BiLMConfig.

Unknown keys are ignored. Without a settings file, settings are derived from shapes as far as possible; the others are
those of all known models of this kind: clips of 3, relu, 50 characters per token and skip connections.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polyseme.bilm_config import BiLMConfig, CharacterConfig, WordConfig
from polyseme.errors import ConfigError, FormatError
from polyseme.formats.arrays import Shape
from polyseme.formats.json_file import Settings
from polyseme.formats.names import CHARACTER_TABLE
from polyseme.text.characters import BYTE_ALPHABET

ASSUMED = ("cell_clip 3", "projection_clip 3", "activation relu", "max_characters 50", "skip connections")


def config_from_options(
    options: Settings, *, alphabet: int = BYTE_ALPHABET, words: int | None = None, bidirectional: bool = True
) -> BiLMConfig:
    """The network that the options describe; table sizes and directions come from the weights.

    Options without ``char_cnn`` describe a model that looks up ``words``.
    """
    projection = options.whole("lstm.projection_dim")
    try:
        characters = _characters(options, alphabet) if options.has("char_cnn") else None
        table = WordConfig(words or 0, projection) if characters is None else None
        return BiLMConfig(
            characters=characters,
            words=table,
            cell=options.whole("lstm.dim"),
            projection=projection,
            layers=options.whole("lstm.n_layers", 1),
            cell_clip=options.real_or_none("lstm.cell_clip"),
            projection_clip=options.real_or_none("lstm.proj_clip"),
            skip_connections=options.boolean("lstm.use_skip_connections", False),
            project_tokens=characters is not None and characters.filter_count != projection,
            bidirectional=bidirectional,
        )
    except ConfigError as error:
        raise FormatError(f"{options.where}: {error}") from None


def _characters(options: Settings, alphabet: int) -> CharacterConfig:
    activation = options.text("char_cnn.activation")
    if activation not in ("relu", "tanh"):
        raise FormatError(f"{options.where}: the activation is {activation!r}, but should be 'relu' or 'tanh'")
    return CharacterConfig(
        alphabet=alphabet,
        dim=options.whole("char_cnn.embedding.dim"),
        max_characters=options.whole("char_cnn.max_characters_per_token"),
        filters=options.pairs("char_cnn.filters"),
        highways=options.whole("char_cnn.n_highway", 0),
        activation="relu" if activation == "relu" else "tanh",
    )


def options_from_config(config: BiLMConfig, *, softmax_words: int | None = None) -> dict[str, Any]:
    """Options for inference with bilm-tf and AllenNLP, with every key that either of them reads."""
    options: dict[str, Any] = {
        "bidirectional": config.bidirectional,
        "lstm": {
            "dim": config.cell,
            "projection_dim": config.projection,
            "n_layers": config.layers,
            "cell_clip": config.cell_clip,
            "proj_clip": config.projection_clip,
            "use_skip_connections": config.skip_connections,
        },
    }
    if config.characters is not None:
        characters = config.characters
        options["char_cnn"] = {
            "activation": characters.activation,
            "embedding": {"dim": characters.dim},
            "filters": [list(pair) for pair in characters.filters],
            "n_highway": characters.highways,
            "n_characters": characters.alphabet + 1,
            "max_characters_per_token": characters.max_characters,
        }
    if softmax_words is not None:
        options["n_tokens_vocab"] = softmax_words
    return options


def config_from_shapes(shapes: Mapping[str, Shape], where: str) -> BiLMConfig:
    """[our parameter names → our shapes] → the network. ``where`` names the file, for errors."""
    rows, dim = _shape(shapes, CHARACTER_TABLE, 2, where)
    filters: list[tuple[int, int]] = []
    while (name := f"token_encoder.characters.convolutions.{len(filters)}.weight") in shapes:
        count, _, width = _shape(shapes, name, 3, where)
        filters.append((width, count))
    projection, gates = _shape(shapes, "directions.0.cells.0.input_weight", 2, where)
    try:
        return BiLMConfig(
            characters=CharacterConfig(
                alphabet=rows - 1,
                dim=dim,
                filters=tuple(filters),
                highways=_count(shapes, "token_encoder.characters.highways.{}.gate.weight"),
            ),
            cell=gates // 4,
            projection=projection,
            layers=_count(shapes, "directions.0.cells.{}.input_weight"),
            project_tokens="token_encoder.projection.weight" in shapes,
            bidirectional="directions.1.cells.0.input_weight" in shapes,
        )
    except ConfigError as error:
        raise FormatError(f"{where}: the shapes of the arrays fit no model: {error}") from None


def _count(shapes: Mapping[str, Shape], name: str) -> int:
    number = 0
    while name.format(number) in shapes:
        number += 1
    return number


def _shape(shapes: Mapping[str, Shape], name: str, axes: int, where: str) -> Shape:
    if name not in shapes:
        raise FormatError(f"{where} has no array for the parameter {name!r}, so it is not complete")
    if len(shapes[name]) != axes:
        raise FormatError(f"{where}: the array for {name!r} has {len(shapes[name])} axes, where {axes} were expected")
    return shapes[name]
