"""Kills, full disks, little memory, two writers and a clock that jumps, at every long job: the result is the same.

    PYTHONPATH=.:tests python -m chaos.faults --kills 20            results in chaos/results/faults.json

A run is a fork of this process, which has imported everything: kills fall into the work. After every fault what stands
under the final name is whole or not there; in the end the job goes on, and its files have the bytes of a run that
nothing happened to.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chaos.fuzz import measured_commit
from chaos.long_jobs import LongJob, digest_of, long_jobs, prepare_place, remove
from polyseme.cli.app import sentence_of
from polyseme.errors import PolysemeError

RESULTS = Path(__file__).parent / "results" / "faults.json"
Limit = Callable[[], None]


def begin(job: LongJob, place: Path, out: Path, said: Path, limit: Limit | None = None) -> int:
    """The job in a fork, which leads a group of its own; what it says in the end goes to ``said``."""
    said.unlink(missing_ok=True)
    child = os.fork()
    if child:
        return child
    os.setsid()
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    code = 1
    try:
        if limit is not None:
            limit()
        job.run(place, out)
        code = 0
    except PolysemeError as error:
        _say(said, {"own": True, "sentence": str(error)})
    except Exception as error:
        _say(said, {"own": False, "kind": type(error).__name__, "sentence": sentence_of(error)})
    finally:
        os._exit(code)


def _say(said: Path, told: dict[str, Any]) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    said.write_text(json.dumps(told))


def finish(child: int) -> int:
    """The exit code; below 0, the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kills(job: LongJob, place: Path, out: Path, said: Path, count: int, seconds: float, whole: str) -> dict[str, Any]:
    chance, killed, wrong, whole_at_once = random.Random(job.name), 0, list[str](), 0
    while killed < count and whole_at_once < 10 * count:
        child = begin(job, place, out, said)
        time.sleep(chance.uniform(0, seconds))
        done = os.waitpid(child, os.WNOHANG)[0] == child
        if not done:
            os.killpg(child, signal.SIGKILL) if os.getpgid(child) == child else os.kill(child, signal.SIGKILL)
            done = finish(child) != -signal.SIGKILL
        killed += not done
        if job.whole and (found := digest_of(job, out)) not in (None, whole):
            wrong.append(f"after kill {killed}: another digest {found}")
        if done:
            whole_at_once += 1
            if digest_of(job, out) != whole:
                wrong.append(f"done after {killed} kills with other bytes: {_said(said)}")
            remove(out)
    code = finish(begin(job, place, out, said))
    same = code == 0 and digest_of(job, out) == whole
    if not same:
        wrong.append(f"at the end: code {code}, {_said(said)}")
    left = sorted(path.name for path in out.parent.glob(f"{out.name}*") if not path.name.endswith(".cache"))
    if left != [out.name]:
        wrong.append(f"left behind: {left}")
    remove(out)
    return {"kills": killed, "survived": killed - len(wrong) if wrong else killed, "same": same, "wrong": wrong[:5]}


def _said(said: Path) -> str:
    return said.read_text() if said.exists() else "nothing said"


def _starved(job: LongJob, place: Path, out: Path, said: Path, limit: Callable[[], None]) -> tuple[int, dict[str, Any]]:
    """The exit code under a limit, and what was told."""
    code = finish(begin(job, place, out, said, limit))
    return code, json.loads(_said(said)) if said.exists() else {}


def _not_gone_on(job: LongJob, place: Path, out: Path, said: Path, whole: str, limited: str) -> list[str]:
    """Run again without a limit: what is wrong with the result, which is removed."""
    gone_on = finish(begin(job, place, out, said)) == 0 and digest_of(job, out) == whole
    remove(out)
    return [] if gone_on else [f"{limited}: did not go on to the same bytes: {_said(said)}"]


def full_disk(job: LongJob, place: Path, out: Path, said: Path, largest: int, whole: str) -> dict[str, Any]:
    """A limit on the size of a file stands for the disk."""
    tried, wrong = 0, list[str]()
    for share in (0.02, 0.3, 0.6, 0.95):
        size = int(largest * share)

        def limit(size: int = size) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

        code, told = _starved(job, place, out, said, limit)
        tried += 1
        if code == 0:
            continue
        if "no space left" not in told.get("sentence", ""):
            wrong.append(f"{size} bytes: code {code}, {told}")
        wrong += _not_gone_on(job, place, out, said, whole, f"{size} bytes")
    return {"tried": tried, "wrong": wrong}


def little_memory(job: LongJob, place: Path, out: Path, said: Path, whole: str) -> dict[str, Any]:
    tried, wrong = 0, list[str]()
    for more in (8 << 20, 64 << 20, 256 << 20):

        def limit(more: int = more) -> None:
            held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (held + more, resource.RLIM_INFINITY))

        code, told = _starved(job, place, out, said, limit)
        tried += 1
        if code and not (told.get("own") or "not enough memory" in told.get("sentence", "")):
            wrong.append(f"{more >> 20} MB: code {code}, {told}")
        wrong += _not_gone_on(job, place, out, said, whole, f"{more >> 20} MB")
    return {"tried": tried, "wrong": wrong}


