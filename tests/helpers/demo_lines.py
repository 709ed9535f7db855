"""As much of the demo's text as a test needs."""

from __future__ import annotations

from polyseme.demo.study import WORDS, text_lines


def lines_with(lang: str) -> list[str]:
    """The lines of the shipped text that hold a word of the demo, and a few that do not."""
    lines = text_lines(lang)
    return [line for line in lines if any(word in line for word in WORDS[lang])] + lines[:20]
