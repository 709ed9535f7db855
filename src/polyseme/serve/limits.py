"""What the server accepts, and how it says no."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one request, of what waits, and of patience; seconds and bytes."""

    body_bytes: int = 1_000_000
    texts: int = 512  #: of one request
    characters: int = 200_000  #: of one request, counted before anything is split
    tokens: int = 4096  #: of one request
    answer_bytes: int = 32_000_000  #: of one answer, as far as its numbers can be counted before they are computed
    waiting: int = 512  #: requests in the queue
    waiting_tokens: int = 65_536  #: of all requests in the queue
    answer_seconds: float = 30.0  #: from the complete request to its answer
    receive_seconds: float = 10.0  #: for the bytes of a request, and for a client that does not read its answer
    idle_seconds: float = 60.0  #: of a connection without a request
    connections: int = 1024


class Refusal(Exception):
    """An answer other than 200: its status, and one sentence."""

    def __init__(self, status: int, sentence: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, headers or {}
