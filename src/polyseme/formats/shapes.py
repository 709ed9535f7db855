"""Which parameters a network has and how large they are, without making any (torch's meta device loads for seconds)."""

from __future__ import annotations

import itertools

from polyseme.bilm_config import BiLMConfig, CharacterConfig
from polyseme.errors import FormatError

Shape = tuple[int, ...]
MOST_WORDS, MOST_CHARACTERS, LARGEST_SIZE, MOST_PARTS = 1 << 28, 1 << 21, 1 << 20, 1000


def parameter_shapes(config: BiLMConfig) -> dict[str, Shape]:
    """The parameters of the network, by their names in ``BiLM``."""
    check_plausible(config)
    shapes: dict[str, Shape] = {}
    if config.words:
        shapes["token_encoder.words.weight"] = (config.words.size + 1, config.words.dim)
    if config.characters:
        shapes |= _character_shapes(config.characters)
    if config.project_tokens:
        shapes["token_encoder.projection.weight"] = (config.projection, config.encoded_size)
        shapes["token_encoder.projection.bias"] = (config.projection,)
    for direction, layer in itertools.product(range(config.directions), range(config.layers)):
        cell = f"directions.{direction}.cells.{layer}"
        shapes[f"{cell}.input_weight"] = shapes[f"{cell}.state_weight"] = (config.projection, 4 * config.cell)
        shapes[f"{cell}.bias"] = (4 * config.cell,)
        if config.has_projection:
            shapes[f"{cell}.projection"] = (config.cell, config.projection)
    return shapes


def _character_shapes(config: CharacterConfig) -> dict[str, Shape]:
    cnn, size = "token_encoder.characters", config.filter_count
    shapes: dict[str, Shape] = {f"{cnn}.embedding.weight": (config.alphabet + 1, config.dim)}
    for number, (width, count) in enumerate(config.filters):
        shapes[f"{cnn}.convolutions.{number}.weight"] = (count, config.dim, width)
        shapes[f"{cnn}.convolutions.{number}.bias"] = (count,)
    for number, linear in itertools.product(range(config.highways), ("transform", "gate")):
        shapes[f"{cnn}.highways.{number}.{linear}.weight"] = (size, size)
        shapes[f"{cnn}.highways.{number}.{linear}.bias"] = (size,)
    return shapes


def check_plausible(config: BiLMConfig) -> None:
    """Refuse sizes that no model has, before anything is made of them."""
    characters, words = config.characters, config.words
    sizes = [("cell", config.cell, LARGEST_SIZE), ("projection", config.projection, LARGEST_SIZE)]
    sizes += [("layers", config.layers, MOST_PARTS)]
    if words:
        sizes += [("words", words.size, MOST_WORDS), ("word dim", words.dim, LARGEST_SIZE)]
    if characters:
        sizes += [
            ("alphabet", characters.alphabet, MOST_CHARACTERS),
            ("character dim", characters.dim, LARGEST_SIZE),
            ("max_characters", characters.max_characters, LARGEST_SIZE),
            ("filters", characters.filter_count, LARGEST_SIZE),
            ("kinds of filters", len(characters.filters), MOST_PARTS),
            ("highways", characters.highways, MOST_PARTS),
        ]
    for name, value, largest in sizes:
        if value > largest:
            raise FormatError(f"the settings say {name} = {value:,}, but no model has more than {largest:,}")
