"""What an error message must look like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from polyseme.errors import PolysemeError


@contextmanager
def refused(reason: str) -> Iterator[None]:
    """The block raises one of our errors, and its message is one sentence that matches ``reason``."""
    with pytest.raises(PolysemeError, match=reason) as caught:
        yield
    message = str(caught.value)
    assert "\n" not in message
    assert not re.search(r"[.!?] [A-Z]", message), f"more than one sentence: {message}"
    assert not message.endswith(".")
    assert len(message) < 500
