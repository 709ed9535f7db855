"""What stands before every endpoint: who may ask, how much and how slowly; refusals as JSON; headers; counting."""

from __future__ import annotations

import asyncio
import hmac
import time
import zlib

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from polyseme.serve.access_log import AccessLog, request_id
from polyseme.serve.answers import refused
from polyseme.serve.limits import Limits, Refusal
from polyseme.serve.listening import Listening, is_local
from polyseme.serve.metrics import Metrics
from polyseme.serve.rate_limit import RateLimit

#: A page of ours loads nothing from elsewhere and talks to nobody else, whatever stands in a text.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}

#: How much of a body that is too large is still read, so that a client that writes before it reads hears the answer.
PATIENT_READS = 16

CLOSE = {"Connection": "close"}


class Guard:
    """The application behind it sees only requests that may be asked."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        metrics: Metrics,
        where: Listening,
        open_to_all: frozenset[str],  #: paths that need no token and count for no rate
        counted: frozenset[str],  #: paths with a count of their own; a client could make up any number of others
    ) -> None:
        self._app, self._metrics, self._where = app, metrics, where
        self._open_to_all, self._counted = open_to_all, counted
        self._log = AccessLog() if where.access_log else None
        self._rate = RateLimit(where.per_minute, where.burst) if where.public else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 499  # what is counted when the client has gone
        scope = {**scope, "path": self._own_path(scope["path"])}
        request = Request(scope, receive)
        name = request_id(request)
        headers = [(key.lower().encode(), value.encode()) for key, value in {**HEADERS, "X-Request-ID": name}.items()]

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *headers]
            await send(message)

        try:
            self._check(request)
            await self._app(scope, receive, send_with_headers)
        except Refusal as refusal:
            await refused(refusal, scope["path"])(scope, receive, send_with_headers)
        except ClientDisconnect:
            pass
        except Exception:
            status = 500
            raise
        finally:
            path, seconds = scope["path"], time.monotonic() - began
            self._metrics.count_request(path if path in self._counted else "other", status, seconds)
            if self._log is not None:
                self._log.write(request, name, status, seconds)

    def _own_path(self, path: str) -> str:
        """Without the folder in which a proxy shows us; some proxies take it off themselves."""
        root = self._where.root_path
        return path.removeprefix(root) if root and path.startswith(f"{root}/") else path

    def _check(self, request: Request) -> None:
        if self._where.local_only and not is_local(_host_name(request.headers.get("host", ""))):
            # Else a page elsewhere could reach this server through a name of its own that leads to 127.0.0.1.
            raise Refusal(403, "this server listens on this machine only, so call it localhost or 127.0.0.1", CLOSE)
        if request.scope["path"] in self._open_to_all:
            return
        if self._rate is not None:
            self._rate.take(request.client.host if request.client else "")
        if self._where.token is None:
            return
        given = request.headers.get("authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {self._where.token}".encode()):
            headers = {"WWW-Authenticate": "Bearer", **CLOSE}
            raise Refusal(401, "this server asks for a token; send the header Authorization: Bearer TOKEN", headers)


async def read_body(request: Request, limits: Limits) -> bytes:
    """The body of a JSON request, or a refusal if it is something else, too large or too slow."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # a form of another site cannot send this type without asking first
        raise Refusal(415, "the body should be JSON: send the header Content-Type: application/json", CLOSE)
    declared = request.headers.get("content-length", "0")
    if int(declared) > limits.body_bytes and "expect" in request.headers:
        raise _too_large(limits)
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("identity", "gzip"):
        raise Refusal(415, f"the body is coded as {coding[:20]!r}, but may be gzip or nothing", CLOSE)
    body, size = bytearray(), 0
    try:
        async with asyncio.timeout(limits.receive_seconds):
            async for chunk in request.stream():
                size += len(chunk)
                if size <= limits.body_bytes:
                    body += chunk
                elif size > PATIENT_READS * limits.body_bytes:
                    break
    except TimeoutError:
        sentence = f"the body did not arrive within {limits.receive_seconds:g} seconds"
        raise Refusal(408, sentence, CLOSE) from None
    if size > limits.body_bytes:
        raise _too_large(limits)
    return _unpacked(body, limits) if coding == "gzip" else bytes(body)


def _unpacked(body: bytearray, limits: Limits) -> bytes:
    """Of gzip, never more than the limit: a few bytes can stand for a great many."""
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        found = unpacker.decompress(bytes(body), limits.body_bytes + 1)
    except zlib.error:
        raise Refusal(400, "the body says that it is gzip, but cannot be unpacked", CLOSE) from None
    if len(found) > limits.body_bytes:
        raise _too_large(limits)
    if not unpacker.eof:
        raise Refusal(400, "the body says that it is gzip, but its end is missing", CLOSE)
    return found


def _host_name(header: str) -> str:
    """ "[::1]:8000" → "::1" """
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0]


def _too_large(limits: Limits) -> Refusal:
    return Refusal(413, f"a body may have {limits.body_bytes:,} bytes, but this one is larger; send it in parts", CLOSE)
