"""PyTorch is an extra: what needs it says so in one sentence."""

from __future__ import annotations

from importlib.util import find_spec

from polyseme.errors import MissingExtra


def has_torch() -> bool:
    """Whether PyTorch is installed; it is not imported for that."""
    try:
        return find_spec("torch") is not None
    except ValueError:  # somebody has put something else in its place
        return False


def need_torch(feature: str, extra: str = "train") -> None:
    """MissingExtra without PyTorch. A package of modules that import it calls this first."""
    if not has_torch():
        raise MissingExtra(feature, extra)
