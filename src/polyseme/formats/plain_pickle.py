"""Pickles of plain values, read without running anything.

A pickle is a small program for a stack machine. This machine has only the instructions that build numbers, strings,
lists, tuples and dicts, and calls only the functions that its caller passes in by name; it stops at everything else. It
reads protocol 2, which ``torch.save`` uses.
"""

from __future__ import annotations

import pickletools
import struct
from collections.abc import Callable, Mapping
from typing import IO, Any

#: "module name" → what a pickle may refer to; values that are not functions stand for themselves.
Known = Mapping[str, Any]

MOST_BYTES = 1 << 28  #: of one string; the pickle of a state dict has names and shapes, not weights
_MARK = object()


class ForeignPickle(Exception):
    """A pickle uses something that plain values do not need; the message names it."""


class DamagedPickle(Exception):
    """The bytes are not a pickle."""


def read_pickle(file: IO[bytes], known: Known, persistent: Callable[[Any], Any] | None = None) -> Any:
    """The value of the pickle that begins here; ``persistent`` turns the pickle's persistent ids into values."""
    machine = _Machine(file, known, persistent)
    try:
        return machine.run()
    except (IndexError, KeyError, TypeError, ValueError, struct.error) as error:
        raise DamagedPickle(str(error)) from None


class _Machine:
    def __init__(self, file: IO[bytes], known: Known, persistent: Callable[[Any], Any] | None) -> None:
        self.file, self.known, self.persistent = file, known, persistent
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        while (code := self.take(1)) != b".":
            step = _STEPS.get(code)
            if step is None:
                self.refuse(code)
            else:
                step(self)
        (value,) = self.stack
        return value

    def refuse(self, code: bytes) -> None:
        names = {operation.code: operation.name for operation in pickletools.opcodes}
        if (name := names.get(code.decode("latin-1"))) is None:
            raise DamagedPickle(f"the byte {code!r} is no instruction")
        raise ForeignPickle(f"the instruction {name}")

    def take(self, count: int) -> bytes:
        if not 0 <= count <= MOST_BYTES:
            raise DamagedPickle("a string is too long")
        found = self.file.read(count)
        if len(found) < count:
            raise DamagedPickle("it ends too early")
        return found

    def number(self, form: str) -> int:
        value: int = struct.unpack(form, self.take(struct.calcsize(form)))[0]
        return value

    def since_mark(self) -> list[Any]:
        place = len(self.stack) - 1
        while self.stack[place] is not _MARK:
            place -= 1
            if place < 0:
                raise DamagedPickle("a mark is missing")
        found = self.stack[place + 1 :]
        del self.stack[place:]
        return found

    def put(self, place: int) -> None:
        self.memo[place] = self.stack[-1]

    def tuple(self, count: int) -> None:
        found = tuple(self.stack[len(self.stack) - count :])
        if len(found) < count or _MARK in found:
            raise DamagedPickle("a tuple is too short")
        del self.stack[len(self.stack) - count :]
        self.stack.append(found)

    def append(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not list:
            raise DamagedPickle("something is appended to what is no list")
        target.extend(items)

    def set_items(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not dict or len(items) % 2:
            raise DamagedPickle("an entry is set in what is no dict")
        for key, value in zip(items[::2], items[1::2], strict=True):
            if type(key) not in (str, int):  # the hash of a tuple of tuples of tuples … can take forever
                raise ForeignPickle(f"a key of type {type(key).__name__}")
            target[key] = value

    def name(self) -> None:
        module, name = (self.line() for _ in range(2))
        if (found := self.known.get(f"{module} {name}")) is None:
            raise ForeignPickle(f"{module}.{name}"[:80])
        self.stack.append(found)

    def line(self) -> str:
        found = self.file.readline(256)
        if not found.endswith(b"\n"):
            raise DamagedPickle("a name does not end")
        return found[:-1].decode("utf-8")

    def call(self) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        if not callable(function) or type(arguments) is not tuple:
            raise DamagedPickle("something is called that is no function")
        self.stack.append(function(*arguments))

    def build(self) -> None:
        """Skip attributes of a dict, such as the versions of a state dict's modules, which are not needed."""
        self.stack.pop()
        if type(self.stack[-1]) is not dict:
            raise ForeignPickle("an object with attributes")

    def find_persistent(self) -> None:
        if self.persistent is None:
            raise ForeignPickle("an id")
        self.stack.append(self.persistent(self.stack.pop()))


_STEPS: dict[bytes, Callable[[_Machine], None]] = {
    b"\x80": lambda m: _check_protocol(m.number("<B")),
    b"(": lambda m: m.stack.append(_MARK),
    b"N": lambda m: m.stack.append(None),
    b"\x88": lambda m: m.stack.append(True),
    b"\x89": lambda m: m.stack.append(False),
    b"K": lambda m: m.stack.append(m.number("<B")),
    b"M": lambda m: m.stack.append(m.number("<H")),
    b"J": lambda m: m.stack.append(m.number("<i")),
    b"\x8a": lambda m: m.stack.append(int.from_bytes(m.take(m.number("<B")), "little", signed=True)),
    b"G": lambda m: m.stack.append(struct.unpack(">d", m.take(8))[0]),
    b"U": lambda m: m.stack.append(m.take(m.number("<B")).decode("utf-8")),
    b"X": lambda m: m.stack.append(m.take(m.number("<I")).decode("utf-8")),
    b"]": lambda m: m.stack.append([]),
    b"a": lambda m: m.append([m.stack.pop()]),
    b"e": lambda m: m.append(m.since_mark()),
    b"}": lambda m: m.stack.append({}),
    b"s": lambda m: m.set_items([m.stack.pop(-2), m.stack.pop()]),
    b"u": lambda m: m.set_items(m.since_mark()),
    b")": lambda m: m.stack.append(()),
    b"t": lambda m: m.stack.append(tuple(m.since_mark())),
    b"\x85": lambda m: m.tuple(1),
    b"\x86": lambda m: m.tuple(2),
    b"\x87": lambda m: m.tuple(3),
    b"q": lambda m: m.put(m.number("<B")),
    b"r": lambda m: m.put(m.number("<I")),
    b"h": lambda m: m.stack.append(m.memo[m.number("<B")]),
    b"j": lambda m: m.stack.append(m.memo[m.number("<I")]),
    b"c": lambda m: m.name(),
    b"R": lambda m: m.call(),
    b"b": lambda m: m.build(),
    b"Q": lambda m: m.find_persistent(),
}


def _check_protocol(number: int) -> None:
    if number > 2:
        raise ForeignPickle(f"protocol {number}")
