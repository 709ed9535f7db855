"""A web server on this machine with every fault that a download meets."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread


@dataclass
class Served:
    """A file and how it is served; by default as it should be."""

    content: bytes | Path = b""
    ranges: bool = True  #: whether pieces can be asked for
    tag: str | None = '"v1"'
    breaks_after: int | None = None  #: bytes of an answer, then the connection is closed
    stalls_after: int | None = None  #: bytes of an answer, then nothing more comes until the client has gone
    promises: int | None = None  #: the size that is told, where it is a lie
    sends_length: bool = True
    status: int = 200
    failures: int = 0  #: answers of 503 before the first real one
    redirect: str | None = None
    silent_for: float = 0.0  #: seconds in the middle of an answer
    wait: float = 0.0  #: seconds before the answer
    pause: float = 0.0  #: seconds after every block
    wrong_piece: bool = False  #: answers a range with bytes that nobody asked for

    @property
    def size(self) -> int:
        return self.content.stat().st_size if isinstance(self.content, Path) else len(self.content)

    def blocks(self, start: int, stop: int, block: int = 1 << 16) -> Iterator[bytes]:
        if isinstance(self.content, bytes):
            yield from (self.content[at : min(at + block, stop)] for at in range(start, stop, block))
            return
        with self.content.open("rb") as file:
            file.seek(start)
            while start < stop and (data := file.read(min(block, stop - start))):
                start += len(data)
                yield data


@dataclass(frozen=True)
class Asked:
    """One request."""

    path: str
    range: str | None


@contextmanager
def serving(files: Mapping[str, Served]) -> Iterator[tuple[str, list[Asked]]]:
    """The address of a server with these files, by their paths, and the list of what it is asked."""
    asked: list[Asked] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(Asked(self.path, self.headers.get("Range")))
            served = files.get(self.path.partition("?")[0])
            if served is None:
                self.send_error(404)
            elif served.failures:
                served.failures -= 1
                self.send_error(503)
            elif served.redirect:
                self.send_response(302)
                self.send_header("Location", served.redirect)
                self.end_headers()
            elif served.status != 200:
                self.send_error(served.status)
            else:
                self._send(served)

        def _send(self, served: Served) -> None:
            time.sleep(served.wait)
            start = self._start(served)
            if start is None or start < served.size:
                self._headers(served, start)
                self._body(served, start or 0)
            else:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{served.size}")
                self.end_headers()

        def _start(self, served: Served) -> int | None:
            wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
            known = self.headers.get("If-Range")
            if wanted is None or not served.ranges or (known is not None and known != served.tag):
                return None
            return int(wanted[1])

        def _headers(self, served: Served, start: int | None) -> None:
            self.send_response(200 if start is None else 206)
            length = (served.promises or served.size) - (start or 0)
            if served.sends_length:
                self.send_header("Content-Length", str(length))
            if start is not None:
                first = start + 1 if served.wrong_piece else start
                self.send_header("Content-Range", f"bytes {first}-{served.size - 1}/{served.promises or served.size}")
            if served.tag:
                self.send_header("ETag", served.tag)
            self.end_headers()

        def _body(self, served: Served, start: int) -> None:
            most = served.breaks_after or served.stalls_after
            stop = served.size if most is None else min(served.size, start + most)
            for number, block in enumerate(served.blocks(start, stop)):
                if number == 1 and served.silent_for:
                    time.sleep(served.silent_for)
                self.wfile.write(block)
                time.sleep(served.pause)
            self.wfile.flush()
            if served.stalls_after is not None and stop < served.size:
                self.rfile.read(1)
            self.close_connection = True

        def log_message(self, *args: object) -> None:
            pass

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except (BrokenPipeError, ConnectionResetError):  # the client was killed
                self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
