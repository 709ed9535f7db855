"""The embed job on a Ray cluster: shares of the input as a Ray dataset, a model in each actor, Parquet shards out.

    FILE.parts/on-ray/_job.json           what the job does, as on one machine
    FILE.parts/on-ray/1-of-8.parquet …    a finished share each, complete or not there
    FILE.parts/on-ray → FILE              the folder gets its name when all are there

`polyseme.embed.read` reads the folder like one file, and so does whatever reads folders of Parquet files.
Inputs, model and FILE lie where every machine of the cluster sees them under the same name.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyseme.embed.compute import WindowLimits, compute_records
from polyseme.embed.description import Description, Options, Shard
from polyseme.embed.job import settle
from polyseme.embed.parts import LOCK, parts_folder
from polyseme.embed.records import Contents, Record, output_format
from polyseme.errors import ConfigError, JobError, PolysemeError
from polyseme.extras import needing
from polyseme.jobs.atomic import delete_folder, exclusive, partial_path, put_in_place
from polyseme.jobs.manifests import write_manifest
from polyseme.text.lines import STDIN
from polyseme.text.readers import expand_inputs
from polyseme.text.tokenization import Language

if TYPE_CHECKING:
    from polyseme.elmo import Elmo
    from polyseme.sentence_reader import State

with needing("--on ray", "ray"):
    import ray
    import ray.data

_DESCRIPTION = "_job.json"  # readers of Parquet folders pass over names that begin with _
_SHARES_OF_A_WORKER = 8  # so that slow machines do not hold up the end (docs/scale.md)


def embed_on_ray(
    inputs: Sequence[str | Path],
    out: str | Path,
    model: str,
    options: Options | None = None,
    *,
    lang: Language | None = None,
    state: State | None = None,
    resume: bool = False,
    workers: int | None = None,
) -> int:
    """Embed ``inputs`` into the folder ``out`` (*.parquet) and give the number of records.

    Connects to the cluster of $RAY_ADDRESS or of this machine, or starts one here. ``workers`` is the number of actors,
    each with a model of its own; unless given, one for every two processors, since a model uses two threads.
    """
    from polyseme.elmo import Elmo

    out, options, sources = Path(out), options or Options(), [str(Path(s).resolve()) for s in _files(inputs)]
    if out.suffix != ".parquet":
        raise ConfigError(f"Ray writes Parquet shards, so the name of {out} should end in .parquet")
    if out.exists():
        raise JobError(f"{out} exists; delete it, or give another name")
    output_format(out)
    with _cluster() as processors:
        workers = workers or max(1, processors // 2)
        model = str(Path(model).resolve()) if Path(model).exists() else model  # workers run in folders of their own
        elmo = Elmo.from_pretrained(model, lang=lang, state=state)
        options = options.for_model(elmo)
        folder = parts_folder(out.resolve()) / "on-ray"
        if (folder / _DESCRIPTION).exists() and not resume:
            raise JobError(f"a job was interrupted; continue with --resume, or delete {folder.parent}")
        folder.mkdir(parents=True, exist_ok=True)
        with exclusive(folder.parent / LOCK, f"{folder.parent} is in use by another process; wait for it, or stop it"):
            description = _settle(sources, elmo, options, folder, workers * _SHARES_OF_A_WORKER)
            counted = _run(folder, description, model, lang, workers, processors)
    folder.replace(out)
    delete_folder(folder.parent)
    return counted


class RayEmbedder:
    """An actor: loads the model once, then embeds one share after another."""

    def __init__(self, model: str, lang: Language | None, folder: str) -> None:
        from polyseme.elmo import Elmo

        self._folder = Path(folder)
        self._description = Description.read(self._folder / _DESCRIPTION)
        self._elmo = Elmo.from_pretrained(model, lang=lang, state=self._description.state)  # type: ignore[arg-type]
        if self._elmo.fingerprint != self._description.model:
            raise JobError(f"this machine has another model under the name {model}; put the same one everywhere")

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """{"share": [indices]} → the same with what went wrong, in words: Ray would bury an exception in its own."""
        return {**batch, "problem": [self._embed(int(index)) for index in batch["share"]]}

    def _embed(self, index: int) -> str:
        """Write one share; gives "", or the sentence of the error."""
        try:
            self._write(index)
        except PolysemeError as error:
            return str(error)
        return ""

    def _write(self, index: int) -> None:
        description = self._description
        shard, options = Shard(index, description.shards), description.options
        path = self._folder / f"{shard.name}.parquet"

        def records() -> Iterator[Record]:
            documents = options.documents([one.name for one in description.inputs])
            limits = WindowLimits.for_model(self._elmo, options)
            return compute_records(documents, self._elmo, options, shard, limits)

        contents = Contents(records=records, headers=records, rows=0, about=description.about())
        output_format(path).write(partial_path(path), contents)
        put_in_place(partial_path(path), path)


def _files(inputs: Sequence[str | Path]) -> list[str]:
    sources = expand_inputs(inputs)
    if STDIN in sources:
        raise ConfigError("standard input cannot be shared between machines; give files")
    return sources


@contextmanager
def _cluster() -> Iterator[int]:
    """A connection to Ray; gives the number of processors there."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing leaves the machine unless it is asked for
    started_here = not ray.is_initialized()
    if started_here:
        _connect()
    try:
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        yield int(resources.get("CPU", 1))
    finally:
        if started_here:
            ray.shutdown()


def _connect() -> None:
    """To the cluster of $RAY_ADDRESS or of this machine; if there is none, start one."""
    try:
        try:
            ray.init(address="auto", logging_level=logging.ERROR)
        except ConnectionError:
            ray.init(address="local", include_dashboard=False, logging_level=logging.ERROR)
    except Exception as error:  # Ray has no class of its own for this
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise JobError(
            f"Ray did not start ({reason}); "
            "if it looked for a cluster that is gone, set RAY_ADDRESS=local to start a new one"
        ) from error


def _settle(sources: list[str], elmo: Elmo, options: Options, folder: Path, shares: int) -> Description:
    """The description of this job, written into ``folder``; a resumed job keeps the number of its shares."""
    path = folder / _DESCRIPTION
    shares = Description.read(path).shards if path.exists() else shares
    description = settle({source: source for source in sources}, elmo, options, shares, path)
    write_manifest(path, description)
    return description


def _run(
    folder: Path, description: Description, model: str, lang: Language | None, workers: int, processors: int
) -> int:
    """Embed the shares that are not there yet; give the number of records in all."""
    names = [folder / f"{Shard(index, description.shards).name}.parquet" for index in range(description.shards)]
    missing = [{"share": index} for index, path in enumerate(names) if not path.exists()]
    if missing:
        done = ray.data.from_items(missing, override_num_blocks=len(missing)).map_batches(
            RayEmbedder,
            fn_constructor_args=(model, lang, str(folder)),
            batch_size=1,
            concurrency=min(workers, len(missing)),
            num_cpus=processors / workers / 2,  # half: Ray needs room for tasks of its own
        )
        _consume(done)
    import pyarrow.parquet

    return sum(int(pyarrow.parquet.read_metadata(path).num_rows) for path in names)


def _consume(dataset: ray.data.Dataset) -> None:
    """Run it to the end, or to the first share that could not be done."""
    try:
        for row in dataset.iter_rows():
            if row["problem"]:
                raise JobError(f"a worker failed: {row['problem']}")
    except ray.exceptions.RayError as error:
        reason = str(error).strip().splitlines()[-1]
        raise JobError(f"a worker of the Ray cluster failed ({reason}); continue with --resume") from error
