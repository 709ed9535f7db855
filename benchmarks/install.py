"""What a plain install takes, and how long it takes to get the first vector.

    python benchmarks/install.py [--before COMMIT] [--repeats 5]

Two versions are installed into new virtual environments, without extras: this checkout, and a commit from when PyTorch
was a dependency (with the CPU build of PyTorch pinned in its constraints.txt; without a pin, pip on Linux chooses a
CUDA build that is gigabytes larger). All packages are downloaded. The first vector is measured in new processes, which
take turns: CPU time from the start of Python, and peak memory.

Results: results/install.json, from which a table in docs/engine.md is written.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from statistics import median
from typing import Any

from disk import megabytes
from pages import fill_in, table

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results/install.json"
#: The last commit that depended on PyTorch, with an engine based on it.
BEFORE = "7d4ffb5"
FIRST_VECTOR = """
import json, resource, time
from polyseme import Elmo
elmo = Elmo.from_pretrained("en")
elmo.encode("Here is your birthday present.")["present"]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"seconds": time.process_time(), "megabytes": peak}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", default=BEFORE, metavar="COMMIT")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        sources = {
            "before": checkout(options.before, Path(place, "before")),
            "now": checkout("HEAD", Path(place, "now")),
        }
        found = {name: install(source, Path(place, f"{name}-venv")) for name, source in sources.items()}
        turns = [(name, first_vector(Path(place, f"{name}-venv"))) for _ in range(options.repeats) for name in sources]
    for name, installed in found.items():
        for figure in ("seconds", "megabytes"):
            installed[f"first_vector_{figure}"] = median(turn[figure] for whose, turn in turns if whose == name)
    machine = {"system": platform.system(), "python": platform.python_version(), "torch": torch_pin()}
    RESULTS.write_text(json.dumps({"machine": machine, "commit_before": options.before, **found}, indent=2) + "\n")
    write_page()


def checkout(commit: str, folder: Path) -> Path:
    subprocess.run(["git", "clone", "-q", str(ROOT), str(folder)], check=True)
    subprocess.run(["git", "-C", str(folder), "checkout", "-q", commit], check=True)
    return folder


def install(source: Path, folder: Path) -> dict[str, Any]:
    """Seconds and megabytes of ``pip install .`` in a new environment, not counting the environment itself."""
    venv.create(folder, with_pip=True)
    empty = megabytes(folder)
    wants_torch = re.search(r'^    "torch', (source / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    pins = [torch_pin()] if wants_torch else []
    begin = time.monotonic()
    command = [str(folder / "bin/python"), "-m", "pip", "install", "-q", "--no-cache-dir", str(source), *pins]
    subprocess.run(command, check=True)
    seconds = time.monotonic() - begin
    listed = subprocess.run(
        [str(folder / "bin/python"), "-m", "pip", "list", "--format", "json"], check=True, capture_output=True
    )
    packages = len(json.loads(listed.stdout))
    return {"install_seconds": round(seconds), "install_megabytes": megabytes(folder) - empty, "packages": packages}


def torch_pin() -> str:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return next(line for line in lines if line.startswith("torch=="))


def first_vector(folder: Path) -> dict[str, float]:
    done = subprocess.run([str(folder / "bin/python"), "-c", FIRST_VECTOR], check=True, capture_output=True, cwd="/")
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def write_page() -> None:
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    head = ("", "on disk", "to install", "first vector, CPU time", "peak memory with `en`")
    rows = [
        (
            title,
            f"{one['install_megabytes']} MB",
            f"{one['install_seconds']} s",
            f"{one['first_vector_seconds']:.2f} s",
            f"{one['first_vector_megabytes']:.0f} MB",
        )
        for title, one in (("with PyTorch, before", found["before"]), ("now", found["now"]))
    ]
    fill_in("engine.md", "install", table(head, rows))


if __name__ == "__main__":
    sys.exit(main())
