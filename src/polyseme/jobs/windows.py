"""Windows: a stream of anything in groups of about one size, in order, so that memory does not grow with the stream."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def windows(items: Iterable[T], size: Callable[[T], int], limit: int, *, most: int = sys.maxsize) -> Iterator[list[T]]:
    """Groups that end when their sizes add up to ``limit`` or more, or ``most`` items are in them; none is empty."""
    window, total = list[T](), 0
    for item in items:
        window.append(item)
        total += size(item)
        if total >= limit or len(window) >= most:
            yield window
            window, total = [], 0
    if window:
        yield window
