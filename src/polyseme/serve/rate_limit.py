"""How often one client may ask: a bucket of requests that fills again with time."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from polyseme.serve.limits import Refusal

#: Clients that are remembered; one that was quiet longest is forgotten first, which only favours it.
MOST_CLIENTS = 10_000


@dataclass(slots=True)
class _Bucket:
    left: float
    seen: float


class RateLimit:
    """``burst`` requests at once, and ``per_minute`` over time."""

    def __init__(self, per_minute: float, burst: int, now: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._burst, self._now = per_minute / 60, burst, now
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, client: str) -> None:
        """Count a request; a refusal where the client has none left."""
        now = self._now()
        bucket = self._buckets.pop(client, None) or _Bucket(self._burst, now)
        bucket.left = min(self._burst, bucket.left + (now - bucket.seen) * self._per_second)
        bucket.seen = now
        self._buckets[client] = bucket  # the last one seen stands last
        while len(self._buckets) > MOST_CLIENTS:
            self._buckets.popitem(last=False)
        if bucket.left < 1:
            wait = math.ceil((1 - bucket.left) / self._per_second)
            raise Refusal(
                429, "this is a demo for many, and you asked a lot; wait a moment", {"Retry-After": str(wait)}
            )
        bucket.left -= 1
