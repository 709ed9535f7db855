"""A small tagger is trained on names, with ELMo and GloVe at its input, and asked."""

import subprocess
import sys
from pathlib import Path

NAMES = {"Ada": "PER", "Paris": "LOC", "Grace": "PER", "Rome": "LOC", "Alan": "PER", "London": "LOC"}


def task(*command: str) -> str:
    run = [sys.executable, "-m", "polyseme", "task", *command]
    return subprocess.run(run, check=True, stdout=subprocess.PIPE, text=True).stdout


Path("data").mkdir()
for part in ("train", "dev"):
    lines = "".join(f"{name} B-{kind}\nslept O\n. O\n\n" for name, kind in NAMES.items())
    Path("data", f"{part}.txt").write_text(lines * 5)
task("train", "ner", "--data", "data", "--budget", "cpu", "--set", "epochs=2", "--out", "run", "--quiet")
assert '"Ada"' in task("predict", "run", "Ada slept .")
