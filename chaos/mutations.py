"""Files, changed as disks, networks, editors and attackers change them; the same random numbers give the same change.

Bytes are flipped, cut, repeated, moved. What has a structure is also changed within it and put together again, so that
the change gets past the container: JSON values, the header of safetensors, members of archives, compressed streams,
arrays of HDF5, entries of a TensorFlow table with their checksums made right.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from polyseme.formats.crc32c import crc32c, masked

#: What a number, a name or a list may turn into.
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 255, 256, 2**31, 2**32, 2**53, 2**63, -(2**63), 2**64, 10**30, 0.5, -0.0, 1e-300,
    1e308, "", "a", "\0", "0", "é", "\ud800", "x" * 5000, "../../etc/passwd", [], [[]], {}, [0] * 1000,
    {"a": {"b": []}},
)  # fmt: skip
NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**63 - 1, 2**64 - 1)
TOKENS = (b"\0", b"\n", b"\r\n", b"\t", b" ", b'"', b"{", b"}", b"[", b"]", b",", b":", b"-", b"e999", b"NaN", b"\xff",
          b"\xf0\x9f\x98\x80", b"\xed\xa0\x80", b"9" * 5000, b"(" * 300, b"[" * 3000, b"PK\x03\x04",
          b"\x1f\x8b")  # fmt: skip


def mutate_folder(folder: Path, chance: random.Random) -> str:
    """One to three changes of the files of a folder; which files."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    changed = []
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        path = chance.choice(paths)
        if chance.random() < 0.02:
            path.unlink()
            paths.remove(path)
            if not paths:
                break
        else:
            path.write_bytes(mutate(path.name, path.read_bytes(), chance))
        changed.append(path.name)
    return ", ".join(changed)


def mutate(name: str, data: bytes, chance: random.Random) -> bytes:
    """The content of a file, changed by what its name and its first bytes say that it is."""
    if chance.random() < 0.6:
        for fits, change in STRUCTURES:
            if fits(name, data):
                try:
                    return change(name, data, chance)
                except Exception:  # an earlier change has left no structure
                    break
    return mutate_bytes(data, chance)


def mutate_bytes(data: bytes, chance: random.Random) -> bytes:
    content = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4, 8))):
        where = chance.randrange(len(content) + 1)
        if chance.random() < 0.3:
            where = min(where, chance.choice((8, 64, 512)))  # headers decide most
        size = min(len(content) - where, chance.choice((1, 1, 2, 4, 8, 64, 1000)))
        kind = chance.randrange(8)
        if kind == 0 and size:
            content[where] ^= 1 << chance.randrange(8)
        elif kind == 1:
            content[where : where + size] = chance.randbytes(size)
        elif kind == 2:
            del content[where : where + size]
        elif kind == 3:
            content[where:where] = content[where : where + size] * chance.choice((1, 2, 50))
        elif kind == 4:
            content[where:where] = chance.choice(TOKENS)
        elif kind == 5:
            width = chance.choice((1, 2, 4, 8))
            number = chance.choice(NUMBERS) & (1 << 8 * width) - 1
            content[where : where + width] = number.to_bytes(width, chance.choice(("little", "big")))
        elif kind == 6 and chance.random() < 0.3:
            del content[where:]
        else:
            other = chance.randrange(len(content) + 1)
            content[where : where + size] = content[other : other + size]
    return bytes(content[: 4 * len(data) + (1 << 16)])


def mutate_json(name: str, data: bytes, chance: random.Random) -> bytes:
    values = json.loads(data)
    for _ in range(chance.choice((1, 1, 2, 3))):
        values = _changed(values, chance)
    if isinstance(values, dict) and "checksum" in values and chance.random() < 0.7:
        from polyseme.jobs.manifests import checksum_of

        del values["checksum"]
        values["checksum"] = checksum_of(values)
    text = json.dumps(values)
    if chance.random() < 0.05:
        text = text.replace("1", "1" * 5000, 1)
    return text.encode("utf-8", "surrogatepass")


