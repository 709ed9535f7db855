"""The oldest versions that pyproject.toml allows, as pins for pip: `make test-oldest` installs and tests them.

    python tests/oldest.py > oldest.txt      numpy>=1.26  →  numpy==1.26

Tools of the extras "dev" and "every-test" are not pinned: they test polyseme, and users do not need them.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

TOOLS = ("dev", "every-test")
PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def oldest() -> dict[str, str]:
    """By package, the lower bound of everything that users may install."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *(one for name, extra in extras.items() if name not in TOOLS for one in extra)]
    bounds = (re.match(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)", requirement) for requirement in asked)
    return {bound[1]: bound[2] for bound in bounds if bound}


if __name__ == "__main__":
    sys.stdout.write("".join(f"{name}=={version}\n" for name, version in oldest().items()))
