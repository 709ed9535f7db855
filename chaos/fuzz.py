"""Structure-aware mutants of every file that polyseme reads: each is read, or refused by one of our own errors.

    PYTHONPATH=.:tests python -m chaos.fuzz --mutants 100000          all surfaces; results in chaos/results/fuzz.json
    PYTHONPATH=.:tests python -m chaos.fuzz --minutes 10 --only HDF5 --seed 7

A mutant is a surface and a number, so a failure can be made again. Mutants are read in a process of their own: one that
takes more than 5 CPU seconds, or ends the process, is a failure too. What failed is saved in tests/fixtures/mutants,
and read by the default tests.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from chaos.mutations import mutate_folder
from chaos.surfaces import Surface, surfaces
from helpers.paths import COMMITTED
from polyseme.errors import PolysemeError

CPU_SECONDS = 5
MEMORY = 4 << 30  # beyond what the process has when it begins
RESULTS = Path(__file__).parent / "results" / "fuzz.json"
SAVED = COMMITTED / "mutants"
LARGEST_SAVED = 100_000
BATCH = 100


@dataclass
class Tally:
    """What became of the mutants of one surface."""

    surface: str
    mutants: int = 0
    read: int = 0
    refused: int = 0
    failures: list[dict[str, Any]] = field(default_factory=list)
    slowest: float = 0.0  #: CPU seconds
    seconds: float = 0.0  #: CPU, all mutants


def fuzz(surface: Surface, numbers: Sequence[int], seed: int, place: Path) -> Tally:
    """Read so many mutants of a surface, in batches, each in a fork of this process."""
    tally = Tally(surface.name)
    good = place / "good"
    shutil.rmtree(good, ignore_errors=True)
    good.mkdir(parents=True)
    surface.make(good)
    surface.read(_copy(good, place / "mutant"))  # what is imported once is not the mutants' time
    left = list(numbers)
    while left:
        log = place / "log.jsonl"
        log.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            _read_batch(surface, left[:BATCH], seed, good, place, log)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        for line in lines:
            _count(tally, line)
        done = len(lines)
        if os.WIFSIGNALED(status) and done < len(left[:BATCH]):
            name = signal.Signals(os.WTERMSIG(status)).name
            reason = f"more than {CPU_SECONDS} CPU seconds" if name == "SIGPROF" else f"the process ended by {name}"
            _count(tally, {"number": left[done], "outcome": reason, "seconds": 0.0})
            _save(surface.name, left[done], place / "mutant")
            done += 1
        left = left[max(done, 1) :]
    return tally


def _read_batch(surface: Surface, numbers: Sequence[int], seed: int, good: Path, place: Path, log: Path) -> None:
    import resource  # not on Windows, where saved mutants are read all the same

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY, held + MEMORY))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 2)
    with log.open("a", buffering=1) as file:
        for number in numbers:
            folder = _copy(good, place / "mutant")
            changed = mutate_folder(folder, random.Random(f"{surface.name} {seed} {number}"))
            signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
            began = time.process_time()
            outcome, where = read_mutant(surface, folder)
            seconds = time.process_time() - began
            signal.setitimer(signal.ITIMER_PROF, 0)
            if outcome not in ("read", "refused"):
                shutil.rmtree(folder, ignore_errors=True)
                mutate_folder(_copy(good, folder), random.Random(f"{surface.name} {seed} {number}"))
                _save(surface.name, number, folder)
            told = {"number": number, "changed": changed, "outcome": outcome, "where": where, "seconds": seconds}
            file.write(json.dumps(told) + "\n")


def read_mutant(surface: Surface, folder: Path) -> tuple[str, str | None]:
    """What becomes of it: "read", "refused", or the error that should not have come, and where it came from."""
    try:
        surface.read(folder)
    except PolysemeError as error:
        sentence = str(error)
        return ("refused", None) if "\n" not in sentence else (f"more than one line: {sentence[:80]}", None)
    except BaseException as error:
        frames = [one for one in traceback.extract_tb(error.__traceback__) if "polyseme" in one.filename]
        where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else None
        return f"{type(error).__name__}: {str(error)[:100]}", where
    return "read", None


def _count(tally: Tally, told: dict[str, Any]) -> None:
    tally.mutants += 1
    tally.slowest = max(tally.slowest, told["seconds"])
    tally.seconds += told["seconds"]
    if told["outcome"] == "read":
        tally.read += 1
    elif told["outcome"] == "refused":
        tally.refused += 1
    else:
        tally.failures.append({key: told.get(key) for key in ("number", "changed", "outcome", "where")})


def _copy(good: Path, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(good, folder)
    return folder


def _save(surface: str, number: int, folder: Path) -> None:
    """Keep a small mutant that failed, for the default tests."""
    if sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) <= LARGEST_SAVED:
        target = SAVED / surface.replace(" ", "-") / str(number)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(folder, target)


def shares(chosen: Sequence[Surface], mutants: int) -> dict[str, int]:
    total = sum(surface.share for surface in chosen)
    return {surface.name: max(1, round(mutants * surface.share / total)) for surface in chosen}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--mutants", type=int, default=10_000, help="over all surfaces")
    parser.add_argument("--minutes", type=float, help="instead: rounds of 100 mutants a surface until so many are over")
    parser.add_argument("--only", default="", help="surfaces whose name has this in it")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    args.commit = measured_commit()  # now: what is imported is the code of this moment
    os.environ["POLYSEME_CACHE"] = tempfile.mkdtemp(prefix="fuzz-cache-")
    chosen = [surface for surface in surfaces() if args.only in surface.name]
    tallies: dict[str, Tally] = {}
    began, first = time.monotonic(), 0
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
        while True:
            many = shares(chosen, 100 * len(chosen) if args.minutes else args.mutants)
            asked = [
                (one, range(first, first + many[one.name]), args.seed, Path(name) / str(n))
                for n, one in enumerate(chosen)
            ]
            for found in _side_by_side(asked, args.workers):
                _report(found)
                tallies[found.surface] = _sum(tallies.get(found.surface), found)
                _write(args, tallies, time.monotonic() - began)
            first += max(many.values())
            if not args.minutes or time.monotonic() - began > 60 * args.minutes:
                break
    wrong = sum(len(tally.failures) for tally in tallies.values())
    print(f"{sum(tally.mutants for tally in tallies.values()):,} mutants, {wrong} failures")
    raise SystemExit(1 if wrong else 0)


def _side_by_side(asked: Sequence[tuple[Surface, Sequence[int], int, Path]], workers: int) -> Iterator[Tally]:
    """The tallies in the order of the surfaces; so many processes read at a time, each a surface."""
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        running = [pool.apply_async(_fuzz_named, (one.name, *rest)) for one, *rest in asked]
        yield from (one.get() for one in running)


def _fuzz_named(name: str, numbers: Sequence[int], seed: int, place: Path) -> Tally:
    """A surface has functions that no pickle carries, so that its name goes to the other process."""
    return fuzz(next(one for one in surfaces() if one.name == name), numbers, seed, place)


def measured_commit() -> str | None:
    """Of the code that is measured; None without git, marked where files have changed since."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        return subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def _sum(before: Tally | None, now: Tally) -> Tally:
    if before is None:
        return now
    return Tally(
        now.surface,
        before.mutants + now.mutants,
        before.read + now.read,
        before.refused + now.refused,
        before.failures + now.failures,
        max(before.slowest, now.slowest),
        before.seconds + now.seconds,
    )


def _report(tally: Tally) -> None:
    kinds = Counter(f"{failure['outcome'][:70]} ({failure['where']})" for failure in tally.failures)
    print(
        f"{tally.surface:<28} {tally.mutants:>7,} mutants: {tally.read:,} read, {tally.refused:,} refused, "
        f"{len(tally.failures)} failures; slowest {tally.slowest:.2f} CPU s",
        flush=True,
    )
    for kind, times in kinds.most_common(12):
        print(f"    {times} × {kind}", flush=True)


def _write(args: argparse.Namespace, tallies: dict[str, Tally], seconds: float) -> None:
    args.out.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {**asdict(tally), "failures": tally.failures[:20], "failed": len(tally.failures)} for tally in tallies.values()
    ]
    total = {name: sum(row[name] for row in rows) for name in ("mutants", "read", "refused", "failed")}
    slowest = max((row["slowest"] for row in rows), default=0.0)
    about = {"commit": args.commit, "seed": args.seed, "cpu_limit": CPU_SECONDS, "wall_seconds": round(seconds)}
    args.out.write_text(json.dumps({**about, **total, "slowest": slowest, "surfaces": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
