"""Models on disk, in the format of any release: a file or folder ↔ ``StoredModel``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyseme.lazy import lazy_names

if TYPE_CHECKING:
    from polyseme.formats.detect import Format as Format
    from polyseme.formats.detect import load as load
    from polyseme.formats.model import StoredModel as StoredModel

_HOME = {
    "polyseme.formats.detect": ("Format", "load"),
    "polyseme.formats.model": ("StoredModel",),
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _HOME)
