"""Each distinct token is encoded once, and its vector kept for later calls in one bounded table.

When the table is full, the half of the rows that was used longest ago makes room.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
import numpy.typing as npt

from polyseme.engine.bilm_reader import Places

Floats = npt.NDArray[np.float32]


class Boundary(Enum):
    """The begin and end of a sentence: tokens that no text can spell."""

    BEGIN = "begin"
    END = "end"


Key = str | Boundary

#: A longer token is encoded, but not kept: a key must not weigh more than its vector.
LONGEST_KEY = 200
#: What a token takes beside its vector: its text and its place in the table, in bytes.
KEY_BYTES = 200
#: What a table takes at first. Memory that was never written to takes no room, so it need not grow by copying.
FIRST_BYTES = 256 << 20


@dataclass(slots=True)
class CacheStats:
    """What the table has saved since the engine was made."""

    hits: int = 0
    misses: int = 0
    rows: int = 0
    limit: int = 0

    @property
    def rate(self) -> float:
        """Distinct tokens found, of all that were asked for."""
        return self.hits / max(1, self.hits + self.misses)


@dataclass(slots=True)
class TokenRows:
    """The table and what is in it. ``encode`` turns missing keys into rows [R, D]."""

    encode: Callable[[Sequence[Key]], Floats]
    size: int  #: D
    limit: int  #: rows that may be kept
    stats: CacheStats = field(init=False)
    table: Floats = field(init=False)  # [capacity, D]
    where: dict[Key, int] = field(init=False, default_factory=dict)
    used: npt.NDArray[np.int64] = field(init=False)  # [capacity] the call that last used a row
    filled: int = field(init=False, default=0)  #: rows taken; some may be forgotten
    calls: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.stats = CacheStats(limit=self.limit)
        self.table = np.empty((0, self.size), np.float32)
        self.used = np.zeros(0, dtype=np.int64)

    def look_up(self, sentences: Sequence[Sequence[str]]) -> Places:
        """Sentences → the row of every position in ``table`` as it is now, boundaries included.

        A row that was once written is not written to again; later calls may put another table in the place of this one.
        """
        self.calls += 1
        keys: dict[Key, None] = dict.fromkeys(Boundary)
        for sentence in sentences:
            keys.update(dict.fromkeys(sentence))
        missing = [key for key in keys if key not in self.where]
        self.stats.hits += len(keys) - len(missing)
        self.stats.misses += len(missing)
        if self.filled + len(missing) > self.limit:
            self._make_room(keys, len(missing))
        if missing:
            self._add(missing)
        self.stats.rows = self.filled
        where, begin, end = self.where, self.where[Boundary.BEGIN], self.where[Boundary.END]
        rows = [row for sentence in sentences for row in (begin, *map(where.__getitem__, sentence), end)]
        places = np.array(rows, dtype=np.int64)
        self.used[places] = self.calls
        self._forget_long(missing)
        return places

    def _add(self, missing: list[Key]) -> None:
        encoded = self.encode(missing)  # [R, D]
        begin, self.filled = self.filled, self.filled + len(missing)
        self._reserve(self.filled)
        self.table[begin : self.filled] = encoded
        self.where.update((key, begin + i) for i, key in enumerate(missing))

    def _make_room(self, needed: dict[Key, None], incoming: int) -> None:
        """Keep what this call needs, and of the rest what was used last, up to half of the limit."""
        others = sorted((key for key in self.where if key not in needed), key=lambda key: -self.used[self.where[key]])
        here = [key for key in needed if key in self.where]
        room = max(0, min(self.limit // 2, self.limit - incoming) - len(here))
        kept = here + others[:room]
        old = np.array([self.where[key] for key in kept], dtype=np.int64)
        capacity = self._capacity(len(kept) + incoming)
        table = np.empty((capacity, self.size), np.float32)
        table[: len(kept)] = self.table[old]
        used = np.zeros(capacity, dtype=np.int64)
        used[: len(kept)] = self.used[old]
        self.table, self.used, self.where = table, used, {key: row for row, key in enumerate(kept)}
        self.filled = len(kept)

    def _reserve(self, rows: int) -> None:
        """Grow the table to hold so many rows."""
        if rows <= len(self.table):
            return
        capacity = self._capacity(rows)
        table = np.empty((capacity, self.size), np.float32)
        table[: len(self.table)] = self.table
        self.table, self.used = table, np.concatenate([self.used, np.zeros(capacity - len(self.used), dtype=np.int64)])

    def _capacity(self, rows: int) -> int:
        """Rows of a table that is to hold ``rows``: twice as many as before, within the limit if that is enough."""
        return max(rows, min(self.limit, max(FIRST_BYTES // (4 * self.size), 2 * len(self.table))))

    def _forget_long(self, keys: list[Key]) -> None:
        for key in keys:
            if isinstance(key, str) and len(key) > LONGEST_KEY:
                del self.where[key]
