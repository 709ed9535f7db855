"""Where a server listens, whom it lets in, and what it writes down."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from functools import lru_cache

from polyseme.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Listening:
    """A token, or ``public``: anybody may ask, but each client only so often."""

    host: str = "127.0.0.1"
    port: int = 8000  #: 0: any that is free
    token: str | None = None
    public: bool = False  #: a demo for everybody, behind a proxy
    root_path: str = ""  #: the folder in which a proxy shows it: "/elmo"
    origins: tuple[str, ...] = ()  #: of other sites whose pages may ask: "https://example.org", or "*"
    access_log: bool = False
    per_minute: int = 120  #: requests of one client of a public server
    burst: int = 60  #: as many at once; the page asks some ten questions a word

    def __post_init__(self) -> None:
        if self.public and self.token is not None:
            raise ConfigError("a public server asks for no token; leave out --public or --token (POLYSEME_TOKEN)")
        if self.token is None and not self.public and not is_local(self.host):
            raise ConfigError(
                f"{self.host} can be reached from other machines, so a token is needed: "
                "set POLYSEME_TOKEN, or listen on 127.0.0.1, or let everybody in with --public"
            )
        if self.token is not None and not (self.token.isascii() and self.token.isprintable() and len(self.token) >= 8):
            raise ConfigError("a token should have at least 8 printable ASCII characters")
        if self.root_path and (not self.root_path.startswith("/") or self.root_path.endswith("/")):
            raise ConfigError(f"--root-path is {self.root_path!r}, but should look like /elmo: one slash in front")
        for origin in self.origins:
            if origin != "*" and (not origin.startswith(("http://", "https://")) or origin.count("/") != 2):
                raise ConfigError(f"--cors is {origin!r}, but should be an origin such as https://example.org, or *")

    @property
    def local_only(self) -> bool:
        """Whether requests under other names than localhost are refused."""
        return is_local(self.host) and not self.public


@lru_cache(maxsize=64)
def is_local(host: str) -> bool:
    """Whether a name or address means this machine, and nothing but this machine."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
