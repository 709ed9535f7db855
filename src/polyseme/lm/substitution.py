"""What else could stand in a word's place."""

from __future__ import annotations

from typing import get_args

from polyseme.elmo import Elmo
from polyseme.errors import ConfigError
from polyseme.lm.lexicon import Direction, Substitute
from polyseme.lm.places import find_place


def substitutes(
    elmo: Elmo, text: str, k: int = 10, *, direction: Direction = "both", exclude_original: bool = False
) -> list[Substitute]:
    """The ``k`` likeliest words in the place of "[present]", the likeliest first.

    The words around the place decide, within its sentence; what stands between the brackets plays no part.
    ``exclude_original`` leaves it out of the list.
    """
    lexicon = elmo.lexicon
    _check(elmo, direction, k)
    place = find_place(elmo, text)
    without = place.word if exclude_original else None
    return lexicon.likeliest(lexicon.log_probabilities([place]), k, direction, without)


def _check(elmo: Elmo, direction: Direction, k: int) -> None:
    if direction not in get_args(Direction):
        raise ConfigError(f"direction is {direction!r}, but should be one of: {', '.join(get_args(Direction))}")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ConfigError(f"k is {k!r}, but should be a whole number of at least 1")
    if direction == "backward" and not elmo.config.bidirectional:
        raise ConfigError('direction is "backward", but this model reads forward only')
