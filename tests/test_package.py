"""The package as it is installed: what the wheel holds, what is pinned, and that make installs once."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest

import polyseme
from helpers.command_line import PATIENCE
from helpers.paths import ROOT
from polyseme.kernel.compile import LEVELS, SUFFIX, find_compiler, platform_tag

SOURCE = ROOT / "src" / "polyseme"
CACHES = ("__pycache__", ".mypy_cache")
MAKE = shutil.which("make")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=PATIENCE)
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    settings: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return settings


def test_the_wheel_has_every_file_of_the_source(wheel: zipfile.ZipFile) -> None:
    files = [path for path in SOURCE.rglob("*") if path.is_file() and not set(CACHES) & set(path.parts)]
    expected = {path.relative_to(SOURCE.parent).as_posix() for path in files}
    found = {name for name in wheel.namelist() if name.startswith("polyseme/")}
    assert found == expected
    for needed in ("py.typed", "pretrain/recipes/compact.toml", "pretrain/toy.txt"):
        assert f"polyseme/{needed}" in found


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler here")
def test_the_wheel_is_for_this_platform_and_every_python(wheel: zipfile.ZipFile) -> None:
    about = Parser().parsestr(wheel.read(f"polyseme-{polyseme.__version__}.dist-info/WHEEL").decode())
    assert about["Root-Is-Purelib"] == "false"
    assert about["Tag"] == f"py3-none-{platform_tag()}"
    assert f"polyseme/kernel/{LEVELS[0]}{SUFFIX}" in wheel.namelist()


def test_without_a_compiler_the_wheel_is_a_pure_one(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    environment = {**os.environ, "CC": "none"}
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE,
    )
    assert "no C compiler was found: polyseme will compute with numpy alone" in done.stdout + done.stderr
    (path,) = tmp_path.glob("*.whl")
    assert path.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(path).namelist()
    assert "polyseme/kernel/product.c" in names
    assert not [name for name in names if name.endswith(SUFFIX)]
    done = subprocess.run(
        command, cwd=ROOT, env={**environment, "POLYSEME_REQUIRE_KERNEL": "1"}, capture_output=True, timeout=PATIENCE
    )
    assert done.returncode != 0


def test_the_wheel_has_nothing_else_and_is_small(wheel: zipfile.ZipFile) -> None:
    beside = {name.split("/")[0] for name in wheel.namelist()}
    assert beside == {"polyseme", f"polyseme-{polyseme.__version__}.dist-info"}
    assert Path(wheel.filename or "").stat().st_size < 100e6


def test_the_wheel_says_what_it_is(wheel: zipfile.ZipFile) -> None:
    folder = f"polyseme-{polyseme.__version__}.dist-info"
    about = Parser().parsestr(wheel.read(f"{folder}/METADATA").decode())
    assert about["Version"] == polyseme.__version__
    assert about["License-Expression"] == "Apache-2.0 AND CC-BY-SA-4.0 AND OFL-1.1"  # the code, the weights, a font
    assert about["Requires-Python"] == ">=3.11"
    licence = wheel.read(f"{folder}/licenses/LICENSE").decode()
    assert "Apache License" in licence and "END OF TERMS AND CONDITIONS" in licence
    assert "polyseme = polyseme.cli.app:main" in wheel.read(f"{folder}/entry_points.txt").decode()


def test_every_pin_is_exact() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert pins
    for pin in pins:
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9a-z.]*", pin), f"{pin!r} is no exact version"


def test_everything_that_is_asked_for_is_pinned(project: dict[str, Any]) -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {canonical(line.partition("==")[0]) for line in lines if "==" in line}
    wanted = [
        *project["dependencies"],
        *(item for extra in project["optional-dependencies"].values() for item in extra),
    ]
    names = {canonical(re.split(r"[\[<>=;~ ]", requirement)[0]) for requirement in wanted}
    assert names - {"polyseme"} <= pinned


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_extras_that_errors_name_exist(project: dict[str, Any]) -> None:
    named = set()
    for path in SOURCE.rglob("*.py"):
        named |= set(re.findall(r'MissingExtra\([^)]*, "(\w+)"\)', path.read_text(encoding="utf-8")))
    assert named
    assert named <= project["optional-dependencies"].keys()


@pytest.mark.skipif(MAKE is None, reason="make is not installed")
@pytest.mark.parametrize(
    ("changed", "installs"),
    [
        (None, False),
        ("pyproject.toml", True),
        ("constraints.txt", True),
        ("hatch_build.py", True),
        (".venv/.ready", False),
    ],
)
def test_make_installs_once_and_when_versions_change(changed: str | None, installs: bool, tmp_path: Path) -> None:
    """What make would do (-n), with a set-up that is an hour old and files that are older or newer."""
    now = (ROOT / "Makefile").stat().st_mtime
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "hatch_build.py"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / ".ready").touch()
    ages = {"pyproject.toml": 7200, "constraints.txt": 7200, "hatch_build.py": 7200, ".venv/.ready": 3600}
    for name, age in ages.items():
        stamp = now - (0 if name == changed else age)
        os.utime(tmp_path / name, (stamp, stamp))
    for target in ("demo", "test", "lint"):
        command = [str(MAKE), "-n", target]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=PATIENCE)
        assert ("pip install" in done.stdout) == installs


@pytest.mark.skipif(MAKE is None, reason="make is not installed")
@pytest.mark.parametrize(
    ("there", "target", "installs"),
    [
        (None, "demo", "plots"),
        (".ready-demo", "demo", None),
        (".ready", "demo", None),
        (".ready-demo", "test", "dev"),
        (None, "lint", "dev"),
    ],
)
def test_the_demo_is_installed_without_what_only_tests_need(
    there: str | None, target: str, installs: str | None, tmp_path: Path
) -> None:
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "hatch_build.py"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / ".venv").mkdir()
    if there is not None:
        (tmp_path / ".venv" / there).touch()
    command = [str(MAKE), "-n", target]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert re.findall(r"--editable '\.\[(\w+)\]'", done.stdout) == ([installs] if installs else [])


def test_a_plain_install_has_no_torch(project: dict[str, Any]) -> None:
    names = {canonical(re.split(r"[\[<>=;~ ]", requirement)[0]) for requirement in project["dependencies"]}
    assert names == {
        "h5py", "huggingface-hub", "msgspec", "numpy", "rich", "safetensors", "threadpoolctl", "typer"
    }  # fmt: skip


@pytest.mark.skipif(MAKE is None, reason="make is not installed")
def test_make_help_names_every_target() -> None:
    done = subprocess.run([str(MAKE), "help"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=PATIENCE)
    (targets,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    for target in set(targets.split()) - {"help"}:
        assert f"make {target} " in done.stdout


@pytest.mark.skipif((ROOT / "PKG-INFO").exists(), reason="in a source distribution the links are made already")
@pytest.mark.parametrize("repository", ["owner/name", None])
def test_a_release_links_to_the_repository_whose_workflow_builds_it(repository: str | None) -> None:
    about = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}
    if repository:
        about["GITHUB_REPOSITORY"] = repository
    command = [sys.executable, "-m", "hatchling", "metadata"]
    run = subprocess.run(command, cwd=ROOT, env=about, check=True, capture_output=True, timeout=PATIENCE)
    found = json.loads(run.stdout)
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)#]+)", found["readme"]["text"])
    if repository:
        assert found["urls"]["Source"] == "https://github.com/owner/name"
        assert all(link.startswith("https://") for _, link in links)
        assert ("!", "https://github.com/owner/name/raw/main/docs/senses.png") in links
    else:
        assert list(found["urls"]) == ["Paper"]
        assert ("!", "docs/senses.png") in links