def two_writers(job: LongJob, place: Path, out: Path, said: Path, whole: str) -> dict[str, Any]:
    tried, wrong = 0, list[str]()
    for pause in (0.0, 0.02, 0.1):
        second_said = said.with_name("second.json")
        first = begin(job, place, out, said)
        time.sleep(pause)
        second = begin(job, place, out, second_said)
        codes = [finish(first), finish(second)]
        tried += 1
        told = [_said(path) for path, code in ((said, codes[0]), (second_said, codes[1])) if code]
        if any("another process" not in one for one in told):
            wrong.append(f"{pause} s later: codes {codes}, {told}")
        if all(codes) and finish(begin(job, place, out, said)):
            wrong.append(f"{pause} s later: neither was done, and {_said(said)}")
        if digest_of(job, out) != whole:
            wrong.append(f"{pause} s later: other bytes")
        remove(out)
    return {"tried": tried, "wrong": wrong}


def clock_steps(job: LongJob, place: Path, out: Path, said: Path, whole: str) -> dict[str, Any]:
    """A clock that goes back a day, and one that goes on a year, in the middle of the job."""
    tried, wrong = 0, list[str]()
    for step in (-86_400.0, 31_536_000.0):

        def limit(step: float = step) -> None:
            real, calls = time.time, iter(range(1 << 60))
            time.time = lambda: real() + (step if next(calls) > 3 else 0.0)

        code = finish(begin(job, place, out, said, limit))
        tried += 1
        if code or digest_of(job, out) != whole:
            wrong.append(f"{step:+.0f} s: code {code}, {_said(said)}")
        remove(out)
    return {"tried": tried, "wrong": wrong}


def try_job(job: LongJob, place: Path, count: int) -> dict[str, Any]:
    out, said = place / f"out{job.suffix}", place / "said.json"
    code = finish(begin(job, place, out, said))  # what is imported on first use is warm then
    whole = digest_of(job, out)
    if code or whole is None:
        return {"job": job.name, "broken": f"code {code}: {_said(said)}"}
    sizes = [out] if out.is_file() else [path for path in out.rglob("*") if path.is_file()]
    largest = max(path.stat().st_size for path in sizes)
    remove(out)
    began = time.monotonic()
    again = finish(begin(job, place, out, said))
    seconds = time.monotonic() - began
    same = again == 0 and digest_of(job, out) == whole
    remove(out)
    return {
        "job": job.name,
        "seconds": round(seconds, 2),
        "same_twice": same,
        "kills": kills(job, place, out, said, count, seconds, whole),
        "full_disk": full_disk(job, place, out, said, largest, whole),
        "little_memory": little_memory(job, place, out, said, whole),
        "two_writers": two_writers(job, place, out, said, whole),
        "clock_steps": clock_steps(job, place, out, said, whole),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=20, help="of every job")
    parser.add_argument("--only", default="", help="jobs whose name has this in it")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    import torch

    import polyseme.pretrain.training.finetuning
    import polyseme.reproduce.reproduction
    import polyseme.tasks.run  # noqa: F401, imported before the forks

    torch.set_num_threads(1)  # a fork has none but the one that called it
    rows, commit = list[dict[str, Any]](), measured_commit()
    with tempfile.TemporaryDirectory(prefix="chaos-") as name:
        place = Path(name) / "place"
        os.environ["POLYSEME_CACHE"] = str(Path(name) / "cache")
        prepare_place(place)
        for job in long_jobs():
            if args.only in job.name:
                rows.append({**try_job(job, place, args.kills), "commit": commit})
                print(json.dumps(rows[-1]), flush=True)
                write_rows(args.out, rows)
        shutil.rmtree(place, ignore_errors=True)
    wrong = [row["job"] for row in rows if "broken" in row or any(_wrong(part) for part in row.values())]
    print(f"{len(rows)} jobs; something is wrong with: {', '.join(wrong) or 'none'}")
    raise SystemExit(1 if wrong else 0)


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """The rows of these jobs; those of others stay as they were measured, with the commit that each belongs to."""
    before = json.loads(path.read_text(encoding="utf-8"))["jobs"] if path.exists() else []
    found = {row["job"]: row for row in (*before, *rows)}
    known = [found[job.name] for job in long_jobs() if job.name in found]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"jobs": known}, indent=1) + "\n", encoding="utf-8")


def _wrong(part: Any) -> bool:
    return isinstance(part, dict) and bool(part.get("wrong"))


if __name__ == "__main__":
    main()
