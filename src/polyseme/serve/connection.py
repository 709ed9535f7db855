"""A connection that does not wait for ever: for headers that come byte by byte, or for a client that never reads."""

from __future__ import annotations

import asyncio

import h11
import orjson
from uvicorn.protocols.http.h11_impl import H11Protocol

from polyseme.serve.limits import Limits

TICK = 0.5  # seconds between two looks

State = tuple[str, int]


class PatientConnection(H11Protocol):
    """uvicorn's connection, looked at now and then; a class of its own for each server carries the limits."""

    limits = Limits()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            many = f"{self.limits.connections} connections are open already"
            self._refuse(503, f"the server is busy: {many}; try again later")
            return
        self._seen: State = ("idle", 0)
        self._since = self.loop.time()
        self.loop.call_later(TICK, self._look)

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "this is no HTTP/1.1 request that the server can read")

    def _look(self) -> None:
        if self not in self.connections:
            return
        state, now = self._state(), self.loop.time()
        if state != self._seen:
            self._seen, self._since = state, now
        elif now - self._since > self._patience(state):
            self._give_up(state)
            return
        self.loop.call_later(TICK, self._look)

    def _state(self) -> State:
        """What we wait for; a second value that changes is progress."""
        if unread := self.transport.get_write_buffer_size():
            return "unread", unread
        if self.cycle is not None and not self.cycle.response_complete:
            return "ours", id(self.cycle)
        if self.conn.trailing_data[0]:
            return "headers", 0  # however many bytes have come: they have to be complete in time
        return "idle", id(self.cycle)

    def _patience(self, state: State) -> float:
        if state[0] == "ours":
            return float("inf")  # the endpoint has limits of its own
        return self.limits.idle_seconds if state[0] == "idle" else self.limits.receive_seconds

    def _give_up(self, state: State) -> None:
        if state[0] == "headers":
            self._refuse(408, f"the request did not arrive within {self.limits.receive_seconds:g} seconds")
        self.transport.abort() if state[0] == "unread" else self.transport.close()

    def _refuse(self, status: int, sentence: str) -> None:
        """Answer without a request, and close."""
        body = orjson.dumps({"error": sentence})
        reason = {400: "Bad Request", 408: "Request Timeout", 503: "Service Unavailable"}[status]
        head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        if status == 503:
            head += "Retry-After: 1\r\n"
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(f"{head}Connection: close\r\n\r\n".encode() + body)
        self.transport.close()


def connection_class(limits: Limits) -> type[PatientConnection]:
    """uvicorn makes its connections itself, so the limits go with the class."""
    return type("Connection", (PatientConnection,), {"limits": limits})