def _changed(values: Any, chance: random.Random) -> Any:
    """A tree with one node replaced, removed, renamed or repeated."""
    if isinstance(values, dict) and values and chance.random() < 0.9:
        key = chance.choice(list(values))
        kind = chance.random()
        if kind < 0.75:
            return {**values, key: _changed(values[key], chance)}
        if kind < 0.85:
            return {one: value for one, value in values.items() if one != key}
        return {(f"{one}x" if one == key else one): value for one, value in values.items()}
    if isinstance(values, list) and values and chance.random() < 0.9:
        place = chance.randrange(len(values))
        kind = chance.random()
        if kind < 0.7:
            return [*values[:place], _changed(values[place], chance), *values[place + 1 :]]
        return values[:place] + values[place + 1 :] if kind < 0.85 else values + values[place:]
    if isinstance(values, int) and chance.random() < 0.4:
        return values + chance.choice((-1, 1, values, 10 * values))
    return chance.choice(VALUES)


def mutate_safetensors(name: str, data: bytes, chance: random.Random) -> bytes:
    """Its header as JSON, with the length made right."""
    length = int.from_bytes(data[:8], "little")
    header = mutate_json(name, data[8 : 8 + length], chance)
    return len(header).to_bytes(8, "little") + header + data[8 + length :]


def mutate_lines(name: str, data: bytes, chance: random.Random) -> bytes:
    """Lines that are repeated, swapped, emptied, or have another cell."""
    lines = data.split(b"\n")
    place, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    kind = chance.randrange(5)
    if kind == 0:
        lines[place:place] = [lines[other]] * chance.choice((1, 3, 200))
    elif kind == 1:
        lines[place], lines[other] = lines[other], lines[place]
    elif kind == 2:
        lines[place] = b""
    elif kind == 3 and name.endswith((".jsonl", ".ndjson")):
        lines[place] = mutate_json(name, lines[place], chance)
    else:
        cells = lines[place].split(b"\t" if b"\t" in lines[place] else b",")
        cells[chance.randrange(len(cells))] = chance.choice(TOKENS)
        lines[place] = b"\t".join(cells)
    return b"\n".join(lines)


def mutate_zip(name: str, data: bytes, chance: random.Random) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(out, "w") as made:
        entries = archive.infolist()
        chosen = chance.randrange(len(entries))
        for number, entry in enumerate(entries):
            content, title = archive.read(entry), entry.filename
            if number == chosen:
                kind = chance.random()
                if kind < 0.1:
                    continue
                title = chance.choice((f"../{title}", f"/{title}", "", "a/" * 200 + title)) if kind < 0.2 else title
                content = mutate(title, content, chance) if kind > 0.2 else content
            made.writestr(zipfile.ZipInfo(title or "x"), content)
    return out.getvalue()


def mutate_tar(name: str, data: bytes, chance: random.Random) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(data)) as archive, tarfile.open(fileobj=out, mode="w:gz") as made:
        members = [member for member in archive if member.isfile()]
        chosen = chance.randrange(len(members))
        for number, member in enumerate(members):
            stream = archive.extractfile(member)
            content = stream.read() if stream else b""
            if number == chosen:
                kind = chance.random()
                if kind < 0.1:
                    member.type = chance.choice((tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE))
                elif kind < 0.2:
                    member.name = chance.choice((f"../{member.name}", f"/{member.name}", "a/" * 200 + member.name))
                else:
                    content = mutate(member.name, content, chance)
            member.size = len(content)
            made.addfile(member, io.BytesIO(content))
    return out.getvalue()


def mutate_compressed(name: str, data: bytes, chance: random.Random) -> bytes:
    module: Any = gzip if data[:2] == b"\x1f\x8b" else bz2 if data[:3] == b"BZh" else lzma
    return bytes(module.compress(mutate(name.rsplit(".", 1)[0], module.decompress(data), chance)))


