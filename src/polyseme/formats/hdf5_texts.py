"""TextReader of any length in an HDF5 file, read without libhdf5.

    attribute    u8 version, u8, u16 sizes of name, type and space, name, type, space, then the value
    value        u32 length, u64 address of a heap, u32 number of the object in it
    heap         "GCOL", 1, 0 0 0, u64 size, then objects: u16 number, u16 references, u32 0, u64 size, content

libhdf5 makes room for whatever length a value says, up to 4 GB, before it looks into the heap. An object of size 0 in
the heap sends it round and round for ever. A type that was damaged into another one ends the process.
"""

from __future__ import annotations

from polyseme.formats.hdf5_structure import ATTRIBUTE, Structure, damaged

_HEAD = 16  # bytes of a heap, and of each object in it, before the content
_SIGNATURE = b"GCOL\x01\0\0\0"
_VARIABLE_TEXT = 9, 1  # of any length; a text, not a list


class TextReader:
    """The texts of a file. A heap is looked through once, as long as the next text is in it too."""

    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        self._heap = -1
        self._objects: dict[int, tuple[int, int]] = {}

    def attribute(self, address: int, name: str) -> str | None:
        """An attribute of the group or array with this address; None if there is none of this name."""
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
        """Where the value of an attribute begins, if it has this name."""
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
        """number → (first byte, size) of what a heap holds; number 0 is free room, whose size counts its own head."""
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
    """The first version of attributes begins everything at a multiple of eight bytes, as heaps do."""
    return -(-size // 8) * 8 if version == 1 else size
