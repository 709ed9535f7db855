"""options.json, the settings file of bilm-tf and AllenNLP ↔ BiLMConfig. Keys that we do not know are ignored."""

from __future__ import annotations

from typing import Any

from polyseme.bilm_config import BiLMConfig, CharacterConfig, WordConfig
from polyseme.errors import ConfigError, FormatError
from polyseme.formats.json_file import Settings
from polyseme.text.characters import BYTE_ALPHABET


def config_from_options(
    options: Settings, *, alphabet: int = BYTE_ALPHABET, words: int | None = None, bidirectional: bool = True
) -> BiLMConfig:
    """The network that the options describe; the sizes of its tables and its directions are read off the weights.

    Options without ``char_cnn`` are of a model that looks its ``words`` up.
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
    """What bilm-tf and AllenNLP need to know for inference, with every key that either of them asks for."""
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
