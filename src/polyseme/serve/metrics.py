"""Counters for /metrics, in the text format that Prometheus reads."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

from polyseme import __version__

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Histogram:
    """How many values were at most as large as each bound."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * len(bounds)
        self.total, self.count = 0.0, 0

    def add(self, value: float) -> None:
        self.total += value
        self.count += 1
        for number, bound in enumerate(self.bounds):
            if value <= bound:
                self.counts[number] += 1

    def lines(self) -> list[str]:
        """What follows the name in each line."""
        buckets = [f'_bucket{{le="{bound:g}"}} {count}' for bound, count in zip(self.bounds, self.counts, strict=True)]
        return [*buckets, f'_bucket{{le="+Inf"}} {self.count}', f"_sum {self.total:.6f}", f"_count {self.count}"]


class Metrics:
    """Written by the event loop and by the worker."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds = Histogram(SECONDS)
        self._batches = Histogram(SIZES)
        self._tokens = 0
        self.queue = (0, 0)  #: requests and tokens that wait

    def count_request(self, path: str, status: int, seconds: float) -> None:
        with self._lock:
            self._requests[path, status] += 1
            self._seconds.add(seconds)

    def count_batch(self, requests: int, tokens: int) -> None:
        with self._lock:
            self._batches.add(requests)
            self._tokens += tokens

    def text(self) -> str:
        with self._lock:
            requests = [
                f'{{path="{path}",status="{status}"}} {count}'
                for (path, status), count in sorted(self._requests.items())
            ]
            requests_waiting, tokens_waiting = self.queue
            parts = [
                _metric("polyseme_info", "gauge", "The version that runs.", f'{{version="{__version__}"}} 1'),
                _metric("polyseme_requests_total", "counter", "Requests answered.", *requests),
                _histogram("polyseme_request_seconds", "Seconds from request to answer.", self._seconds),
                _histogram("polyseme_batch_requests", "Requests that a model was asked together.", self._batches),
                _metric("polyseme_tokens_total", "counter", "Tokens read by models.", f" {self._tokens}"),
                _metric("polyseme_queue_requests", "gauge", "Requests that wait.", f" {requests_waiting}"),
                _metric("polyseme_queue_tokens", "gauge", "Tokens that wait.", f" {tokens_waiting}"),
            ]
        if memory := resident_bytes():
            parts.append(_metric("process_resident_memory_bytes", "gauge", "Memory in use.", f" {memory}"))
        return "".join(parts)


def resident_bytes() -> int | None:
    """Memory of this process; None where the system does not say."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    found = [line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmRSS:")]
    return int(found[0]) * 1024 if found else None


def _metric(name: str, kind: str, explained: str, *values: str) -> str:
    """``values``: what follows the name, labels and number."""
    lines = [f"# HELP {name} {explained}", f"# TYPE {name} {kind}", *(name + value for value in values)]
    return "\n".join(lines) + "\n"


def _histogram(name: str, explained: str, values: Histogram) -> str:
    return _metric(name, "histogram", explained, *values.lines())
