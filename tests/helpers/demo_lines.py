"""Words that a demo may show, and as much of its text as a test needs."""

from __future__ import annotations

from polyseme.demo.study import text_lines

#: Which words are shown depends on the model; these are labelled, and stand in the text.
SOME_WORDS = {"en": ("present", "bank"), "ko": ("배", "눈"), "zh": ("意思", "苹果")}


def lines_with(lang: str) -> list[str]:
    """The lines of the shipped text that hold one of the words, and a few that do not."""
    lines = text_lines(lang)
    return [line for line in lines if any(word in line for word in SOME_WORDS[lang])] + lines[:20]
