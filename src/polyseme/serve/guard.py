"""What stands before every endpoint: who may ask, how much and how slowly; refusals as JSON; headers; counting."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import time

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from polyseme.serve.answers import refused
from polyseme.serve.limits import Limits, Refusal
from polyseme.serve.metrics import Metrics

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
        token: str | None,
        local_only: bool,
        public: frozenset[str],  #: paths that need no token
        counted: frozenset[str],  #: paths with a count of their own; a client could make up any number of others
    ) -> None:
        self._app, self._metrics, self._token, self._local_only = app, metrics, token, local_only
        self._public, self._counted = public, counted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 499  # what is counted when the client has gone

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] += [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            await send(message)

        request = Request(scope, receive)
        try:
            self._check(request)
            await self._app(scope, receive, send_with_headers)
        except Refusal as refusal:
            await refused(refusal)(scope, receive, send_with_headers)
        except ClientDisconnect:
            pass
        except Exception:
            status = 500
            raise
        finally:
            path = scope["path"] if scope["path"] in self._counted else "other"
            self._metrics.count_request(path, status, time.monotonic() - began)

    def _check(self, request: Request) -> None:
        if self._local_only and not is_local(_host_name(request.headers.get("host", ""))):
            # Else a page elsewhere could reach this server through a name of its own that leads to 127.0.0.1.
            raise Refusal(403, "this server listens on this machine only, so call it localhost or 127.0.0.1", CLOSE)
        if self._token is None or request.scope["path"] in self._public:
            return
        given = request.headers.get("authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {self._token}".encode()):
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
    return bytes(body)


def is_local(host: str) -> bool:
    """Whether a name or address means this machine, and nothing but this machine."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _host_name(header: str) -> str:
    """ "[::1]:8000" → "::1" """
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0]


def _too_large(limits: Limits) -> Refusal:
    return Refusal(413, f"a body may have {limits.body_bytes:,} bytes, but this one is larger; send it in parts", CLOSE)
