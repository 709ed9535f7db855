"""What people hand to a model: a list, a tuple, a numpy array, a pandas or polars column; checked once, at the door."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from polyseme.errors import InputError
from polyseme.text.units import Units


class TextColumn(Protocol):
    """A column of a table, such as a pandas or polars Series."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def to_list(self) -> list[Any]: ...


#: A text, or a sentence that is split into tokens already.
Item = str | Sequence[str]
Texts = list[str] | tuple[str, ...] | npt.NDArray[Any] | TextColumn


def checked_list(items: object, what: str) -> list[Any]:
    """The items as a list; InputError for what is no list of ``what``."""
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        raise InputError(f"a list of {what} was expected, but {shown(items)} is of type {type(items).__name__}")
    if hasattr(items, "columns"):  # a table, which would give the names of its columns
        raise InputError(f"a list of {what} was expected, but a {type(items).__name__} was given; give one column")
    return list(items)


def checked_text(text: object) -> str:
    """A text is a string; numpy's strings become plain ones."""
    if isinstance(text, str):
        return str(text)
    if text is None or (isinstance(text, float | np.floating) and np.isnan(text)) or type(text).__name__ == "NAType":
        raise InputError(f'a text is missing ({text}); drop it, or fill it with ""')
    raise InputError(f"a text should be a string, but {shown(text)} is of type {type(text).__name__}")


def checked_sentence(sentence: object) -> list[str]:
    """A sentence is a sequence of tokens, and a token a string."""
    if isinstance(sentence, str | bytes) or not isinstance(sentence, Iterable):
        raise InputError(
            f"a sentence should be a list of tokens, but {shown(sentence)} is of type {type(sentence).__name__}; "
            "use encode for text that is not split"
        )
    tokens = list(sentence)
    for token in tokens:
        if not isinstance(token, str):
            raise InputError(f"a token should be a string, but {shown(token)} is of type {type(token).__name__}")
    if tokens and not tokens[-1]:
        raise InputError(
            f"the sentence {shown(tokens)} ends with an empty token, as padding for TensorFlow Hub does, and a model "
            "would read it as a word; leave such tokens out"
        )
    return Units(tokens) if isinstance(sentence, Units) else tokens


def shown(value: object) -> str:
    """A value for a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"
