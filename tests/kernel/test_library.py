"""Which kernel runs: the best that was built and that the processor has, unless someone says otherwise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from polyseme.kernel import library as module
from polyseme.kernel.compile import LEVELS, SUFFIX, build, find_compiler
from polyseme.kernel.library import available, load

needs_kernel = pytest.mark.skipif(not available(), reason="the kernel was not compiled")


def chosen(setting: str | None) -> str:
    """What a new process says, or the error it ends with."""
    environment = {name: value for name, value in os.environ.items() if name != "POLYSEME_KERNEL"}
    if setting is not None:
        environment["POLYSEME_KERNEL"] = setting
    script = (
        "from polyseme.kernel.library import library\nfrom polyseme.errors import ConfigError\n"
        "try:\n    found = library()\n    print(found.instruction_set if found else 'numpy')\n"
        "except ConfigError as error:\n    print('error:', error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    return done.stdout.strip()


@needs_kernel
def test_the_best_one_runs() -> None:
    assert chosen(None) == chosen("") == available()[-1]


@needs_kernel
@pytest.mark.parametrize("name", available())
def test_one_can_be_asked_for(name: str) -> None:
    assert chosen(name) == name


def test_it_can_be_turned_off() -> None:
    assert chosen("off") == "numpy"


def test_a_name_that_does_not_exist() -> None:
    assert chosen("avx9") == f"error: POLYSEME_KERNEL is 'avx9', but should be off or one of: {', '.join(LEVELS)}"


def test_without_a_library_numpy_does_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HERE", tmp_path)
    assert available() == []
    (tmp_path / f"{LEVELS[0]}{SUFFIX}").write_bytes(b"built for another system")
    assert available() == []


@needs_kernel
def test_the_layouts_make_sense() -> None:
    for name in available():
        found = load(name)
        assert found.panel % 4 == 0 and found.panel <= 64
        assert found.group8 in (1, 2, 4) and found.group16 in (1, 2)


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler here")
def test_every_library_compiles_without_a_warning(tmp_path: Path) -> None:
    compiler = find_compiler()
    assert compiler is not None
    built = build(compiler, tmp_path, ["-Wall", "-Wextra", "-Werror"])
    assert sorted(built) == sorted(tmp_path.iterdir())
    assert {path.stem for path in built} <= set(LEVELS)
