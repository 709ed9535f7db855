"""The words and texts that come with polyseme, to try a model on; data/README.md says where they are from."""

from __future__ import annotations

from pathlib import Path

from polyseme.errors import InputError
from polyseme.text.tokenization import language_code

DATA = Path(__file__).parent / "data"
#: Ambiguous words: language, word, sense, a sentence with the word in brackets.
SENSES = DATA / "senses.tsv"


def shipped_text(lang: str) -> Path | None:
    """A small text in the public domain, one sentence a line; None for a language that has none."""
    path = DATA / f"text-{language_code(lang)}.txt"
    return path if path.is_file() else None


def needed_text(lang: str) -> Path:
    """The same, for whoever cannot do without."""
    path = shipped_text(lang)
    if path is None:
        raise InputError(f"no text in the language {lang!r} comes with polyseme; give your own")
    return path
