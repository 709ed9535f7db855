"""The senses of a word: its occurrences in groups and in a plane, the nearest ones, and words that test a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyseme.lazy import lazy_names

if TYPE_CHECKING:
    from polyseme.senses.labelled import AmbiguousWord as AmbiguousWord
    from polyseme.senses.labelled import SenseReport as SenseReport
    from polyseme.senses.labelled import read_senses as read_senses
    from polyseme.senses.labelled import tell_apart as tell_apart

_HOME = {
    "polyseme.senses.labelled": ("AmbiguousWord", "SenseReport", "read_senses", "tell_apart"),
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _HOME)
