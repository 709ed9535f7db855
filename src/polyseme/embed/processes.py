"""The embed job in several processes of one machine: a share each, then put together.

One process uses all cores for its vectors, but splits text and writes in one interpreter. Where that is the limit,
several do more. Their shares are those of several machines (``Shard``), so the file has the same bytes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyseme.embed.assembly import Summary, assemble
from polyseme.embed.description import Options, Shard
from polyseme.embed.job import embed_files, is_finished, refuse_unfinished
from polyseme.embed.parts import DESCRIPTION, parts_folder
from polyseme.engine.pool import check_threads
from polyseme.errors import ConfigError, JobError
from polyseme.jobs.atomic import refuse_existing
from polyseme.jobs.ordered_map import map_in_order
from polyseme.jobs.progress import Progress, Report, working

if TYPE_CHECKING:
    from polyseme.elmo import Elmo

#: Makes the model of a process, with so many threads.
LoadModel = Callable[[int], "Elmo"]
_LOOK_SECONDS = 0.5


def embed_in_processes(
    inputs: Sequence[str | Path],
    out: str | Path,
    load_model: LoadModel,
    options: Options | None = None,
    *,
    processes: int,
    threads: int | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: Report | None = None,
) -> Summary | None:
    """As ``embed_files``, by ``processes`` processes with ``threads`` in all (all usable cores unless given).

    ``load_model`` is called in each process, so it must be picklable. When one of them dies, the others finish their
    shares; then JobError, and ``resume`` goes on with what is missing.
    """
    out, options = Path(out), options or Options()
    if processes < 2:
        raise ConfigError(f"processes is {processes}; at least two are needed; otherwise use embed_files")
    _refuse_other_count(out, processes)
    for index in range(processes):
        refuse_unfinished(parts_folder(out) / Shard(index, processes).name, out, resume=resume)
    if not resume and not overwrite:
        refuse_existing(out)
    each = max(1, check_threads(threads) // processes)
    begun = any(parts_folder(out).glob(f"*/{DESCRIPTION}"))
    if resume and not begun and is_finished(inputs, out, load_model(each), options, overwrite=overwrite):
        return None
    counts: Any = get_context("spawn").RawArray("q", 3 * processes)  # done, total and tokens of each process
    shares = [_Share([str(one) for one in inputs], out, options, index, processes) for index in range(processes)]
    work = partial(_embed_share, partial(load_model, each), resume, counts)
    with _told(counts, progress):
        for _ in map_in_order(work, shares, processes):
            pass
    return assemble(out, overwrite=True)


@dataclass(frozen=True, slots=True)
class _Share:
    """What one process embeds."""

    inputs: list[str]
    out: Path
    options: Options
    index: int
    count: int


def _embed_share(load_model: Callable[[], Elmo], resume: bool, counts: Any, share: _Share) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()

    def note(progress: Progress) -> None:
        counts[3 * share.index : 3 * share.index + 3] = [progress.done, progress.total or 0, progress.tokens]

    shard = Shard(share.index, share.count)
    embed_files(
        share.inputs, share.out, load_model(), share.options, shard=shard, resume=resume, overwrite=True, progress=note
    )


def _end_with_parent() -> None:
    """Nobody would put the shares of a job together whose first process was killed."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _told(counts: Any, progress: Report | None) -> Iterator[None]:
    """Within the block the work of all processes is told as one: every one of them reads all of the input."""
    ended = threading.Event()
    with working("embedding", None, progress) as work:

        def look() -> None:
            while not ended.wait(_LOOK_SECONDS):
                work.total = max(counts[1::3]) or None
                work.reach(sum(counts[0::3]) // (len(counts) // 3), tokens=sum(counts[2::3]))

        looking = threading.Thread(target=look, daemon=True)
        looking.start()
        try:
            yield
        finally:
            ended.set()
            looking.join()


def _refuse_other_count(out: Path, processes: int) -> None:
    folders = sorted(parts_folder(out).glob("*-of-*"))
    others = {int(folder.name.split("-")[2]) for folder in folders} - {processes}
    if others:
        raise JobError(
            f"a job for {out} was started with --processes {min(others)}; continue with that and --resume, "
            f"or delete {parts_folder(out)} to start from the beginning"
        )
