"""The documentation is built as a site, with no warning."""

import subprocess
import sys
from pathlib import Path

settings = Path(sys.argv[1], "mkdocs.yml")
subprocess.run(
    [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-f", settings, "-d", Path("site").resolve()],
    check=True,
)
assert Path("site/ecosystem/index.html").exists()
