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

    def lines(self, label: str = "") -> list[str]:
        """What follows the name in each line; ``label``: 'path="/encode"'."""
        before, alone = (f"{label},", f"{{{label}}}") if label else ("", "")
        counts = [*zip((f"{bound:g}" for bound in self.bounds), self.counts, strict=True), ("+Inf", self.count)]
        buckets = [f'_bucket{{{before}le="{bound}"}} {count}' for bound, count in counts]
        return [*buckets, f"_sum{alone} {self.total:.6f}", f"_count{alone} {self.count}"]


class Metrics:
    """Written by the event loop and by the worker."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: dict[str, Histogram] = {}  # by path
        self._batches = Histogram(SIZES)
        self._tokens = 0
        self.queue = (0, 0)  #: requests and tokens that wait

    def count_request(self, path: str, status: int, seconds: float) -> None:
        with self._lock:
            self._requests[path, status] += 1
            self._seconds.setdefault(path, Histogram(SECONDS)).add(seconds)

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
                _metric("polyseme_request_seconds", "histogram", "Seconds from request to answer.", *self._times()),
                _metric(
                    "polyseme_batch_requests",
                    "histogram",
                    "Requests that a model was asked together.",
                    *self._batches.lines(),
                ),
                _metric("polyseme_tokens_total", "counter", "Tokens read by models.", f" {self._tokens}"),
                _metric("polyseme_queue_requests", "gauge", "Requests that wait.", f" {requests_waiting}"),
                _metric("polyseme_queue_tokens", "gauge", "Tokens that wait.", f" {tokens_waiting}"),
            ]
        if memory := resident_bytes():
            parts.append(_metric("process_resident_memory_bytes", "gauge", "Memory in use.", f" {memory}"))
        return "".join(parts)

    def _times(self) -> list[str]:
        return [line for path, times in sorted(self._seconds.items()) for line in times.lines(f'path="{path}"')]


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
