"""What a word means in its sentence: the words that could stand there instead, and how alike two such places are.

    gift, now = elmo.sense("He gave her a silver watch as a wedding [present]."), elmo.sense("Live in the [present].")
    gift.substitutes                  {"gift": 0.24, "dress": 0.05, …}
    gift.similarity(now)              from −1 to 1

By "sense" all that the neighbours say is put together: substitutes, place and topic, weighted as
`polyseme.senses.uses.Uses.sense_weights` says. The word's own vector has no part in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from polyseme.elmo import Elmo
from polyseme.errors import ConfigError, InputError
from polyseme.lm.lexicon import Lexicon
from polyseme.lm.places import Place, find_place
from polyseme.senses.uses import Readout, Uses, checked_readout, read_uses


@dataclass(frozen=True, eq=False)
class Sense:
    """A word in one sentence, as its neighbours see it. Senses of one model can be compared."""

    place: Place
    use: Uses  #: what each readout says: one row
    words: tuple[str, ...]  #: the model's vocabulary; empty where the model has no softmax

    @property
    def word(self) -> str:
        """What stands in the brackets, as tokens with spaces between."""
        return " ".join(self.place.tokens[self.place.begin : self.place.end])

    @cached_property
    def vector(self) -> Mapping[str, float]:
        """A sparse vector of length one over words: the root of each substitute's share, the largest first."""
        found = self.use.substitutes
        if found is None:
            return {}
        pairs = zip(found.ids[0].tolist(), found.weights[0].tolist(), strict=True)
        return {self.words[number]: weight for number, weight in pairs if weight > 0}

    @property
    def substitutes(self) -> Mapping[str, float]:
        """The likeliest words in this place with the share of each, the likeliest first; the shares add up to one."""
        return {word: weight**2 for word, weight in self.vector.items()}

    def similarity(self, other: Sense, by: Readout = "sense") -> float:
        """How alike two places are by a readout: 1 for the same, near 0 for what has nothing in common."""
        return float(self.use.similarities(other.use, checked_readout(by))[0, 0])

    def __repr__(self) -> str:
        likely = ", ".join(list(self.substitutes)[:5])
        return f"Sense({self.word!r}{': ' + likely if likely else ''})"


def find_sense(elmo: Elmo, text: str) -> Sense:
    """The sense of the word in brackets."""
    return _sense(elmo, find_place(elmo, text))


def find_token_sense(elmo: Elmo, tokens: Sequence[str], position: int) -> Sense:
    """The sense of the token at a position; negative ones count from the end."""
    if not -len(tokens) <= position < len(tokens):
        raise InputError(f"there is no token {position} among {len(tokens)}")
    begin = position % len(tokens)
    return _sense(elmo, Place(list(tokens), begin, begin + 1))


def _sense(elmo: Elmo, place: Place) -> Sense:
    lexicon = lexicon_or_none(elmo)
    return Sense(place, read_uses(elmo, [place], lexicon), tuple(lexicon.words) if lexicon else ())


def lexicon_or_none(elmo: Elmo) -> Lexicon | None:
    """The words of the model's softmax; None for a model that came without one."""
    try:
        return elmo.lexicon
    except ConfigError:
        return None
