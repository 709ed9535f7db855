"""Files → an index in a folder; if killed at any moment, the work can be resumed, with the same bytes as a result.

The files grow in ``FOLDER.partial``. After each part of the work they are flushed to disk, and contents.json records
their sizes; anything that a killed process wrote beyond these is cut off. Which sentences are encoded together depends
only on the input. The folder gets its final name when all is done.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from polyseme.embed.compute import Window, WindowLimits, encode_window, plan_windows
from polyseme.embed.description import Options, Shard, read_passages, size_of, survey
from polyseme.errors import ConfigError, InputError, JobError, reason_of
from polyseme.index.files import (
    CONTENTS,
    DESCRIPTION,
    POSTED,
    POSTINGS,
    SENTENCES,
    TOKENS,
    U4,
    U8,
    Growth,
    IndexContents,
    IndexDescription,
    growing_files,
    post,
    read_words,
)
from polyseme.jobs.atomic import exclusive, partial_path, put_folder_in_place, raise_if_disk_full, refuse_existing
from polyseme.jobs.manifests import (
    Piece,
    check_piece,
    describe_input,
    map_file,
    measure_piece,
    refuse_other,
    write_manifest,
)
from polyseme.jobs.progress import Report, working
from polyseme.text.lines import STDIN
from polyseme.text.readers import Document, expand_inputs, read_documents

if TYPE_CHECKING:
    from polyseme.elmo import Elmo

#: Tokens encoded together, and tokens after which the work is saved; the result does not depend on timing.
LIMITS = WindowLimits(window=8192, part=65_536)


@dataclass(frozen=True, slots=True)
class IndexChoices:
    """What an index records: how to find its model again, and how its inputs were read."""

    model: str | None = None  #: as given to ``Elmo.from_pretrained``
    options: str | None = None
    kind: str | None = None  #: format of the inputs, if their names do not show it
    field: str | None = None  #: text column of a table


def build_index(
    elmo: Elmo,
    inputs: Sequence[str | Path],
    folder: Path,
    layers: tuple[int, ...],
    choices: IndexChoices | None = None,
    *,
    resume: bool = False,
    overwrite: bool = False,
    progress: Report | None = None,
    limits: WindowLimits = LIMITS,
) -> None:
    """Write the index of all sentences of ``inputs``; with ``resume``, a finished index is left unchanged.

    With ``overwrite``, an existing index is replaced once the new one is complete.
    """
    refuse_carried_state(elmo)
    sources = expand_inputs(inputs)
    if STDIN in sources:
        raise InputError(
            "an index reads its inputs more than once, and standard input can be read only once; give files"
        )
    beside = partial_path(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with exclusive(beside.with_name(beside.name + ".lock"), f"another process is writing {folder}"):
            if not ((resume or overwrite) and (folder / DESCRIPTION).exists()):
                refuse_existing(folder)
            if not resume and (beside / DESCRIPTION).exists():
                raise JobError(
                    f"the index {folder} was started; continue with --resume, or delete {beside} to start over"
                )
            place = folder if resume and (folder / DESCRIPTION).exists() else beside
            place.mkdir(exist_ok=True)
            try:
                description = _settle(elmo, sources, place, layers, choices or IndexChoices())
                if place == beside:
                    _grow(elmo, sources, beside, description, limits, progress)
            except InputError:
                _remove_if_empty(beside)
                raise
            if place == beside:
                _post(beside)
                put_folder_in_place(beside, folder, replace=overwrite)
    except OSError as error:
        raise_if_disk_full(error, folder, "make room and continue with --resume; what is finished is safe")
        raise JobError(f"{folder} cannot be written: {reason_of(error)}") from error


def refuse_carried_state(elmo: Elmo) -> None:
    if elmo.state == "carry":
        raise ConfigError('an index needs vectors that do not depend on earlier calls; use the state "reset" or "warm"')


def _settle(
    elmo: Elmo, sources: list[str], place: Path, layers: tuple[int, ...], choices: IndexChoices
) -> IndexDescription:
    """The description of this index, written if it is new; JobError if a different index was begun in this place."""
    earlier = _read_earlier(place)
    characters = earlier.characters if earlier else survey(sources, Options(kind=choices.kind, field=choices.field))[1]
    if characters == 0:
        raise InputError(f"there is no text to index in {', '.join(sources)}")
    inputs = [describe_input(source) for source in sources]
    description = IndexDescription.of(elmo, layers, characters=characters, inputs=inputs, **asdict(choices))
    if earlier is None:
        write_manifest(place / DESCRIPTION, description)
    else:
        remedy = "delete it, or undo the change"
        refuse_other(earlier, description, what=f"another index was begun in {place}", remedy=remedy)
    return description


def _read_earlier(place: Path) -> IndexDescription | None:
    if not (place / DESCRIPTION).exists():
        return None
    try:
        return IndexDescription.read(place)
    except InputError as problem:
        raise JobError(f"{place} cannot be continued: {problem}; delete it") from None


def _grow(
    elmo: Elmo,
    sources: list[str],
    folder: Path,
    description: IndexDescription,
    limits: WindowLimits,
    progress: Report | None,
) -> None:
    """Add all sentences that are not in ``folder`` yet."""
    done = _Files(folder, description.layers)
    options, read, first = Options(kind=description.kind, field=description.field), [0], done.tokens

    def documents() -> Iterator[Document]:
        for document in read_documents(sources, kind=description.kind, field=description.field):
            read[0] += size_of(document)
            yield document

    with done, working("indexing", description.characters, progress) as work:
        passages = read_passages(documents(), elmo.split, shard=Shard(), start=done.next)
        for window in plan_windows(passages, options, limits):
            done.add(elmo, window)
            work.reach(read[0], tokens=done.tokens - first)
    if not done.tokens:
        raise InputError(f"there is no word to index in {', '.join(sources)}")


class _Files:
    """The growing files, open for appending; anything that was not saved when a process died is cut off first."""

    def __init__(self, folder: Path, layers: tuple[int, ...]) -> None:
        self.folder, self.names = folder, growing_files(layers)
        if not (folder / CONTENTS).exists():
            self._begin()
        contents = IndexContents.read(folder, layers)
        self.sentences, self.tokens, self.next = contents.sentences, contents.tokens, contents.next
        self.pieces = {name: contents.pieces[name] for name in self.names}
        for name, piece in self.pieces.items():
            _cut(folder / name, piece)
        words = read_words(folder, contents)
        self.growth = Growth(layers, words, tokens=self.tokens, line_bytes=self.pieces[SENTENCES].size)
        self._open: dict[str, IO[bytes]] = {}
        self._stack = ExitStack()

    def __enter__(self) -> _Files:
        for name in self.names:
            self._open[name] = self._stack.enter_context((self.folder / name).open("ab", buffering=1 << 20))
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def add(self, elmo: Elmo, window: Window) -> None:
        for passage, layers in encode_window(elmo, window):
            if passage.tokens:
                for name, added in self.growth.add(passage, layers).items():
                    self._open[name].write(added)
                    self.pieces[name] = self.pieces[name].plus(added)
                self.sentences += 1
        self.tokens, self.next = self.growth.tokens, window.next
        if window.ends_part:
            self._make_safe()

    def _begin(self) -> None:
        beginnings = Growth.beginnings()
        for name in self.names:
            (self.folder / name).write_bytes(beginnings.get(name, b""))
        pieces = {name: Piece().plus(beginnings.get(name, b"")) for name in self.names}
        write_manifest(self.folder / CONTENTS, IndexContents(0, 0, 0, (0, 0), pieces))

    def _make_safe(self) -> None:
        for file in self._open.values():
            file.flush()
            os.fsync(file.fileno())
        contents = IndexContents(self.sentences, self.tokens, len(self.growth.numbers), self.next, self.pieces)
        write_manifest(self.folder / CONTENTS, contents)


def _cut(path: Path, piece: Piece) -> None:
    """Cut off what was written after the last save; the rest must be unchanged."""
    if path.exists():
        with path.open("r+b") as file:
            file.truncate(min(piece.size, path.stat().st_size))
    try:
        check_piece(path, piece)
    except InputError as problem:
        raise JobError(f"{path.parent} cannot be continued: {problem}; delete it and start over") from None


def _post(folder: Path) -> None:
    """Write postings.bin and posted.bin from tokens.bin."""
    contents = IndexContents.read(folder)
    tokens = map_file(folder / TOKENS, U4, contents.tokens)
    postings = np.memmap(folder / POSTINGS, U8, mode="w+", shape=(contents.tokens,))
    posted = post(tokens, contents.words, postings)
    postings.flush()
    (folder / POSTED).write_bytes(posted.tobytes())
    made = {name: measure_piece(folder / name) for name in (POSTINGS, POSTED)}
    write_manifest(folder / CONTENTS, replace(contents, pieces={**contents.pieces, **made}))


def _remove_if_empty(beside: Path) -> None:
    """Remove the folder of an input that had nothing to index, so that it does not block the corrected input."""
    if not (beside / CONTENTS).exists() or IndexContents.read(beside).tokens == 0:
        shutil.rmtree(beside, ignore_errors=True)
