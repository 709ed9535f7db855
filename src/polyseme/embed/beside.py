"""The finished file, written beside the parts while they are computed.

A job that is not interrupted has its file when its last window is written, and reads no part again. The parts are
there for the job that is: it puts its file together from them at its end (`polyseme.embed.assembly`), with the same
bytes. So is every job whose file has to know at its beginning how many rows will come.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from polyseme.embed.records import Contents, Record, output_format
from polyseme.jobs.atomic import partial_path, put_in_place, raise_if_disk_full, sync

#: What is flushed to the disk at a time: all at the end would take seconds in which nothing is computed.
_FLUSH_BYTES = 32 << 20


class _Abandoned(Exception):
    """Ends a file that will not be finished."""


class FileBeside:
    """``out``, while it is written by a thread of its own; it has its name only after ``finish``."""

    def __init__(self, out: Path, folder: Path, about: dict[str, Any]) -> None:
        """Written in ``folder``, on the same disk; ``about`` is the job."""
        self._out, self._path = out, partial_path(folder / out.name)
        self._handed = SimpleQueue[list[Record] | None | _Abandoned]()  # None: these were all
        self._taken = SimpleQueue[bool]()  # for each list that was handed over; False: the thread has ended
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="polyseme-file")
        self._written = self._thread.submit(self._write, about)

    def add(self, records: list[Record]) -> None:
        """Hand over what comes next, as soon as all before it is written; raises what went wrong there."""
        self._handed.put(records)
        if not self._taken.get():
            self._raise()

    def finish(self) -> None:
        """Wait for the end, flush the file to the disk and give it its name."""
        self._handed.put(None)
        self._raise()
        self._thread.shutdown()
        put_in_place(self._path, self._out)

    def abandon(self) -> None:
        """Leave nothing of a file that is not finished; one that is finished stays."""
        self._handed.put(_Abandoned())
        self._thread.shutdown()
        self._path.unlink(missing_ok=True)

    def _raise(self) -> None:
        try:
            self._written.result()
        except BaseException as error:
            raise_if_disk_full(error, self._out, "make room and continue with --resume; what is finished is safe")
            raise

    def _write(self, about: dict[str, Any]) -> None:
        try:
            contents = Contents(records=self._records, headers=self._records, rows=0, about=about)
            output_format(self._out).write(self._path, contents)
        finally:
            self._taken.put(False)

    def _records(self) -> Iterator[Record]:
        unflushed = 0
        while (records := self._handed.get()) is not None:
            if isinstance(records, _Abandoned):
                raise records
            self._taken.put(True)
            yield from records
            unflushed += sum(record.values.nbytes for record in records)
            if unflushed >= _FLUSH_BYTES:
                sync(self._path)
                unflushed = 0
