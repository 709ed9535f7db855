"""Static vectors are kept in a cache."""

from __future__ import annotations

from helpers.caches import own_cache as own_cache
