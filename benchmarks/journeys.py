"""How many modules of polyseme a reader crosses to follow a command from its verb to its result.

    python benchmarks/journeys.py
    python benchmarks/journeys.py --before OLD/src      count an older checkout too, for the column "before"

For each journey the command is run for real, on a few sentences, in a process of its own that notes every module of
polyseme in which a function was called. Modules that only hold names, or are imported and never called, do not count.
What runs while a module is imported does not count either.
Results: benchmarks/results/journeys.json, and the table in docs/architecture.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from pages import fill_in

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "journeys.json"
JOURNEYS = ("embed", "task train", "reproduce --only senses")

CHILD = """
import sys, threading
from pathlib import Path
seen = set()
def note(frame, event, argument):
    name = frame.f_globals.get("__name__", "") if event == "call" else ""
    if name not in seen and (name == "polyseme" or name.startswith("polyseme.")) and not importing(frame):
        seen.add(name)
def importing(frame):
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__", "").startswith("polyseme"):
            return True
        frame = frame.f_back
    return False
sys.setprofile(note); threading.setprofile(note)
from polyseme.cli.app import app
try:
    failed = app(sys.argv[2:], standalone_mode=False)
finally:
    sys.setprofile(None)
    Path(sys.argv[1]).write_text("\\n".join(sorted(seen)))
sys.exit(failed or 0)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, metavar="SRC", help="the source folder of an older checkout")
    older = parser.parse_args().before
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        sys.path.insert(0, str(ROOT / "tests"))
        prepare(work)
        now = {name: modules_of(work, ROOT / "src", name) for name in JOURNEYS}
        counted = {name: row["before"] for name, row in known.items()}
        before = {name: len(modules_of(work, older, name)) if older else counted.get(name) for name in JOURNEYS}
    rows = {name: {"before": before[name], "modules": len(seen), "names": seen} for name, seen in now.items()}
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    fill_in("architecture.md", "journeys", table(rows))
    print(table(rows))


def prepare(work: Path) -> None:
    from helpers.paper_data import write_paper_data
    from helpers.toy_names import write_names

    (work / "text.txt").write_text("Here is your birthday present .\nLive in the present .\n", encoding="utf-8")
    write_names(work / "names")
    write_paper_data(work / "data")


def modules_of(work: Path, source: Path, journey: str) -> list[str]:
    """The modules in which the command called a function."""
    noted, out = work / "noted.txt", tempfile.mkdtemp(dir=work)
    verb = (source / "polyseme" / "cli" / "task.py").read_text(encoding="utf-8")
    vectors = "--static" if "    static: Annotated" in verb else "--vectors"
    small = [vectors, "none", "--characters", "8", "--set", "hidden=8", "--set", "epochs=1", "--cache", f"{out}/cache"]
    senses = ["--data", "data", vectors, "data/vectors.txt", "--budget", "quick", "--only", "senses"]
    command = {
        "embed": ["embed", "text.txt", "--out", f"{out}/vectors.npz"],
        "task train": ["task", "train", "ner", "--data", "names", "--out", f"{out}/run", *small],
        "reproduce --only senses": ["reproduce", "--out", f"{out}/report", *senses],
    }[journey]
    subprocess.run(
        [sys.executable, "-c", CHILD, str(noted), *command],
        cwd=work,
        env={**os.environ, "PYTHONPATH": str(source)},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return noted.read_text(encoding="utf-8").split()


def table(rows: dict[str, dict[str, object]]) -> str:
    lines = ["| command | modules crossed | before |", "|---|---|---|"]
    lines += [f"| `{name}` | {row['modules']} | {row['before']} |" for name, row in rows.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
