"""The network behind weights without a settings file: everything that shapes can say, and the rest as released.

Clips of 3, relu, 50 characters a token and skip connections are what all known models of this kind have.
"""

from __future__ import annotations

from collections.abc import Mapping

from polyseme.bilm_config import BiLMConfig, CharacterConfig
from polyseme.errors import ConfigError, FormatError
from polyseme.formats.names import CHARACTER_TABLE
from polyseme.formats.shapes import Shape

ASSUMED = ("cell_clip 3", "projection_clip 3", "activation relu", "max_characters 50", "skip connections")


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
