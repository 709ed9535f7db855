"""The addresses that libhdf5 follows in a file without checks, checked before it does; and texts, read without it.

    superblock → the header of the root group → messages, among them
        a symbol table    a tree of names, whose leaves lead to the headers of more groups and arrays, and their heap
        a layout          a tree of the chunks of an array
        an attribute      u8 version, u8, u16 sizes of name, type and space, name, type, space, then the value
    value of a text       u32 length, u64 address of a heap, u32 number of the object in it
    heap of texts         "GCOL", 1, 0 0 0, u64 size, then objects: u16 number, u16 references, u32 0, u64 size, content

libhdf5 trusts these addresses. A free list in a heap that leads to itself makes it loop for ever, and a tree node that
is its own child crashes the process, so both are refused here. This is the older layout, which h5py writes by default
and which every release of weights has. The newer one has checksums, and is not checked here.

For a text, libhdf5 allocates any length that a value states, up to 4 GB, before it looks into the heap. An object of
size 0 in the heap makes it loop for ever. A type damaged into another one crashes the process.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SIGNATURE = b"\x89HDF\r\n\x1a\n"
UNDEFINED = (1 << 64) - 1  #: the null address
ATTRIBUTE = 0x0C
_LAYOUT, _CONTINUATION, _SYMBOL_TABLE = 0x08, 0x10, 0x11
_NO_FREE_ROOM = 1
_HEAD = 16  # bytes before the content of a heap, and of each object in it
_SIGNATURE = b"GCOL\x01\0\0\0"
_VARIABLE_TEXT = 9, 1  # variable length; a text, not a list


@dataclass(frozen=True, slots=True)
class HeaderMessage:
    """A piece of the header of a group or an array."""

    kind: int
    start: int  #: position of its content in the file
    size: int


class Structure:
    """The addresses in a file; ValueError if one leads nowhere, or in a circle."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._steps = 1000 + 4 * len(data)  # a bound that sound files stay far below, and circles exceed
        self.base = _superblock(data)  #: the origin of addresses

    def check_root(self) -> int | None:
        """Check the root group and return its address; None for a file in the newer layout."""
        version = self._data[self.base + 8]
        if version > 1:
            return None
        if self._data[self.base + 13 : self.base + 15] != b"\x08\x08":
            raise damaged(self.base + 13, "addresses do not have 8 bytes")
        if self.unpack("<Q", self.base + (40 if version == 0 else 44))[0] > len(self._data):
            raise ValueError("it is truncated")
        entry = self.base + (56 if version == 0 else 60)
        _, root, cached, _, tree, heap = self.unpack("<QQIIQQ", entry)
        if cached == 1:  # libhdf5 may use these instead of those in the header
            self._check_symbol_table(tree, heap)
        self.check(root)
        return int(root)

    def check_all(self) -> None:
        """Check every group and array that can be reached."""
        root = self.check_root()
        pending, seen = [] if root is None else [root], set[int]()
        while pending:
            if (address := pending.pop()) not in seen:
                seen.add(address)
                pending += self.check(address)

    def check(self, address: int) -> list[int]:
        """Check one group or array by its address; returns the addresses of those directly in it."""
        inner: list[int] = []
        for message in self.messages(address):
            if message.kind == _SYMBOL_TABLE:
                inner += self._check_symbol_table(*self.unpack("<QQ", message.start))
            elif message.kind == _LAYOUT and self._data[message.start : message.start + 2] == b"\x03\x02":
                dimensions, tree = self.unpack("<BQ", message.start + 2)
                for _ in self._leaves(tree, kind=1, key=8 + 8 * dimensions):
                    pass
        return inner

    def messages(self, address: int) -> Iterator[HeaderMessage]:
        """The messages of the header at an address; none for one in the newer layout."""
        at = self.base + address
        if self._data[at : at + 4] == b"OHDR":
            return
        version, size = self.unpack("<B7xI", at)
        if version != 1:
            raise damaged(at, "no header of a group or an array")
        blocks = [(at + 16, size)]
        for start, length in blocks:
            end = min(start + length, len(self._data))
            while start + 8 <= end:
                kind, size = self.unpack("<HH", start)
                if kind == _CONTINUATION:
                    address, length = self.unpack("<QQ", start + 8)
                    blocks.append((self.base + address, length))
                else:
                    yield HeaderMessage(kind, start + 8, size)
                start += 8 + size

    def unpack(self, form: str, start: int) -> tuple[int, ...]:
        """Unpack numbers of the file, counting steps against the bound."""
        self._steps -= 1
        if start + struct.calcsize(form) > len(self._data):
            raise damaged(start, "an address beyond the end")
        if self._steps < 0:
            raise damaged(start, "parts that lie within each other")
        return struct.unpack_from(form, self._data, start)

    def content(self, start: int, size: int) -> bytes:
        """Bytes of the file."""
        if start + size > len(self._data):
            raise damaged(start, "an address beyond the end")
        return self._data[start : start + size]

    def _check_symbol_table(self, tree: int, heap: int) -> list[int]:
        self._check_heap(heap)
        return [inner for leaf in self._leaves(tree, kind=0, key=8) for inner in self._entries(leaf)]

    def _entries(self, address: int) -> Iterator[int]:
        at = self.base + address
        if self.content(at, 4) != b"SNOD":
            raise damaged(at, "no table of names")
        (count,) = self.unpack("<H", at + 6)
        for number in range(count):
            _, header, cached, _, _, heap = self.unpack("<QQIIQQ", at + 8 + 40 * number)
            if cached == 1:
                self._check_heap(heap)
            if header != UNDEFINED and cached != 2:  # 2: a link by name
                yield header

    def _check_heap(self, address: int) -> None:
        """Check the heap with the names of a group: its free list must end."""
        at = self.base + address
        if self.content(at, 4) != b"HEAP":
            raise damaged(at, "no heap of names")
        size, free, start = self.unpack("<QQQ", at + 8)
        for _ in range(size // 16 + 1):
            if free == _NO_FREE_ROOM:
                return
            free, _ = self.unpack("<QQ", self.base + start + min(free, len(self._data)))
        raise damaged(at, "free room that leads to itself")

    def _leaves(self, address: int, *, kind: int, key: int) -> Iterator[int]:
        """The addresses in the lowest nodes of a tree."""
        pending: list[tuple[int, int | None]] = [] if address == UNDEFINED else [(address, None)]
        while pending:
            address, expected = pending.pop()
            at = self.base + address
            found, level, count = self.unpack("<BBH", at + 4)
            if self.content(at, 4) != b"TREE" or found != kind:
                raise damaged(at, "no node of a tree")
            if expected is not None and level != expected:
                raise damaged(at, "a node of a tree on the wrong level")
            for number in range(count):
                (child,) = self.unpack("<Q", at + 24 + key + (key + 8) * number)
                if level:
                    pending.append((child, level - 1))
                else:
                    yield child


def damaged(place: int, what: str) -> ValueError:
    return ValueError(f"{what}, at byte {place:,}")


def _superblock(data: mmap.mmap) -> int:
    """Where the HDF5 content begins: at byte 0, or at 512, 1024, … after other content."""
    start = 0
    while start + 64 <= len(data):
        if data[start : start + 8] == SIGNATURE:
            return start
        start = 2 * start or 512
    raise OSError("it does not begin as HDF5 does")


@contextmanager
def open_structure(path: Path) -> Iterator[Structure]:
    """The structure of a file, within the block."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        yield Structure(data)


class TextReader:
    """Reads the texts of a file. A heap is scanned once for consecutive texts in it."""

    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        self._heap = -1
        self._objects: dict[int, tuple[int, int]] = {}

    def attribute(self, address: int, name: str) -> str | None:
        """An attribute of the group or array at this address; None if there is none with this name."""
        for message in self._structure.messages(address):
            if message.kind == ATTRIBUTE:
                value = self._value_of(message.start, name.encode() + b"\0")
                if value is not None:
                    return self.at(value)
        return None

    def at(self, start: int) -> str:
        """The text whose value begins at this byte."""
        length, heap, number = self._structure.unpack("<IQI", start)
        if not length:
            return ""
        if heap != self._heap:
            self._heap, self._objects = heap, self._objects_of(self._structure.base + heap)
        found, size = self._objects.get(number, (0, -1))
        if size != length:
            raise damaged(start, "a text that is not where it should be")
        return self._structure.content(found, size).rstrip(b"\0").decode()

    def _value_of(self, start: int, name: bytes) -> int | None:
        """Where the value of an attribute begins, if the attribute has this name."""
        version, named, typed, spaced = self._structure.unpack("<BxHHH", start)
        begin = start + (9 if version == 3 else 8)
        if self._structure.content(begin, named) != name:
            return None
        kind = begin + _padded(named, version)
        first, second = self._structure.content(kind, 2)
        if (first & 15, second & 15) != _VARIABLE_TEXT:
            raise damaged(kind, f"the attribute {name[:-1].decode()!r} is no text")
        return kind + _padded(typed, version) + _padded(spaced, version)

    def _objects_of(self, at: int) -> dict[int, tuple[int, int]]:
        """number → (first byte, size) of each object in a heap; number 0 is free space, including its head."""
        if self._structure.content(at, 8) != _SIGNATURE:
            raise damaged(at, "no heap of texts")
        (size,) = self._structure.unpack("<Q", at + 8)
        found: dict[int, tuple[int, int]] = {}
        place, end = at + _HEAD, at + size
        while place + _HEAD <= end:
            number, length = self._structure.unpack("<H6xQ", place)
            if length > size or (number == 0 and length < _HEAD):
                raise damaged(place, "a text that cannot have the size that it says")
            found[number] = place + _HEAD, length
            place += length if number == 0 else _HEAD + _padded(length)
        return found


def _padded(size: int, version: int = 1) -> int:
    """A size rounded up to a multiple of eight bytes, as in version 1 of attributes and in heaps."""
    return -(-size // 8) * 8 if version == 1 else size
