"""A tiny model is trained, written with its curves, and read again."""

import subprocess
import sys
from pathlib import Path

from polyseme import Elmo


def polyseme(*command: str) -> None:
    subprocess.run([sys.executable, "-m", "polyseme", *command, "--quiet"], check=True)


Path("text.txt").write_text("The dog sat on the bank .\nIt saw a cat and ran home .\n" * 400)
polyseme("prepare", "text.txt", "--lang", "whitespace", "--out", "corpus")
few = ("softmax.kind=full", "budget.tokens=6000", "budget.validate_every=3000", "budget.validate_on=500")
changes = [part for change in few for part in ("--set", change)]
polyseme("pretrain", "corpus", "--recipe", "tiny", "--threads", "1", "--out", "run", *changes)
assert Elmo.from_pretrained("run/model").encode_tokens([["The", "dog"]])[0].layers.any()
assert list(Path("run").rglob("events.out.tfevents*")), "no curves for TensorBoard"
assert list(Path("run").rglob("*.png")), "no picture of the curves"
