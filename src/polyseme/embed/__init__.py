"""Text files in, files of vectors out, and arrays back in one line.

from polyseme.embed import read
for record in read("vectors.h5"):
    record.id, record.tokens, record.vectors
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyseme.lazy import lazy_names

if TYPE_CHECKING:
    from polyseme.embed.description import Options as Options
    from polyseme.embed.job import embed_files as embed_files
    from polyseme.embed.records import Record as Record
    from polyseme.embed.records import about as about
    from polyseme.embed.records import read as read

_HOME = {
    "polyseme.embed.description": ("Options",),
    "polyseme.embed.job": ("embed_files",),
    "polyseme.embed.records": ("Record", "about", "read"),
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _HOME)
