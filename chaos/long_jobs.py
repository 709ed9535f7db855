"""The long jobs, small, at the window sizes that are shipped: what a run makes, and what of it must be the same."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from helpers.small_corpora import random_text, small_corpus, small_recipe
from helpers.tiny_models import tiny_elmo, tiny_model

SENTENCES = 12_000  # some 80,000 tokens: two parts
SST = "(3 (2 The) (4 (3 bank) (2 .)))\n(1 (2 A) (2 present))\n(0 (1 Bad) (2 river))\n(4 (4 Good) (2 bank))\n"


@dataclass(frozen=True)
class LongJob:
    """``run(place, out)`` begins a job, or goes on with one; it is done when it returns."""

    name: str
    run: Callable[[Path, Path], object]
    suffix: str = ""  #: of what it writes
    kept: tuple[str, ...] = (
        "",
    )  #: what of its folder must have the same bytes, by the ends of names; all unless given


def prepare_place(place: Path) -> None:
    """What the jobs read."""
    from polyseme.formats.native import save_native

    place.mkdir(parents=True)
    (place / "text.txt").write_text(random_text(SENTENCES), encoding="utf-8")
    (place / "sst.txt").write_text(SST * 60, encoding="utf-8")
    save_native(tiny_model(), place / "model")
    (place / "corpus").mkdir()
    small_corpus(place / "corpus")


def _embed(place: Path, out: Path) -> None:
    from polyseme.embed.job import embed_files

    embed_files([place / "text.txt"], out, tiny_elmo(), resume=True)


def _shard_and_merge(place: Path, out: Path) -> None:
    from polyseme.embed.job import embed_files
    from polyseme.embed.parts import COMPLETE, assemble, parts_folder
    from polyseme.embed.passages import Shard

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
    from polyseme.pretrain.training.pretraining import RunPlan, pretrain

    plan = RunPlan(place / "corpus" / "corpus", out, small_recipe(), threads=1)
    pretrain(plan, resume=_begun(out))


def _finetune(place: Path, out: Path) -> None:
    from polyseme.pretrain.training.finetuning import finetune
    from polyseme.pretrain.training.pretraining import RunPlan

    recipe = small_recipe(budget={"tokens": 1500, "softmax_tokens": 500, "validate_every": 500, "validate_on": 200})
    plan = RunPlan(place / "corpus" / "corpus", out, recipe, init=str(place / "model"), threads=1)
    finetune(plan, resume=_begun(out))


def _begun(out: Path) -> bool:
    return (out / "last.safetensors").exists()


def _task(place: Path, out: Path) -> None:
    from helpers.small_runs import SMALL
    from polyseme.settings import with_values
    from polyseme.tasks.data_files import DataFiles
    from polyseme.tasks.registry import find_task
    from polyseme.tasks.run import TaskPlan, train_task

    changes = SMALL | {"model": str(place / "model"), "epochs": 3}
    preset = with_values(find_task("sst").presets["cpu"], changes, "a task")
    files = DataFiles(place / "sst.txt", place / "sst.txt")
    plan = TaskPlan("sst", files, out, preset, "cpu", cache=out.with_name(out.name + ".cache"))
    train_task(plan, resume=_begun(out) or (out / "run.json").exists())


def long_jobs() -> Iterator[LongJob]:
    for suffix in (".h5", ".npz", ".parquet"):
        yield LongJob(f"embed {suffix}", _embed, suffix)
    yield LongJob("embed shares, merge", _shard_and_merge, ".npz")
    yield LongJob("index", _index)
    yield LongJob("prepare", _prepare)
    yield LongJob("pretrain", _pretrain, kept=("model/model.safetensors", "model/vocab.txt"))
    yield LongJob("finetune", _finetune, kept=("model/model.safetensors", "model/vocab.txt"))
    yield LongJob("task train", _task, kept=("model.safetensors",))


def digest_of(job: LongJob, out: Path) -> str | None:
    """Of all that must be the same; None where there is nothing under the final name."""
    if not out.exists():
        return None
    paths = [out] if out.is_file() else sorted(path for path in out.rglob("*") if path.is_file())
    names = [(path, path.relative_to(out).as_posix() if path != out else "") for path in paths]
    kept = [(path, name) for path, name in names if name.endswith(job.kept) and not name.endswith(".checked.json")]
    if not kept:
        return None
    lines = "".join(f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n" for path, name in kept)
    return hashlib.sha256(lines.encode()).hexdigest()


def remove(out: Path) -> None:
    """A job's output, and all that stands beside it with its name."""
    for path in out.parent.glob(f"{out.name}*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
