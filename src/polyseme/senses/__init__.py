"""The senses of a word: its occurrences in groups and in a plane, the nearest ones, and words that test a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyseme.lazy import lazy_names

if TYPE_CHECKING:
    from polyseme.lm.places import find_place as find_place
    from polyseme.senses.labelled import AmbiguousWord as AmbiguousWord
    from polyseme.senses.labelled import SenseReport as SenseReport
    from polyseme.senses.labelled import nearest_accuracy as nearest_accuracy
    from polyseme.senses.labelled import read_senses as read_senses
    from polyseme.senses.labelled import tell_apart as tell_apart
    from polyseme.senses.shift_measures import false_discovery as false_discovery
    from polyseme.senses.shifted_word import WordShift as WordShift
    from polyseme.senses.shifted_word import word_shift as word_shift
    from polyseme.senses.shipped import shipped_text as shipped_text
    from polyseme.senses.text_shift import Shift as Shift
    from polyseme.senses.text_shift import compare_texts as compare_texts
    from polyseme.senses.uses import read_uses as read_uses

_HOME = {
    "polyseme.lm.places": ("find_place",),
    "polyseme.senses.labelled": ("AmbiguousWord", "SenseReport", "nearest_accuracy", "read_senses", "tell_apart"),
    "polyseme.senses.shift_measures": ("false_discovery",),
    "polyseme.senses.shifted_word": ("WordShift", "word_shift"),
    "polyseme.senses.shipped": ("shipped_text",),
    "polyseme.senses.text_shift": ("Shift", "compare_texts"),
    "polyseme.senses.uses": ("read_uses",),
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _HOME)
