"""A tokeniser of your own: any function that takes a text and gives its sentences.

    Elmo.from_pretrained(lang=split)             the function itself
    Elmo.from_pretrained(lang="thai-words")      the name under which an installed package adds one

A sentence has ``tokens`` and ``offsets``, as ``Sentence`` has. What it promises is checked: each token is exactly
``text[start:end]``, and tokens follow each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from polyseme.errors import ConfigError
from polyseme.plugins import Group, added, broken, load_added

if TYPE_CHECKING:
    from polyseme.text.tokenization import Sentence

Tokenizer = Callable[[str], Iterable["Sentence"]]
Language = str | Tokenizer  #: how text is split: a name such as "en", or a function

TOKENIZERS: Group = "polyseme.tokenizers"


def added_tokenizer(name: str) -> Tokenizer | None:
    """The tokeniser that a package adds under this name; None where no package does."""
    if ":" in name:
        raise ConfigError(
            f"text was split by the function {name} here, and a function cannot be found again by its name; give it as "
            "lang, or give text that is split already"
        )
    if name not in added(TOKENIZERS):
        return None
    tokenizer: Tokenizer = load_added(TOKENIZERS, name)
    if not callable(tokenizer):
        raise broken(TOKENIZERS, name, f"it is of type {type(tokenizer).__name__}, not a function")
    return tokenizer


def language_name(lang: Language) -> str:
    """What a corpus, an index or a run writes down: "en", or "module:function" of a function."""
    if isinstance(lang, str):
        return lang
    if not callable(lang):
        raise ConfigError(f"lang is {lang!r:.60}, but should be the name of a language or a function that splits text")
    named = lang if hasattr(lang, "__qualname__") else type(lang)
    return f"{named.__module__}:{named.__qualname__}"


def split_with(tokenizer: Tokenizer, text: str) -> list[Sentence]:
    """The sentences that a tokeniser finds, without empty ones; ConfigError where it breaks a promise."""
    sentences = [sentence for sentence in tokenizer(text) if _length(tokenizer, sentence)]
    before = 0
    for sentence in sentences:
        for token, (start, end) in zip(sentence.tokens, sentence.offsets, strict=True):
            if not before <= start < end or text[start:end] != token or "\n" in token or "\r" in token:
                raise _refusal(
                    tokenizer,
                    f"the token {token!r:.40} for characters {start} to {end}, where the text has "
                    f"{text[start:end]!r:.40}; each token should be what stands there, behind the one before and "
                    "without a line end",
                )
            before = end
    return sentences


def _length(tokenizer: Tokenizer, sentence: Sentence) -> int:
    try:
        tokens, offsets = len(sentence.tokens), len(sentence.offsets)
    except (AttributeError, TypeError):
        raise _refusal(
            tokenizer, f"{sentence!r:.60} for a sentence; it should have tokens and offsets, as polyseme.text.Sentence"
        ) from None
    if tokens != offsets:
        raise _refusal(tokenizer, f"a sentence with {tokens} tokens and {offsets} offsets; each token should have one")
    return tokens


def _refusal(tokenizer: Tokenizer, fact: str) -> ConfigError:
    return ConfigError(f"the tokeniser {language_name(tokenizer)} gave {fact}")
