"""Tests can be collected on every system: what only POSIX has is imported where it is needed, not at the top."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.paths import ROOT

ONLY_POSIX = {"resource", "fcntl", "pty", "termios", "pwd", "grp", "tty"}
MODULES = sorted([*(ROOT / "tests").rglob("*.py"), *(ROOT / "src").rglob("*.py")])


def at_the_top(tree: ast.Module) -> set[str]:
    """Modules that are imported whenever this one is; an ``if`` may be about the system, and does not count."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nothing_posix_at_the_top(path: Path) -> None:
    assert at_the_top(ast.parse(path.read_text(encoding="utf-8"))) & ONLY_POSIX == set()


def test_the_engine_and_the_job_work_without_resource(tmp_path: Path) -> None:
    """As on Windows."""
    program = (
        "import sys; sys.modules['resource'] = None\n"
        "from polyseme.embed.estimate import peak_memory\n"
        "from polyseme import Elmo\n"
        "assert Elmo.from_pretrained().encode('Live here.').vectors.shape[0] == 3\n"
        "print(peak_memory())"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_all_tests_are_collected_without_a_kernel_and_what_only_posix_has(tmp_path: Path) -> None:
    """As on Windows without a C compiler."""
    program = (
        "import sys\nfrom pathlib import Path\nimport pytest\n"
        "from polyseme.jobs import atomic\n"  # has its own way to lock files on Windows
        "from polyseme.kernel import library\n"
        f"library.HERE = Path({str(tmp_path)!r})\n"
        f"sys.modules.update(dict.fromkeys({sorted(ONLY_POSIX)}))\n"
        "sys.exit(pytest.main(['--collect-only', '-q', '-p', 'no:cacheprovider']))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