def mutate_words(data: bytes, chance: random.Random) -> bytes:
    """Numbers at even places that become small, huge, addresses within the file, or numbers of other places."""
    content = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 3))):
        width = chance.choice((1, 2, 4, 8))
        place, other = (width * chance.randrange(len(content) // width) for _ in range(2))
        values = (0, 1, 2, 8, 16, 24, 40, 64, 255, 2**16 - 1, 2**32 - 1, 2**64 - 1, place & -8, other & -8)
        number = chance.choice(values) & (1 << 8 * width) - 1
        new = number.to_bytes(width, "little") if chance.random() < 0.5 else content[other : other + width]
        content[place : place + width] = new
    return bytes(content)


def mutate_hdf5(name: str, data: bytes, chance: random.Random) -> bytes:
    """Addresses and sizes; arrays that are renamed, have another shape, type or storage; nested groups; links."""
    if chance.random() < 0.5:
        return mutate_words(data, chance)
    import h5py
    import numpy as np

    held = io.BytesIO(data)
    with h5py.File(held, "a") as file:
        names: list[str] = []
        file.visit(names.append)
        chosen = chance.choice(names or ["/"])
        kind = chance.randrange(8)
        if kind == 0:
            del file[chosen]
        elif kind == 1:
            file.move(chosen, chosen + chance.choice(("x", "/x", "/", "é")))
        elif kind == 2:
            where: Any = file
            for number in range(chance.choice((3, 30, 90, 400))):
                where = where.create_group(f"g{number % 3}_{chance.random()}")
        elif kind == 3:
            file[f"link{chance.random()}"] = h5py.SoftLink(chance.choice(("/", "/nowhere", chosen)))
        elif kind == 4:
            for number in range(300):
                file.create_group(f"many{number}")
        elif isinstance(file[chosen], h5py.Dataset):
            values = file[chosen][...]
            del file[chosen]
            if kind == 5:
                file[chosen] = values.astype(chance.choice(("f2", "f8", "i4", "u1", "S4")), copy=False)
            elif kind == 6:
                shape = tuple(chance.choice((0, 1, size, size + 1)) for size in values.shape)
                file[chosen] = np.zeros(shape, "f4")
            else:
                huge = tuple(chance.choice((size, 1 << 20)) for size in values.shape) or (1,)
                file.create_dataset(chosen, shape=huge, dtype="f4", chunks=True)
    return held.getvalue()


def mutate_tensor_table(name: str, data: bytes, chance: random.Random) -> bytes:
    """An entry of TensorFlow's index, with the checksum of its block made right (the golden one has a single block)."""
    content = bytearray(data)
    footer, position, where = data[-48:], 0, []
    for _ in range(4):
        value = shift = 0
        while True:
            byte = footer[position]
            position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        where.append(value)
    ends = [(0, where[0] - 5), (where[0], where[1]), (where[2], where[3])]
    start, size = chance.choice((ends[0], ends[0], ends[2]))
    for _ in range(chance.choice((1, 1, 2, 5))):
        place = start + chance.randrange(size)
        content[place] = chance.choice((content[place] ^ 1 << chance.randrange(8), chance.randrange(256)))
    content[start + size + 1 : start + size + 5] = struct.pack(
        "<I", masked(crc32c(bytes(content[start : start + size + 1])))
    )
    return bytes(content)


Fits = Callable[[str, bytes], bool]
Change = Callable[[str, bytes, random.Random], bytes]

STRUCTURES: tuple[tuple[Fits, Change], ...] = (
    (lambda name, data: name.endswith(".safetensors"), mutate_safetensors),
    (lambda name, data: name.endswith(".index") and len(data) > 48, mutate_tensor_table),
    (lambda name, data: data[:8] == b"\x89HDF\r\n\x1a\n", mutate_hdf5),
    (lambda name, data: data[:2] == b"PK", mutate_zip),
    (lambda name, data: name.endswith((".tar.gz", ".tgz", ".tar")), mutate_tar),
    (lambda name, data: data[:2] == b"\x1f\x8b" or data[:3] == b"BZh" or data[:5] == b"\xfd7zXZ", mutate_compressed),
    (lambda name, data: name.endswith(".json"), mutate_json),
    (
        lambda name, data: name.endswith((".txt", ".jsonl", ".csv", ".tsv", ".conllu", ".fasta", ".dic", ".vec")),
        mutate_lines,
    ),
)
