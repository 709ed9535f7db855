"""The embed job: files in, one file of vectors out; killed at any moment, it goes on where it was.

    FILE.parts/1-of-1/job.json        what the job does: inputs with their digests, model, options
    FILE.parts/1-of-1/000000.part …   what is finished, each part complete or not there
    FILE.parts/1-of-1/complete.json   nothing more will come
    FILE.parts/1-of-1/FILE.partial    the file, as far as it is written; it becomes FILE when it is complete
    FILE.partial → FILE               of a resumed job: put together from the parts

At the end the parts are removed. Several machines (``shard``) each fill a folder of their own; `assemble` puts them
together.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from polyseme.embed.assembly import Summary, assemble, is_result_of, refuse_result_of_another
from polyseme.embed.beside import FileBeside
from polyseme.embed.compute import KEPT_TOKENS, Done, WindowLimits, compute_parts, keep_all_or_nothing, repair_parts
from polyseme.embed.description import Description, Options, Shard, Survey, size_of, survey
from polyseme.embed.parts import (
    COMPLETE,
    DESCRIPTION,
    LOCK,
    find_parts,
    mark_complete,
    parts_folder,
    read_trailer,
    whole_trailer,
)
from polyseme.embed.records import output_format
from polyseme.errors import ConfigError, InputError, JobError
from polyseme.jobs.atomic import (
    delete_folder,
    exclusive,
    partial_path,
    raise_if_disk_full,
    refuse_existing,
    replace_when_complete,
)
from polyseme.jobs.manifests import describe_input, refuse_other, write_manifest
from polyseme.jobs.progress import Report, working
from polyseme.text.lines import STDIN
from polyseme.text.readers import Document, expand_inputs

if TYPE_CHECKING:
    from polyseme.elmo import Elmo


def embed_files(
    inputs: Sequence[str | Path],
    out: str | Path,
    elmo: Elmo,
    options: Options | None = None,
    *,
    shard: Shard | None = None,
    resume: bool = False,
    overwrite: bool = False,
    limits: WindowLimits | None = None,
    progress: Report | None = None,
) -> Summary | None:
    """Embed all sentences of ``inputs`` into ``out`` (.hdf5, .h5, .parquet, .npz, .npy or .jsonl).

    Gives what the file holds; None where other shares are still to come (then `assemble` makes the file), or where
    ``resume`` finds it finished. Raises JobError if an unfinished job is there and ``resume`` is not set, or if it was
    another job; or if ``out`` is there and is not the result of this job, unless ``overwrite`` is set.
    """
    out, options, shard = Path(out), (options or Options()).for_model(elmo), shard or Shard()
    output_format(out)
    if not out.parent.is_dir():
        raise ConfigError(f"the folder {out.parent} does not exist; create it first")
    if elmo.state == "carry" and shard.count > 1:
        raise ConfigError("a carried state cannot be shared between processes; use the state reset or warm")
    if (options.keys, options.sentence_index) != ("numbers", True) and out.suffix.lower() not in (".hdf5", ".h5"):
        raise ConfigError(f"only HDF5 has keys that can be chosen, and {out.name} is not HDF5")
    sources = expand_inputs(inputs)
    if STDIN in sources and shard.count > 1:
        raise ConfigError("standard input cannot be shared between processes; give files")
    folder = parts_folder(out) / shard.name
    summary: Summary | None = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (
            exclusive(folder / LOCK, f"another process is writing {out}; wait for it, or stop it"),
            _nothing_left(folder),
        ):
            refuse_unfinished(folder, out, resume=resume)
            if not resume and not overwrite:
                refuse_existing(out)
            files = _keep_standard_input(sources, folder, resume=resume)
            description = settle(files, elmo, options, shard.count, folder / DESCRIPTION)
            begun = (folder / DESCRIPTION).exists()
            finished = resume and not begun and is_result_of(out, description)
            if not (begun or finished or overwrite):
                refuse_result_of_another(out, description)
            if not finished:
                write_manifest(folder / DESCRIPTION, description)
                summary = _compute(files, elmo, description, shard, out, limits, progress)
    except OSError as error:
        raise_if_disk_full(error, folder, "make room and continue with --resume; what is finished is safe")
        raise
    finally:
        for empty in (folder, folder.parent):
            with suppress(OSError):
                empty.rmdir()
    if finished or summary is not None:
        delete_folder(folder.parent)
        return summary
    return assemble(out, overwrite=True) if shard.count == 1 else None


@contextmanager
def _nothing_left(folder: Path) -> Iterator[None]:
    """A job that fails before it has begun leaves no folder behind."""
    try:
        yield
    finally:
        if not (folder / DESCRIPTION).exists():
            for path in folder.iterdir():
                if path.name != LOCK:
                    path.unlink()


def refuse_unfinished(folder: Path, out: Path, *, resume: bool) -> None:
    """JobError if the folder of a share holds an unfinished job, unless that is what ``resume`` is for."""
    if not resume and (folder / DESCRIPTION).exists():
        trailers = filter(None, map(whole_trailer, find_parts(folder)))
        sentences = sum(trailer.sentences for trailer in trailers)
        raise JobError(
            f"a job for {out} was interrupted after {sentences} sentences; "
            f"continue with --resume, or delete {folder.parent} to start from the beginning"
        )


def _keep_standard_input(sources: list[str], folder: Path, *, resume: bool) -> dict[str, str]:
    """The file behind each source: standard input is copied to disk, because a resumed job must read it again."""
    files = {source: source for source in sources}
    if STDIN in files:
        copy = folder / "stdin"
        if not (resume and copy.exists()):
            with replace_when_complete(copy) as file:
                shutil.copyfileobj(sys.stdin.buffer, file)
        files[STDIN] = str(copy)
    return files


def settle(files: dict[str, str], elmo: Elmo, options: Options, shards: int, path: Path) -> Description:
    """The description of this job, by its sources and their files; JobError if ``path`` describes another one."""
    earlier = Description.read(path) if path.exists() else None
    inputs = [describe_input(file, name=source) for source, file in files.items()]
    if earlier is None:
        found = survey(list(files.values()), options)
    else:
        found = Survey(earlier.documents, earlier.characters, earlier.kept)
    if found.characters == 0:
        raise InputError(f"there is no text to embed in {', '.join(files)}")
    description = Description(
        options=options,
        inputs=tuple(inputs),
        model=elmo.fingerprint,
        lang=elmo.lang,
        state=elmo.state,
        shards=shards,
        documents=found.documents,
        characters=found.characters,
        kept=found.kept,
    )
    if earlier is not None:
        place = path.parent.parent
        remedy = f"undo that, or delete {place} to start from the beginning"
        refuse_other(earlier, description, what=f"{place} holds another job", remedy=remedy)
    return description


def is_finished(
    inputs: Sequence[str | Path], out: Path, elmo: Elmo, options: Options, *, overwrite: bool = False
) -> bool:
    """Whether ``out`` is the result of this job, of which no part is left; JobError if another one wrote it."""
    if not out.exists():
        return False
    files = {source: source for source in expand_inputs(inputs)}
    description = settle(files, elmo, options.for_model(elmo), 1, parts_folder(out) / DESCRIPTION)
    finished = is_result_of(out, description)
    if not (finished or overwrite):
        refuse_result_of_another(out, description)
    return finished


def _compute(
    files: dict[str, str],
    elmo: Elmo,
    description: Description,
    shard: Shard,
    out: Path,
    limits: WindowLimits | None,
    progress: Report | None,
) -> Summary | None:
    """Everything that is not in the folder of the share yet, or is damaged there, up to its mark of completeness.

    A job that begins here writes its file too, if the format allows; then the file is there when this returns.
    """
    options, read, folder = description.options, [0], parts_folder(out) / shard.name

    def documents() -> Iterator[Document]:
        names = {file: source for source, file in files.items()}
        for document in options.documents(list(files.values())):
            read[0] += size_of(document)
            yield replace(document, source=names[document.source])

    def tell(done: Done) -> None:
        work.reach(read[0], tokens=done.tokens)

    limits = limits or WindowLimits.for_model(elmo, options)
    with elmo.engine.keeping_tokens(KEPT_TOKENS), working("embedding", description.characters, progress) as work:
        if elmo.state == "carry":
            keep_all_or_nothing(folder)
            elmo.forget()
        else:
            repair_parts(documents, elmo, options, shard, folder, limits)
        if (folder / COMPLETE).exists():
            return None
        read[0] = 0
        with _file_beside(out, description, shard, folder) as beside:
            on_records = beside.add if beside is not None else None
            compute_parts(
                documents(), elmo, options, shard, folder, limits=limits, on_window=tell, on_records=on_records
            )
            mark_complete(folder)
            if beside is None:
                return None
            beside.finish()
            return Summary.of(out, description, [read_trailer(path) for path in find_parts(folder)])


@contextmanager
def _file_beside(out: Path, description: Description, shard: Shard, folder: Path) -> Iterator[FileBeside | None]:
    """The file of a job that has no parts yet; None where it is put together from the parts at the end."""
    if shard.count > 1 or find_parts(folder) or not output_format(out).in_one_pass:
        partial_path(folder / out.name).unlink(missing_ok=True)  # what a killed run left
        yield None
        return
    beside = FileBeside(out, folder, description.about())
    try:
        yield beside
    finally:
        beside.abandon()
