"""Text → sentences → tokens → ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyseme.lazy import lazy_names

if TYPE_CHECKING:
    from polyseme.text.tokenization import Language as Language
    from polyseme.text.tokenization import Sentence as Sentence
    from polyseme.text.tokenization import Tokenizer as Tokenizer
    from polyseme.text.tokenization import split_text as split_text

_HOME = {
    "polyseme.text.tokenization": ("Language", "Sentence", "Tokenizer", "split_text"),
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _HOME)
