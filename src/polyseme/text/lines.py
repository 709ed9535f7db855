"""Input files, from bytes to lines: decompressed by suffix, UTF-8, in constant memory; errors name the file.

.gz, .xz, .bz2 and .zst are recognised by name; "-" is standard input. A file whose compressed stream is cut off is
refused: half a corpus must not pass for a whole one.

Only "\\n" and "\\r\\n" end a line: ``str.splitlines`` would also split at U+2028, U+0085 or a form feed, which occur
inside sentences.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from polyseme.errors import InputError, reason_of
from polyseme.extras import needing

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

STDIN = "-"
BUFFER_BYTES = 1 << 20
LIMIT_BYTES = 64 << 20  # for one line, and for one document joined from lines
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def open_bytes(source: str) -> io.BufferedReader:
    """The decompressed bytes of the file ``source``, or of standard input for "-"."""
    if source == STDIN:
        return io.BufferedReader(_NamedErrors(sys.stdin.buffer, "standard input", close=False), BUFFER_BYTES)
    path = Path(source)
    compression = compression_of(source)
    try:
        if path.is_dir():
            raise InputError(f"{source} is a folder; give its files, for example {path / '*.txt'}")
        if compression is None:
            return io.BufferedReader(_NamedErrors(path.open("rb"), source), BUFFER_BYTES)
        if path.stat().st_size == 0:
            raise InputError(f"{source} is an empty file, not {compression.title}; copy or download it again")
        return io.BufferedReader(_NamedErrors(compression.open(path), source, compression.title), BUFFER_BYTES)
    except OSError as error:
        raise InputError(f"{source} cannot be read: {reason_of(error)}") from None


def compression_of(source: str) -> Compression | None:
    """How ``source`` is compressed, by its last suffix; MissingExtra if the package for it is not installed."""
    compression = COMPRESSIONS.get(Path(source).suffix.lower())
    if compression is not None and compression.open is _open_zst:
        _zstandard()
    return compression


def without_compression(source: str) -> str:
    """``corpus.jsonl.gz`` → ``corpus.jsonl``."""
    path = Path(source)
    return str(path.with_suffix("")) if path.suffix.lower() in COMPRESSIONS else source


def looks_compressed(start: bytes) -> str | None:
    """The suffix that a file with these first bytes should have, if they are compressed data."""
    return next((suffix for suffix, known in COMPRESSIONS.items() if start.startswith(known.magic)), None)


@dataclass(frozen=True, slots=True)
class Compression:
    """A compressed format: its name in a sentence, its first bytes, and the function that opens it."""

    title: str
    magic: bytes
    open: Callable[[Path], IO[bytes]]


class _NamedErrors(io.RawIOBase):
    """A byte stream whose every error is an InputError that names the file."""

    def __init__(self, stream: IO[bytes], source: str, title: str = "", *, close: bool = True) -> None:
        self._stream, self._source, self._title, self._close = stream, source, title, close

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        try:
            data = self._stream.read(len(view))
        except EOFError:
            raise InputError(
                f"{self._source} ends in the middle of {self._title}: it is truncated; copy or download it again"
            ) from None
        except (gzip.BadGzipFile, lzma.LZMAError, zlib.error, _ZstdProblem) as error:
            raise InputError(f"{self._source} is not {self._title}, or is damaged ({error})") from None
        except OSError as error:
            problem = f"is not {self._title}, or is damaged" if self._title else "cannot be read"
            raise InputError(f"{self._source} {problem}: {reason_of(error)}") from None
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if self._close and not self.closed:
            self._stream.close()
        super().close()


class _ZstdProblem(Exception):
    """An error of zstandard, whose own exception type need not be imported for this."""


class _ZstdFile(io.RawIOBase):
    """Consecutive Zstandard frames; EOFError if the last one is cut off.

    zstandard's own stream_reader ends silently at a cut, so the frames are followed here with decompressobj,
    which knows whether it has seen the end. It is fed 256 bytes at a time: at the format's highest ratio (128 KB
    from 4 bytes) that is at most 8 MB at once.
    """

    FEED_BYTES = 256

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._module = _zstandard()
        self._frame = self._module.ZstdDecompressor().decompressobj()
        self._in_frame = False
        self._compressed = b""  # read from the file, after the end of the last frame
        self._ready = memoryview(b"")  # decompressed, but not yet read

    def read(self, size: int = -1) -> bytes:
        while not self._ready:
            fed = self._compressed or self._file.read(self.FEED_BYTES)
            self._compressed = b""
            if not fed and self._in_frame:
                raise EOFError
            if not fed:
                return b""
            self._ready = memoryview(self._decompress(fed))
        end = len(self._ready) if size < 0 else size
        piece, self._ready = bytes(self._ready[:end]), self._ready[end:]
        return piece

    def _decompress(self, fed: bytes) -> bytes:
        try:
            data = cast(bytes, self._frame.decompress(fed))
        except self._module.ZstdError as error:
            raise _ZstdProblem(error) from None
        self._in_frame = not self._frame.eof
        if self._frame.eof:
            self._compressed = self._frame.unused_data
            self._frame = self._module.ZstdDecompressor().decompressobj()
        return data

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _open_gz(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path, "rb"))


def _open_xz(path: Path) -> IO[bytes]:
    return lzma.open(path, "rb")


def _open_bz2(path: Path) -> IO[bytes]:
    return bz2.open(path, "rb")


def _open_zst(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", _ZstdFile(path.open("rb")))


def _zstandard() -> Any:
    with needing("reading .zst files", "files"):
        import zstandard
    return zstandard


COMPRESSIONS = {
    ".gz": Compression("gzip data", b"\x1f\x8b", _open_gz),
    ".xz": Compression("xz data", b"\xfd7zXZ\x00", _open_xz),
    ".bz2": Compression("bzip2 data", b"BZh", _open_bz2),
    ".zst": Compression("Zstandard data", b"\x28\xb5\x2f\xfd", _open_zst),
}


def read_lines(stream: io.BufferedReader, source: str) -> Iterator[str]:
    """Every line without its end; errors name ``source`` and the line, counted from 1 as editors do."""
    return (line for _, line in numbered_lines(stream, source))


def numbered_lines(
    stream: io.BufferedReader, source: str, skipped: list[int] | None = None
) -> Iterator[tuple[int, str]]:
    """The same with line numbers; lines that are not UTF-8 are left out if ``skipped`` is given, and noted in it."""
    _refuse_binary(stream.peek(8192)[:8192], source)
    number = 0
    while raw := stream.readline(LIMIT_BYTES + 1):
        number += 1
        if len(raw) > LIMIT_BYTES:
            raise InputError(
                f"{source}, line {number} is longer than {LIMIT_BYTES >> 20} MB; "
                "expected lines of text, so break it into shorter ones"
            )
        if number == 1:
            raw = raw.removeprefix(_BOM)
        try:
            line = raw.decode()
        except UnicodeDecodeError as error:
            if skipped is None:
                raise _not_utf8(raw, error, source, number) from None
            skipped.append(number)
        else:
            yield number, line.removesuffix("\n").removesuffix("\r")


def _not_utf8(raw: bytes, error: UnicodeDecodeError, source: str, number: int) -> InputError:
    return InputError(
        f"{source}, line {number} is not UTF-8 (byte 0x{raw[error.start]:02x} at position {error.start + 1}); "
        "convert the file to UTF-8"
    )


def _refuse_binary(start: bytes, source: str) -> None:
    if suffix := looks_compressed(start):
        raise InputError(f"{source} holds compressed data where text was expected; give it a name ending in {suffix}")
    if start.startswith(_UTF16):
        raise InputError(f"{source} is UTF-16 where UTF-8 was expected; convert the file to UTF-8")
    if b"\0" in start:
        raise InputError(f"{source} holds binary data where text was expected; give a text file, or name its format")
