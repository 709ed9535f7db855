"""The layers of a frozen biLM, computed once by the fast engine and kept on disk for every epoch and every task.

    CACHE/layers/FINGERPRINT/SEGMENT      digests and lengths of its sentences, then float16 [tokens, L+1, W]

A sentence is found by the model's fingerprint and its tokens, so tasks on the same text share their segments. A segment
is memory-mapped, appears when it is complete, and may be deleted at any time: what is missing is computed again. Two
processes that need the same sentences compute them once; the oldest segments give way when the folder is full.
"""

from __future__ import annotations

import hashlib
import math
import os
import struct
import sys
import time
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from polyseme.elmo import Elmo
from polyseme.engine.progress import Progress
from polyseme.errors import ConfigError
from polyseme.files.atomic import replace_when_complete
from polyseme.files.locks import in_turn

Halves = npt.NDArray[np.float16]
Tokens = Sequence[str]

LIMIT_GB = 10.0  # of all segments together, unless $POLYSEME_CACHE_GB says otherwise
SEGMENT_BYTES = 256 << 20  # about; a killed job loses no more than one
ABANDONED_SECONDS = 3600.0  # since anything was added to an unfinished segment: whoever wrote it is gone
_HEAD = struct.Struct("<8sqqq")  # magic, sentences, layers, width
_MAGIC = b"PSMLAYR1"
_DIGEST = 16


def default_folder() -> Path:
    """$POLYSEME_CACHE, or polyseme in the user's folder for caches."""
    if chosen := os.environ.get("POLYSEME_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData/Local")) / "polyseme" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "polyseme"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "polyseme"


def default_limit() -> int:
    """Bytes that all segments together may take: those of $POLYSEME_CACHE_GB, or of 10 GB."""
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
    """Where the layers of a sentence lie."""

    data: Halves  # [tokens of the segment, L+1, W]
    start: int


