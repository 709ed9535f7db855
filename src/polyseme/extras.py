"""PyTorch is an optional extra: features that need it say so in one sentence."""

from __future__ import annotations

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
