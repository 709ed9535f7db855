"""``serve``: listen, answer, and at the end finish what runs."""

from __future__ import annotations

import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from polyseme.errors import JobError, reason_of
from polyseme.serve.asgi import build_app
from polyseme.serve.connection import connection_class
from polyseme.serve.limits import Limits
from polyseme.serve.listening import Listening
from polyseme.serve.served import Models

DRAIN_SECONDS = 30


def serve(
    models: Models, where: Listening, *, limits: Limits | None = None, ready: Callable[[str], None] | None = None
) -> None:
    """Answer until SIGTERM or Ctrl-C; ``ready`` is called with the address when requests can come."""
    listener = listen(where)
    server = make_server(models, where, limits or Limits())
    if ready is not None:
        ready(address(listener))
    with _noted(signal.SIGTERM), _noted(signal.SIGINT) as interrupted:
        server.run(sockets=[listener])
    if interrupted:
        raise KeyboardInterrupt


def make_server(models: Models, where: Listening, limits: Limits) -> uvicorn.Server:
    app = build_app(models, where, limits=limits)
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # a client's broken request is no news
    config = uvicorn.Config(
        app,
        http=connection_class(limits),
        ws="none",
        loop="asyncio",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_keep_alive=int(limits.idle_seconds),
        timeout_graceful_shutdown=DRAIN_SECONDS,
        backlog=512,
    )
    return uvicorn.Server(config)


def listen(where: Listening) -> socket.socket:
    """The socket, so that a port that is taken is a sentence, and port 0 a number."""
    family = socket.AF_INET6 if ":" in where.host else socket.AF_INET
    # Named TCP, so that asyncio sends at once: else a lone answer waits 40 ms between its head and its body.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((where.host, where.port))
    except OSError as error:
        listener.close()
        raise JobError(f"cannot listen on {where.host}:{where.port} ({reason_of(error)}); try another --port") from None
    listener.listen(512)
    return listener


def address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def _noted(number: int) -> Iterator[list[int]]:
    """The signals that came. uvicorn sends itself one again when it has finished; noted, it breaks nothing off."""
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    before = signal.signal(number, lambda *_: came.append(number))
    try:
        yield came
    finally:
        signal.signal(number, before)