class LayerCache:
    """``cache.fill(sentences)`` once, then ``cache.layers(batch)`` as often as needed."""

    def __init__(self, elmo: Elmo, folder: Path | None = None, *, limit: int | None = None) -> None:
        self.elmo, self.limit = elmo, default_limit() if limit is None else limit
        self.root = (folder or default_folder()) / "layers"
        self.folder = self.root / elmo.fingerprint[:32]
        self.computed = 0  # sentences that the engine had to read
        self._places: dict[bytes, _Place] = {}
        self._open: set[Path] = set()

    def fill(self, sentences: Sequence[Tokens]) -> float:
        """Compute what is not there yet; the share of the tokens that had no room.

        Those are computed whenever they are asked for.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        wanted = {digest(s): s for s in sentences if len(s)}
        self._open_segments(wanted.keys())
        missing = {key: s for key, s in wanted.items() if key not in self._places}
        groups = list(_segments(missing, self._bytes_per_token))
        with Progress(sum(len(s) for s in missing.values()), "reading with ELMo") as progress:
            for keys in groups:
                group = {key: missing[key] for key in keys}
                tokens = sum(len(s) for s in group.values())
                if not self._make_room(_HEAD.size + len(group) * (_DIGEST + 8) + tokens * self._bytes_per_token):
                    break
                self._add(group, progress)
        left = sum(len(s) for key, s in wanted.items() if key not in self._places)
        return left / max(1, sum(map(len, wanted.values())))

    def layers(self, sentences: Sequence[Tokens], pick: slice = slice(None)) -> Halves:
        """Layers of a batch [layers picked, B, N, W], zeros behind a sentence's end."""
        config = self.elmo.config
        numbers = range(config.layers + 1)[pick]
        longest = max((len(s) for s in sentences), default=0)
        out = np.zeros((len(numbers), len(sentences), longest, config.width), dtype=np.float16)
        absent = [row for row, s in enumerate(sentences) if digest(s) not in self._places]
        computed = dict(zip(absent, self._compute([sentences[row] for row in absent]), strict=True))
        for row, sentence in enumerate(sentences):
            if row in computed:
                rows = computed[row]  # [N, L+1, W]
            else:
                place = self._places[digest(sentence)]
                rows = place.data[place.start : place.start + len(sentence)]
            out[:, row, : len(sentence)] = rows[:, pick].transpose(1, 0, 2)
        return out

    @contextmanager
    def held(self, sentences: Sequence[Tokens]) -> Iterator[None]:
        """Within the block, the layers of new text are in memory: read by the engine at once, not batch by batch."""
        missing = {key: s for s in sentences if (key := digest(s)) not in self._places}
        computed = self._compute(list(missing.values()))
        self._places |= {key: _Place(rows, 0) for key, rows in zip(missing, computed, strict=True)}
        try:
            yield
        finally:
            for key in missing:
                del self._places[key]

    @property
    def _bytes_per_token(self) -> int:
        return 2 * (self.elmo.config.layers + 1) * self.elmo.config.width

    def _compute(self, sentences: Sequence[Tokens]) -> Iterator[Halves]:
        """[N, L+1, W] for each sentence."""
        self.computed += len(sentences)
        for encoding in self.elmo.stream(sentences):
            yield encoding.layers.transpose(1, 0, 2).astype(np.float16)

    def _add(self, group: dict[bytes, Tokens], progress: Progress) -> None:
        path = self.folder / hashlib.sha256(b"".join(sorted(group))).hexdigest()[:32]
        with in_turn(path.with_name(path.name + ".lock")):
            if not self._open_segment(path, group.keys()):
                self._write(path, group, progress)
                self._open_segment(path, group.keys())

    def _write(self, path: Path, group: dict[bytes, Tokens], progress: Progress) -> None:
        lengths = np.array([len(s) for s in group.values()], dtype="<i8")
        with replace_when_complete(path) as file:
            file.write(_HEAD.pack(_MAGIC, len(group), self.elmo.config.layers + 1, self.elmo.config.width))
            file.write(b"".join(group))
            file.write(lengths.tobytes())
            for rows in self._compute(list(group.values())):
                file.write(np.ascontiguousarray(rows).tobytes())
                progress.advance(len(rows))

    def _open_segments(self, wanted: Set[bytes]) -> None:
        for path in sorted(self.folder.iterdir()):
            if path not in self._open and not path.suffix:
                self._open_segment(path, wanted)

    def _open_segment(self, path: Path, wanted: Set[bytes]) -> bool:
        """Map a segment that holds any wanted sentence; a damaged one, or another program's file, holds none."""
        with suppress(OSError, ValueError, struct.error):
            with path.open("rb") as file:
                magic, count, layers, width = _HEAD.unpack(file.read(_HEAD.size))
                if (magic, layers, width) != (_MAGIC, self.elmo.config.layers + 1, self.elmo.config.width):
                    return False
                joined = file.read(count * _DIGEST)
                keys = [joined[place : place + _DIGEST] for place in range(0, len(joined), _DIGEST)]
                if wanted.isdisjoint(keys):
                    return False
                lengths = np.frombuffer(file.read(8 * count), dtype="<i8")
                begin = file.tell()
            shape = (int(lengths.sum()), layers, width)
            if path.stat().st_size != begin + 2 * shape[0] * layers * width:
                return False
            data: Halves = np.memmap(path, dtype="<f2", mode="r", offset=begin, shape=shape)
            starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).tolist()
            self._places |= {key: _Place(data, start) for key, start in zip(keys, starts, strict=True)}
            self._open.add(path)
            os.utime(path)  # those not used for the longest time give way first
            return True
        return False

    def _make_room(self, needed: int) -> bool:
        """Remove the segments that were not used for the longest time; False where that is not enough."""
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
    """A key for the tokens of a sentence; token ends are part of it."""
    joined = "\0".join(sentence).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=_DIGEST).digest()


def _segments(missing: dict[bytes, Tokens], bytes_per_token: int) -> Iterator[list[bytes]]:
    group, size = list[bytes](), 0
    for key, sentence in missing.items():
        group.append(key)
        size += len(sentence) * bytes_per_token
        if size >= SEGMENT_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _status(path: Path) -> os.stat_result | None:
    with suppress(OSError):
        status = path.stat()
        return status if path.is_file() else None
    return None
