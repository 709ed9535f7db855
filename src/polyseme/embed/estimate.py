"""What a job will take, measured on a sample of its own input: tokens, time, memory, disk."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from polyseme.embed.compute import RecordMaker, Window, WindowLimits, encode_window, plan_windows
from polyseme.embed.description import Options, Passage, Shard, read_passages, size_of, survey
from polyseme.embed.records import Contents, Kind, Record, output_format, rows_of
from polyseme.errors import ConfigError, InputError
from polyseme.text.lines import STDIN
from polyseme.text.readers import Document, expand_inputs

if TYPE_CHECKING:
    from polyseme.elmo import Elmo

_SAMPLE_CHARACTERS = 2_000_000  # are tokenised, documents from everywhere
_SAMPLE_WINDOWS = 5  # are encoded and written; the first one fills caches and is not timed if there are more


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the whole job will take; ``tokens`` counts those to be encoded."""

    documents: int
    characters: int
    sentences: int
    tokens: int
    seconds: float
    file_bytes: int
    disk_bytes: int  # while it runs: the parts and the file
    memory_bytes: int  # 0 where the system does not tell


def estimate(inputs: Sequence[str | Path], out: str | Path, elmo: Elmo, options: Options | None = None) -> Estimate:
    """Read all inputs, tokenise and encode a sample, and write it in the format of ``out``, beside nothing."""
    options, sources = (options or Options()).for_model(elmo), expand_inputs(inputs)
    if STDIN in sources:
        raise ConfigError("standard input can be read only once, so nothing can be estimated for it; give files")
    documents, characters, kept = survey(sources, options)
    if not characters:
        raise InputError(f"there is no text to embed in {', '.join(sources)}")
    sampled = _Counted(sources, options, stride=max(1, characters // _SAMPLE_CHARACTERS))
    passages = list(read_passages(sampled, elmo.split, shard=Shard()))
    windows = list(plan_windows(iter(passages), options, WindowLimits.for_model(elmo, options)))
    share = characters / max(sampled.characters, 1)
    timed = _encode_and_write(windows[:_SAMPLE_WINDOWS], Path(out), elmo, options, kept)
    chosen = [passage for window in windows for passage in window.passages]
    tokens = share * sum(len(passage.tokens) for passage in chosen)
    file_bytes = int(timed.bytes_per_token * tokens)
    return Estimate(
        documents=documents,
        characters=characters,
        sentences=round(share * len(chosen)),
        tokens=round(tokens),
        seconds=timed.seconds_per_token * tokens,
        file_bytes=file_bytes,
        disk_bytes=2 * file_bytes,
        memory_bytes=peak_memory(),
    )


def peak_memory() -> int:
    """The most memory this process has held, in bytes; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:
        return 0
    assert sys.platform != "win32", "Windows has no such module; and type checkers want to be told"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


class _Counted:
    """One document in ``stride``, and how many characters those have."""

    def __init__(self, sources: list[str], options: Options, stride: int) -> None:
        self._sources, self._options, self._stride = sources, options, stride
        self.characters = 0

    def __iter__(self) -> Iterator[Document]:
        documents = self._options.documents(self._sources)
        for number, document in enumerate(documents):
            # scattered, not every n-th: inputs have rhythms, such as a blank line after each text
            if number * 2_654_435_761 % 2**32 < 2**32 // self._stride:
                self.characters += size_of(document)
                yield document


@dataclass(frozen=True, slots=True)
class _Timed:
    seconds_per_token: float
    bytes_per_token: float


def _encode_and_write(windows: list[Window], out: Path, elmo: Elmo, options: Options, kept: dict[str, Kind]) -> _Timed:
    seconds, tokens, records = list[float](), list[int](), list[Record]()
    make_records = RecordMaker(options)
    for window in windows:
        began = time.perf_counter()
        for passage, layers in encode_window(elmo, window):
            records += make_records(passage, layers)
        seconds.append(time.perf_counter() - began)
        tokens.append(_tokens(window.passages))
    total = sum(tokens)
    if not total:
        return _Timed(0.0, 0.0)
    contents = Contents(
        records=lambda: iter(records),
        headers=lambda: iter(records),
        rows=sum(map(rows_of, records)),
        about={
            "layers": options.layers,
            "dtype": options.dtype,
            "pool": options.pool,
            "words": options.words,
            "kept": kept,
        },
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"sample{out.suffix}")
        began = time.perf_counter()
        output_format(out).write(path, contents)
        written = time.perf_counter() - began
        size = path.stat().st_size
    warm = slice(1, None) if any(tokens[1:]) else slice(None)
    return _Timed(sum(seconds[warm]) / sum(tokens[warm]) + written / total, size / total)


def _tokens(passages: list[Passage]) -> int:
    return sum(len(passage.tokens) for passage in passages)
