"""Text files in, files of vectors out, and arrays back in one line.

from polyseme.embed import read
for record in read("vectors.h5"):
    record.id, record.tokens, record.vectors
"""

from __future__ import annotations

from polyseme.embed.records import Record, about, read

__all__ = ["Record", "about", "read"]
