"""Text in a script that a model has hardly seen: Chinese read by an English model gives vectors that mean nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from unicodedata import name

from polyseme.text.composed import composed

WORDS = 5000  # of the vocabulary that are looked at: the most frequent ones
LETTERS = 40  # of a text that are looked at
FEWEST = 5  # letters that are worth a remark
HARDLY = 0.001  # of the vocabulary's letters


@lru_cache(maxsize=65536)
def script_of(character: str) -> str | None:
    """ "LATIN", "HANGUL", "HAN" …; None for what is no letter."""
    first = name(character, "").split(" ", 1)[0].split("-")[0] if character.isalpha() else ""
    return "HAN" if first in ("CJK", "IDEOGRAPHIC") else first or None


class Familiar:
    """The scripts of a model's vocabulary, and how much of it each is."""

    def __init__(self, words: Iterable[str]) -> None:
        counts = Counter(script for word in islice(words, WORDS) for script in map(script_of, word) if script)
        total = sum(counts.values())
        self.scripts = {script for script, count in counts.items() if count >= HARDLY * total}

    def stranger(self, text: str) -> str | None:
        """The script that most letters at the beginning of a text have, if the model has hardly seen it."""
        if not self.scripts:
            return None
        found = islice((script for script in map(script_of, composed(text[: 20 * LETTERS])) if script), LETTERS)
        counts = Counter(found)
        if counts.total() < FEWEST:
            return None
        script, count = counts.most_common(1)[0]
        return script.title() if script not in self.scripts and 2 * count > counts.total() else None
