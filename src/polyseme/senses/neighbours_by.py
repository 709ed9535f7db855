"""Which words of an index are used like a word in its sentence, by what stands around them.

Two steps, because what costs most is worth it only for the places that may be near:

    index ─ place of every token, one product ─► candidates ─ read again, by the readout ─► the k nearest

By "place" this finds what a comparison of all finds, as far as float16 tells candidates apart; by the other readouts it
finds the nearest among the candidates.
"""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from polyseme.encoding import add_directions
from polyseme.errors import ConfigError
from polyseme.index.occurrences import Neighbour
from polyseme.index.vector_index import Index
from polyseme.lm.places import find_place
from polyseme.senses.sense import lexicon_or_none
from polyseme.senses.sense_map import places_of
from polyseme.senses.uses import checked_readout, read_uses

#: Places that are compared by the readout itself.
CANDIDATES = 500


def neighbours_by(
    index: Index, query: object, by: str, *, layer: int | None = None, k: int = 10, same_word: bool = False
) -> list[Neighbour]:
    """The ``k`` tokens of the index whose surroundings are most like those of the word in brackets."""
    readout = checked_readout(by)
    if not isinstance(query, str):
        raise ConfigError(f"a vector has no place, so by={by!r} needs a text with a word in brackets")
    if layer is not None:
        raise ConfigError(f"layer selects a vector of the word, so it cannot be combined with by={by!r}")
    elmo = index.elmo
    lexicon = lexicon_or_none(elmo) if readout in ("substitutes", "sense") else None
    asked = find_place(elmo, query)
    if same_word and asked.word is None:
        raise ConfigError("same_word needs one word in brackets, but there are several")
    here = read_uses(elmo, [asked], lexicon)
    place = add_directions(here.place, here.directions)[0]
    rows, _ = index.nearest_places(place, max(CANDIDATES, 2 * k), asked.word if same_word else None)
    found = [index.occurrence(int(row)) for row in rows]
    similarities = here.similarities(read_uses(elmo, places_of(found), lexicon), readout)[0]
    order = np.argsort(-similarities, kind="stable")[:k].tolist()
    return [Neighbour(**asdict(found[number]), similarity=float(similarities[number])) for number in order]
