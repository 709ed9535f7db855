"""The layers of a frozen biLM, computed once by the fast engine and kept on disk for every epoch and every task.

    CACHE/layers/IDENTITY/SEGMENT      the number of sentences, their digests and lengths, float16 [tokens, L+1, W],
                                       a checksum of each sentence, and one of everything but the float16

The key of a sentence is the model's identity and its tokens, so tasks on the same text share segments. A segment is
memory-mapped, appears once it is complete, and may be deleted at any time: missing layers are computed again. Two
processes that need the same sentences compute them once. When the folder is full, the segments unused for longest are
removed. A sentence whose checksum is wrong is computed again, and its segment removed.
"""

from __future__ import annotations

import hashlib
import math
import os
import struct
import time
import zlib
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from polyseme.elmo import Elmo
from polyseme.errors import ConfigError
from polyseme.jobs.atomic import home_folder, in_turn, replace_when_complete
from polyseme.jobs.progress import Work, windows, working

Halves = npt.NDArray[np.float16]
Tokens = Sequence[str]

LIMIT_GB = 10.0  # for all segments together, unless $POLYSEME_CACHE_GB is set
SEGMENT_BYTES = 256 << 20  # roughly; a killed job loses at most one segment
ABANDONED_SECONDS = 3600.0  # without a change to an unfinished segment, after which its writer is assumed dead
_HEAD = struct.Struct("<8sqqq")  # magic, sentences, layers, width
_MAGIC = b"PSMLAYR1"
_DIGEST, _LENGTH, _CHECKSUM = 16, np.dtype("<i8"), np.dtype("<u4")


def default_folder() -> Path:
    """$POLYSEME_CACHE, or polyseme's folder for files that it can create again."""
    return Path(chosen) if (chosen := os.environ.get("POLYSEME_CACHE")) else home_folder()


