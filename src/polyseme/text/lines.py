"""Lines of a byte stream: UTF-8, ended by "\\n" or "\\r\\n" and by nothing else, in constant memory.

``str.splitlines`` would also split at U+2028, U+0085 or a form feed, which occur inside sentences.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

from polyseme.errors import InputError
from polyseme.text.compression import looks_compressed

LIMIT_BYTES = 64 << 20  # of one line, and of one document put together from lines
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read_lines(stream: io.BufferedReader, source: str) -> Iterator[str]:
    """Every line without its end; errors name ``source`` and the line, counted from 1 as editors do."""
    return (line for _, line in numbered_lines(stream, source))


def numbered_lines(
    stream: io.BufferedReader, source: str, skipped: list[int] | None = None
) -> Iterator[tuple[int, str]]:
    """The same with their numbers; where ``skipped`` is given, it gets the numbers of lines that are not UTF-8."""
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
        raise InputError(f"{source} holds binary data where text was expected; give a text file, or name its kind")
