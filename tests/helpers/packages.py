"""Packages that add to polyseme, installed for one test: a module and a dist-info folder on sys.path."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from polyseme.plugins import added

#: install(name, {"module": source}, {"polyseme.tasks": {"topics": "module:TASK"}})
Install = Callable[[str, Mapping[str, str], Mapping[str, Mapping[str, str]]], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    site, before = tmp_path / "site-packages", set(sys.modules)
    site.mkdir()
    monkeypatch.syspath_prepend(site)

    def install_package(name: str, modules: Mapping[str, str], points: Mapping[str, Mapping[str, str]]) -> None:
        for module, source in modules.items():
            (site / f"{module}.py").write_text(source, encoding="utf-8")
        info = site / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
        groups = [
            "\n".join([f"[{group}]", *(f"{name} = {where}" for name, where in names.items())])
            for group, names in points.items()
        ]
        (info / "entry_points.txt").write_text("\n".join(groups), encoding="utf-8")
        added.cache_clear()

    yield install_package
    added.cache_clear()
    for module in set(sys.modules) - before:
        if getattr(sys.modules[module], "__file__", None) and str(site) in str(sys.modules[module].__file__):
            del sys.modules[module]
