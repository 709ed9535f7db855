"""The demo draws its picture."""

import subprocess
import sys
from pathlib import Path

subprocess.run([sys.executable, "-m", "polyseme", "demo"], check=True, stdout=subprocess.DEVNULL)
assert Path("demo-output/senses.png").stat().st_size > 20_000
