"""One line for each request: JSON, so that it can be searched; and an id that client and log share."""

from __future__ import annotations

import re
import secrets
import sys
import time
from dataclasses import dataclass, field
from typing import TextIO

import orjson
from starlette.requests import Request

_SANE = re.compile(r"[\w.-]{1,64}", re.ASCII)


def request_id(request: Request) -> str:
    """The one that the client or a proxy gave, if it is fit for a log, else a new one."""
    given = request.headers.get("x-request-id", "")
    return given if _SANE.fullmatch(given) else secrets.token_hex(8)


@dataclass(frozen=True, slots=True)
class AccessLog:
    """Lines to a stream; what texts say is never in them."""

    stream: TextIO = field(default_factory=lambda: sys.stderr)

    def write(self, request: Request, name: str, status: int, seconds: float) -> None:
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "id": name,
            "client": request.client.host if request.client else None,
            "method": request.method[:12],
            "path": request.scope["path"][:200],
            "status": status,
            "ms": round(1000 * seconds, 1),
        }
        self.stream.write(orjson.dumps(line).decode() + "\n")
        self.stream.flush()
