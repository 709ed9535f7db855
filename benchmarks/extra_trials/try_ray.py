"""The embed job runs on a Ray cluster of this machine."""

import os
import subprocess
import sys
from pathlib import Path

from polyseme.embed import read

Path("text.txt").write_text("Here is your birthday present.\nLive in the present.\n" * 20)
run = [sys.executable, "-m", "polyseme", "embed", "text.txt", "--on", "ray", "--out", "vectors.parquet", "--quiet"]
subprocess.run(run, check=True, env=os.environ | {"RAY_ADDRESS": "local"})  # not one that somebody left here
assert len(list(read("vectors.parquet"))) == 40
