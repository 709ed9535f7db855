"""Every extra alone in a new environment: does it install, does its adapter work, and how large is it?

    python benchmarks/extras.py [sklearn spacy …]

The wheel of this checkout is built once. Each environment gets it with one extra, at the versions that constraints.txt
pins, and runs a short program there that uses the bundled English model. What was measured before stays for the extras
that are not named.

Results: results/extras.json, from which a table in docs/ecosystem.md is written.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pages import fill_in, table

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results/extras.json"


@dataclass(frozen=True, slots=True)
class Trial:
    """A program for an environment with one extra; it fails with an error."""

    packages: tuple[str, ...]  #: whose versions are noted, the first one's in the table
    program: str
    beside: tuple[str, ...] = ()  #: packages that the program needs and the extra does not bring
    pinned: bool = True  #: constraints.txt can hold with this extra


TRIALS = {
    "sklearn": Trial(
        ("scikit-learn",),
        """
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from polyseme.sklearn import ElmoVectorizer
texts = ["A fine film.", "A dull film.", "What a joy!", "A waste of time."]
fitted = make_pipeline(ElmoVectorizer(), LogisticRegression()).fit(texts, [1, 0, 1, 0])
assert fitted.predict(texts).tolist() == [1, 0, 1, 0]
""",
    ),
    "spacy": Trial(
        ("spacy",),
        """
import sys, tempfile, spacy
nlp = spacy.blank("en")
nlp.add_pipe("polyseme")  # found by its entry point: nothing of polyseme was imported before
doc = nlp("Here is your birthday present.")
assert doc[4].vector.any() and doc._.elmo_layers.shape[1] == len(doc)
with tempfile.TemporaryDirectory() as folder:
    nlp.to_disk(folder)
    again = spacy.load(folder)
assert (again("Here is your birthday present.").tensor == doc.tensor).all()
assert [len(one.tensor) for one in again.pipe(["One.", "Two words."], batch_size=2)] == [2, 3]
""",
    ),
    "gensim": Trial(
        ("gensim",),
        """
import subprocess, sys
from pathlib import Path
from gensim.models import KeyedVectors
Path("words.txt").write_text("bank\\nriver\\nmoney\\n")
for name in ("vectors.kv", "vectors.bin", "vectors.txt"):
    run = [sys.executable, "-m", "polyseme", "export", "en", "--static", "words.txt", "--out", name, "--quiet"]
    subprocess.run(run, check=True)
kept = KeyedVectors.load("vectors.kv")
for name in ("vectors.bin", "vectors.txt"):
    read = KeyedVectors.load_word2vec_format(name, binary=name.endswith("bin"))
    assert read.index_to_key == kept.index_to_key and abs(read["bank"] - kept["bank"]).max() < 1e-5
""",
    ),
    "onnx": Trial(
        ("onnxruntime", "onnx"),
        """
from pathlib import Path
import numpy as np, onnxruntime
from polyseme import Elmo
from polyseme.export.onnx_graph import write_onnx
elmo = Elmo.from_pretrained()
write_onnx(elmo.stored, Path("model.onnx"))
session = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
tokens = ("He sat on the bank of the river and counted his birthday presents . " * 9).split()[:126]
ids = np.asarray(elmo.stored.indexer.batch([tokens])[0], np.int64)
(layers,) = session.run(None, {session.get_inputs()[0].name: ids})
apart = float(abs(layers[:, 1:-1] - elmo.encode_tokens([tokens])[0].layers).max())
assert apart < 3e-5, apart
print(f"at most {apart:.1e} from the engine on {len(ids)} positions")
""",
        beside=("onnxruntime",),
    ),
    "files": Trial(
        ("duckdb", "polars", "pyarrow"),
        """
import subprocess, sys
from pathlib import Path
import duckdb, polars
Path("reviews.csv").write_text("nr,body,stars\\na,A fine film.,5\\nb,A dull film.,1\\nc,Rain all day.,2\\n")
run = [sys.executable, "-m", "polyseme", "embed", "reviews.csv", "--field", "body", "--id", "nr", "--keep", "stars"]
subprocess.run([*run, "--pool", "mean", "--out", "reviews.parquet", "--quiet"], check=True)
near = duckdb.sql('''
    SELECT b.id, list_cosine_similarity(a."values", b."values") AS similarity
    FROM 'reviews.parquet' a JOIN 'reviews.parquet' b ON a.id = 'a' AND b.id <> a.id ORDER BY similarity DESC
''').fetchall()
assert [name for name, _ in near] == ["b", "c"], near
assert polars.read_parquet("reviews.parquet")["id"].to_list() == ["a", "b", "c"]
""",
        beside=("duckdb", "polars"),
    ),
    "serve": Trial(
        ("starlette", "uvicorn"),
        """
import json, os, subprocess, sys, time, urllib.request
server = subprocess.Popen([sys.executable, "-m", "polyseme", "serve", "--port", "18765", "--quiet"])
try:
    for _ in range(240):
        try:
            answer = json.load(urllib.request.urlopen("http://localhost:18765/health"))
            break
        except OSError:
            time.sleep(1)
    print(answer)
finally:
    server.terminate()
    server.wait()
""",
    ),
    "mteb": Trial(
        ("mteb",),
        """
from polyseme.mteb import ElmoEncoder
found = ElmoEncoder("en").encode([{"text": ["one text", "two"]}, {"text": ["three"]}])
assert found.shape[0] == 3
""",
        pinned=False,
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("extras", nargs="*", help="all unless named")
    names = parser.parse_args().extras or list(TRIALS)
    measured = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"extras": {}}
    with tempfile.TemporaryDirectory() as place:
        wheel = build(Path(place))
        for name in names:
            print(f"==> {name}", flush=True)
            measured["extras"][name] = tried(name, wheel, Path(place, name))
            measured["python"] = platform.python_version()
            RESULTS.write_text(json.dumps(measured, indent=2) + "\n")
    write_page()


def build(folder: Path) -> Path:
    pip("wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    (wheel,) = folder.glob("*.whl")
    return wheel


def tried(name: str, wheel: Path, folder: Path) -> dict[str, Any]:
    trial = TRIALS[name]
    venv.create(folder / "venv")  # without pip: the one of this Python installs into it
    python = folder / "venv" / "bin" / "python"
    pins = ["--constraint", str(ROOT / "constraints.txt")] if trial.pinned else ["torch==2.13.0"]
    pip("--python", str(python), "install", "--no-compile", *pins, f"{wheel}[{name}]", *trial.beside)
    run = subprocess.run([python, "-c", trial.program], cwd=folder, capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(f"the program of the extra {name} failed:\n{run.stderr}")
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "list", "--format", "json"],
        check=True,
        capture_output=True,
        text=True,
    )
    versions = {one["name"].lower(): one["version"] for one in json.loads(listed.stdout)}
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {
        "versions": {package: versions[package] for package in trial.packages},
        "torch": versions.get("torch"),
        "megabytes": round(size / 1e6),
        "said": run.stdout.strip(),
    }


def pip(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", *arguments], check=True)


def write_page() -> None:
    fill_in("ecosystem.md", "extras", extras_table(json.loads(RESULTS.read_text())))


def extras_table(measured: dict[str, Any]) -> str:
    rows = [
        [
            f"`[{name}]`",
            ", ".join(f"{package} {version}" for package, version in one["versions"].items()),
            f"{one['megabytes']:,}",
            f"yes, {one['torch']}" if one["torch"] else "no",
        ]
        for name, one in measured["extras"].items()
    ]
    return table(["extra", "with", "megabytes", "brings PyTorch"], rows)


if __name__ == "__main__":
    main()