def default_limit() -> int:
    """The limit in bytes for all segments together: $POLYSEME_CACHE_GB, or 10 GB."""
    chosen = os.environ.get("POLYSEME_CACHE_GB") or str(LIMIT_GB)
    try:
        limit = float(chosen)
    except ValueError:
        limit = math.nan
    if not 0 < limit < math.inf:
        raise ConfigError(f"POLYSEME_CACHE_GB is {chosen!r}, but should be a number of gigabytes above 0")
    return int(limit * (1 << 30))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the layers of a sentence are stored."""

    rows: Halves  # [N, L+1, W]
    checksum: int
    segment: Path | None = None  # None: in memory


class LayerCache:
    """``cache.fill(sentences)`` once, then ``cache.layers(batch)`` as often as needed."""

    def __init__(self, elmo: Elmo, folder: Path | None = None, *, limit: int | None = None) -> None:
        self.elmo, self.limit = elmo, default_limit() if limit is None else limit
        self.root = (folder or default_folder()) / "layers"
        name = elmo.fingerprint[:32] + elmo.identity.removeprefix(elmo.fingerprint)
        self.folder = self.root / name.replace(":", "-")  # a name that every file system accepts
        self.computed = 0  # sentences that the engine had to read
        self._places: dict[bytes, _Place] = {}
        self._sound: set[bytes] = set()  # keys whose checksums were right at first use
        self._open: set[Path] = set()

    def fill(self, sentences: Sequence[Tokens]) -> float:
        """Compute the layers that are missing; returns the share of the tokens that had no room.

        The layers of those are computed at every use.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        wanted = {digest(s): s for s in sentences if len(s)}
        self._open_segments(wanted.keys())
        missing = {key: s for key, s in wanted.items() if key not in self._places}
        groups = windows(missing, lambda key: len(missing[key]) * self._bytes_per_token, SEGMENT_BYTES)
        with working("reading with ELMo", sum(len(s) for s in missing.values())) as work:
            for keys in groups:
                group = {key: missing[key] for key in keys}
                tokens = sum(len(s) for s in group.values())
                index = _HEAD.size + len(group) * (_DIGEST + _LENGTH.itemsize + _CHECKSUM.itemsize) + _CHECKSUM.itemsize
                if not self._make_room(index + tokens * self._bytes_per_token):
                    break
                self._add(group, work)
        left = sum(len(s) for key, s in wanted.items() if key not in self._places)
        return left / max(1, sum(map(len, wanted.values())))

    def layers(self, sentences: Sequence[Tokens], pick: slice = slice(None)) -> Halves:
        """Layers of a batch [layers used, B, N, W], padded with zeros."""
        config = self.elmo.config
        numbers = range(config.layers + 1)[pick]
        longest = max((len(s) for s in sentences), default=0)
        out = np.zeros((len(numbers), len(sentences), longest, config.width), dtype=np.float16)
        absent = [row for row, s in enumerate(sentences) if not self._holds(digest(s))]
        computed = dict(zip(absent, self._compute([sentences[row] for row in absent]), strict=True))
        for row, sentence in enumerate(sentences):
            if row in computed:
                rows = computed[row]  # [N, L+1, W]
            else:
                rows = self._places[digest(sentence)].rows
            out[:, row, : len(sentence)] = rows[:, pick].transpose(1, 0, 2)
        return out

    @contextmanager
    def held(self, sentences: Sequence[Tokens]) -> Iterator[None]:
        """Within the block, the layers of new text are in memory, computed together and not batch by batch."""
        missing = {key: s for s in sentences if not self._holds(key := digest(s))}
        computed = self._compute(list(missing.values()))
        self._places |= {key: _Place(rows, _crc32(rows)) for key, rows in zip(missing, computed, strict=True)}
        try:
            yield
        finally:
            for key in missing:
                del self._places[key]

    def _holds(self, key: bytes) -> bool:
        """Whether a sentence is in the cache and intact."""
        place = self._places.get(key)
        if place is None or key in self._sound:
            return place is not None
        if _crc32(place.rows) == place.checksum:
            self._sound.add(key)
            return True
        del self._places[key]
        if place.segment is not None:
            with suppress(OSError):  # Windows has it open
                place.segment.unlink()
        return False

    @property
    def _bytes_per_token(self) -> int:
        return 2 * (self.elmo.config.layers + 1) * self.elmo.config.width

    def _compute(self, sentences: Sequence[Tokens]) -> Iterator[Halves]:
        """[N, L+1, W] for each sentence."""
        self.computed += len(sentences)
        for encoding in self.elmo.stream(sentences):
            yield encoding.layers.transpose(1, 0, 2).astype(np.float16)

    def _add(self, group: dict[bytes, Tokens], work: Work) -> None:
        path = self.folder / hashlib.sha256(b"".join(sorted(group))).hexdigest()[:32]
        with in_turn(path.with_name(path.name + ".lock")):
            if not self._open_segment(path, group.keys()):
                self._write(path, group, work)
                self._open_segment(path, group.keys())

    def _write(self, path: Path, group: dict[bytes, Tokens], work: Work) -> None:
        lengths = np.array([len(s) for s in group.values()], _LENGTH)
        head = _HEAD.pack(_MAGIC, len(group), self.elmo.config.layers + 1, self.elmo.config.width)
        index = head + b"".join(group) + lengths.tobytes()
        checksums = []
        with replace_when_complete(path) as file:
            file.write(index)
            for rows in self._compute(list(group.values())):
                file.write(np.ascontiguousarray(rows).tobytes())
                checksums.append(_crc32(rows))
                work.advance(len(rows), tokens=len(rows))
            index += np.array(checksums, _CHECKSUM).tobytes()
            file.write(index[-_CHECKSUM.itemsize * len(group) :])
            file.write(np.array(zlib.crc32(index), _CHECKSUM).tobytes())

    def _open_segments(self, wanted: Set[bytes]) -> None:
        for path in sorted(self.folder.iterdir()):
            if path not in self._open and not path.suffix:
                self._open_segment(path, wanted)

    def _open_segment(self, path: Path, wanted: Set[bytes]) -> bool:
        """Map a segment if it holds any wanted sentence; a damaged one, or another program's file, holds none."""
        with suppress(OSError, ValueError, struct.error):
            with path.open("rb") as file:
                head = file.read(_HEAD.size)
                magic, count, layers, width = _HEAD.unpack(head)
                expected = (_MAGIC, self.elmo.config.layers + 1, self.elmo.config.width)
                if (magic, layers, width) != expected or not 0 <= count * _DIGEST <= path.stat().st_size:
                    return False
                joined = file.read(count * _DIGEST)
                keys = [joined[place : place + _DIGEST] for place in range(0, len(joined), _DIGEST)]
                if wanted.isdisjoint(keys):
                    return False
                lengths = np.frombuffer(file.read(_LENGTH.itemsize * count), _LENGTH)
                begin = file.tell()
                shape = (int(lengths.sum()), layers, width)
                file.seek(begin + 2 * shape[0] * layers * width)
                *checksums, last = np.frombuffer(file.read(), _CHECKSUM).tolist()
            index = head + joined + lengths.tobytes() + np.array(checksums, _CHECKSUM).tobytes()
            if len(checksums) != count or zlib.crc32(index) != last:
                return False
            data: Halves = np.asarray(np.memmap(path, dtype="<f2", mode="r", offset=begin, shape=shape))
            ends = np.cumsum(lengths).tolist()
            for key, start, end, checksum in zip(keys, [0, *ends[:-1]], ends, checksums, strict=True):
                self._places[key] = _Place(data[start:end], checksum, path)
            self._open.add(path)
            os.utime(path)  # the segments unused for longest are removed first
            return True
        return False

    def _make_room(self, needed: int) -> bool:
        """Remove the segments unused for longest; False if that is not enough."""
        sizes = {path: status for path in self.root.rglob("*") if path.suffix != ".lock" and (status := _status(path))}
        total = sum(status.st_size for status in sizes.values()) + needed
        for path in sorted(sizes, key=lambda path: sizes[path].st_mtime):
            if total <= self.limit:
                break
            abandoned = time.time() - sizes[path].st_mtime > ABANDONED_SECONDS
            if path not in self._open and (abandoned or not path.suffix):
                with suppress(OSError):  # another process was quicker, or Windows has it open
                    path.unlink()
                    total -= sizes[path].st_size
        return total <= self.limit


def digest(sentence: Tokens) -> bytes:
    """A key for the tokens of a sentence, in which token boundaries count."""
    joined = "\0".join(sentence).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=_DIGEST).digest()


def _crc32(rows: Halves) -> int:
    return zlib.crc32(np.ascontiguousarray(rows).data)


def _status(path: Path) -> os.stat_result | None:
    with suppress(OSError):
        status = path.stat()
        return status if path.is_file() else None
    return None
