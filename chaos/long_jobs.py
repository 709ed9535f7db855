"""The long jobs, small, at the window sizes that are shipped: what a run makes, and what of it must be the same."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.faulty_server import Served, serving
from helpers.release_files import list_releases
from helpers.small_corpora import random_text, small_corpus, small_recipe
from helpers.tiny_models import tiny_elmo, tiny_model

SENTENCES = 12_000  # some 80,000 tokens: two parts
SST = "(3 (2 The) (4 (3 bank) (2 .)))\n(1 (2 A) (2 present))\n(0 (1 Bad) (2 river))\n(4 (4 Good) (2 bank))\n"

MODEL = ("model/model.safetensors", "model/vocab.txt")
RELEASE = ("options.json", "weights.hdf5")
RESULTS = "reproduction.json"


@dataclass(frozen=True)
class LongJob:
    """``run(place, out)`` begins a job, or goes on with one; it is done when it returns."""

    name: str
    run: Callable[[Path, Path], object]
    suffix: str = ""  #: of what it writes
    kept: tuple[str, ...] = ("",)  #: ends of the names of what must have the same bytes; all files unless given
    whole: bool = True  #: whether that has its final name only when the job is done


def prepare_place(place: Path) -> None:
    """What the jobs read."""
    from helpers.paper_data import write_paper_data
    from helpers.small_lms import small_lm
    from helpers.small_models import small_model
    from polyseme.bilm_config import BiLMConfig, CharacterConfig
    from polyseme.formats.bilm_tf import save_bilm_tf
    from polyseme.formats.native import save_native

    place.mkdir(parents=True)
    (place / "text.txt").write_text(random_text(SENTENCES), encoding="utf-8")
    (place / "sst.txt").write_text(SST * 60, encoding="utf-8")
    save_native(tiny_model(), place / "model")
    (place / "corpus").mkdir()
    small_corpus(place / "corpus")
    write_paper_data(place / "data")
    save_native(small_lm(), place / "lm")
    network = BiLMConfig(characters=CharacterConfig(alphabet=261), cell=1024, projection=128)  # 19 MB
    save_bilm_tf(small_model(network), place / "served")
    start_server(place)


def start_server(place: Path) -> None:
    """A release that can be pulled, from a process of its own: what is forked later must have no threads."""
    files = {f"/{path.name}": Served(path, pause=0.005) for path in (place / "served").iterdir()}

    def serve() -> None:
        with serving(files) as (address, _):
            (place / "address.partial").write_text(address)
            (place / "address.partial").rename(place / "address")
            threading.Event().wait()

    multiprocessing.get_context("fork").Process(target=serve, daemon=True).start()
    while not (place / "address").exists():
        time.sleep(0.01)


def _embed(place: Path, out: Path) -> None:
    from polyseme.embed.job import embed_files

    embed_files([place / "text.txt"], out, tiny_elmo(), resume=True)


def _shard_and_merge(place: Path, out: Path) -> None:
    from polyseme.embed.assembly import assemble
    from polyseme.embed.description import Shard
    from polyseme.embed.job import embed_files
    from polyseme.embed.parts import COMPLETE, parts_folder

    if out.exists() and not parts_folder(out).exists():
        return
    for index in (0, 1):
        share = Shard(index, 2)
        if not (parts_folder(out) / share.name / COMPLETE).exists():
            embed_files([place / "text.txt"], out, tiny_elmo(), shard=share, resume=True)
    assemble(out)


def _index(place: Path, out: Path) -> None:
    from polyseme.index.builder import build_index

    build_index(tiny_elmo(), [place / "text.txt"], out, (2,), resume=True)


def _prepare(place: Path, out: Path) -> None:
    from polyseme.pretrain.corpus.preparation import prepare

    if not out.exists():
        prepare([place / "text.txt"], out, lang="whitespace", workers=1)


def _pretrain(place: Path, out: Path) -> None:
    from polyseme.pretrain.training.pretraining import pretrain
    from polyseme.pretrain.training.run_plan import RunPlan

    plan = RunPlan(place / "corpus" / "corpus", out, small_recipe(), threads=1)
    pretrain(plan, resume=_begun(out))


def _finetune(place: Path, out: Path) -> None:
    from polyseme.pretrain.training.finetuning import finetune
    from polyseme.pretrain.training.run_plan import RunPlan

    recipe = small_recipe(budget={"tokens": 1500, "softmax_tokens": 500, "validate_every": 500, "validate_on": 200})
    plan = RunPlan(place / "corpus" / "corpus", out, recipe, init=str(place / "model"), threads=1)
    finetune(plan, resume=_begun(out))


def _begun(out: Path) -> bool:
    return (out / "last.safetensors").exists()


def _task(place: Path, out: Path) -> None:
    from helpers.small_runs import SMALL
    from polyseme.settings import with_values
    from polyseme.tasks.data_files import DataFiles
    from polyseme.tasks.definition import find_task
    from polyseme.tasks.run import TaskPlan, train_task

    changes = SMALL | {"model": str(place / "model"), "epochs": 3}
    preset = with_values(find_task("sst").presets["cpu"], changes, "a task")
    files = DataFiles(place / "sst.txt", place / "sst.txt")
    plan = TaskPlan("sst", files, out, preset, "cpu", cache=out.with_name(out.name + ".cache"))
    train_task(plan, resume=_begun(out) or (out / "run.json").exists())


def _reproduce(place: Path, out: Path) -> None:
    from helpers.paper_data import TINY
    from polyseme.elmo import Elmo
    from polyseme.reproduce.bench import Bench
    from polyseme.reproduce.report_parts import Choice
    from polyseme.reproduce.reproduction import Reproduction
    from polyseme.tasks.training import TaskWatch

    model, data = place / "lm", place / "data"
    bench = Bench(Elmo.from_pretrained(model, device="cpu"), str(model), data, out, TINY, str(data / "vectors.txt"))
    chosen = Choice(("table3", "table5", "perplexity"), ("snli",))
    Reproduction(bench, chosen).run(TaskWatch(), lambda *begun: None)


def _pull(place: Path, out: Path) -> None:
    from polyseme.formats.detect import load_path
    from polyseme.formats.named import locate

    os.environ["POLYSEME_HOME"] = str(out)
    address = (place / "address").read_text()
    source = {name: f"{address}/{name}" for name in RELEASE}
    if not (out / "releases.toml").exists():
        out.mkdir(exist_ok=True)
        listed = out / f"releases.{os.getpid()}"
        listed.mkdir()
        list_releases(listed, {"name": "small-one", "sources": [source]})
        (listed / "releases.toml").rename(out / "releases.toml")
        listed.rmdir()
    locate("small-one", load_path)


def long_jobs() -> Iterator[LongJob]:
    for suffix in (".h5", ".npz", ".parquet"):
        yield LongJob(f"embed {suffix}", _embed, suffix)
    yield LongJob("embed shares, merge", _shard_and_merge, ".npz")
    yield LongJob("index", _index)
    yield LongJob("prepare", _prepare)
    yield LongJob("pretrain", _pretrain, kept=MODEL, whole=False)
    yield LongJob("finetune", _finetune, kept=MODEL, whole=False)
    yield LongJob("task train", _task, kept=("model.safetensors",), whole=False)
    yield LongJob("reproduce", _reproduce, kept=("report.md", RESULTS), whole=False)
    yield LongJob("pull", _pull, kept=tuple(f"releases/small-one/model/{name}" for name in RELEASE))


def digest_of(job: LongJob, out: Path) -> str | None:
    """Of all that must be the same; None where there is nothing under the final name."""
    if not out.exists():
        return None
    paths = [out] if out.is_file() else sorted(path for path in out.rglob("*") if path.is_file())
    names = [(path, path.relative_to(out).as_posix() if path != out else "") for path in paths]
    kept = [(path, name) for path, name in names if name.endswith(job.kept) and not name.endswith(".checked.json")]
    if not kept:
        return None
    lines = "".join(f"{name} {hashlib.sha256(_content(path)).hexdigest()}\n" for path, name in kept)
    return hashlib.sha256(lines.encode()).hexdigest()


def _content(path: Path) -> bytes:
    """The bytes of a file; of a reproduction, all figures but how long they took."""
    if path.name != RESULTS:
        return path.read_bytes()

    def untimed(values: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in values.items() if name != "seconds"}

    return json.dumps(json.loads(path.read_bytes(), object_hook=untimed)).encode()


def remove(out: Path) -> None:
    """A job's output, and all that stands beside it with its name."""
    for path in out.parent.glob(f"{out.name}*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
