"""What needs packages of an extra says so in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from polyseme.errors import MissingExtra


def has_torch() -> bool:
    """Whether PyTorch is installed, without importing it."""
    try:
        return find_spec("torch") is not None
    except ValueError:  # something else has been put in its place
        return False


def need_torch(feature: str, extra: str = "train") -> None:
    """Raise MissingExtra if PyTorch is not installed. Packages whose modules import it call this first."""
    if not has_torch():
        raise MissingExtra(feature, extra)


@contextmanager
def needing(feature: str, extra: str) -> Iterator[None]:
    """Around imports of other packages: MissingExtra where one is not installed. A bug of our own stays one."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "polyseme":
            raise
        raise MissingExtra(feature, extra) from None
