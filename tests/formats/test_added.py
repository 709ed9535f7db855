"""Formats of other packages: asked about what polyseme does not know itself, and never instead of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.packages import Install
from helpers.tiny_models import tiny_model
from polyseme.errors import FormatError
from polyseme.formats import load
from polyseme.formats.native import save_native

MODULE = '''
"""A folder "inner" with a native model, beside a file that is called so."""
from dataclasses import replace
from polyseme.formats import Format, load

def is_wrapped(path):
    return (path / "wrapped").is_file()

def load_wrapped(path):
    return replace(load(path / "inner"), format="a wrapped model")

FORMAT = Format("a wrapped model (wrapped, inner)", is_wrapped, load_wrapped)
EVERYTHING = Format("everything", lambda path: True, load_wrapped)
'''
FORMATS = "polyseme.formats"


@pytest.fixture
def wrapped(tmp_path: Path) -> Path:
    (tmp_path / "model" / "inner").mkdir(parents=True)
    save_native(tiny_model(), tmp_path / "model" / "inner")
    (tmp_path / "model" / "wrapped").touch()
    (tmp_path / "model" / "more.txt").touch()
    return tmp_path / "model"


def test_a_package_adds_a_format(install: Install, wrapped: Path) -> None:
    with pytest.raises(FormatError, match="this is no model that polyseme knows"):
        load(wrapped)
    install("wrapping", {"wrapping": MODULE}, {FORMATS: {"wrapped": "wrapping:FORMAT"}})
    found = load(wrapped)
    assert found.format == "a wrapped model"
    assert found.fingerprint() == tiny_model().fingerprint()
    with pytest.raises(FormatError, match=r"looked for a native folder .*, a wrapped model \(wrapped, inner\)$"):
        load(wrapped.parent / "site-packages" / "wrapping-1.0.dist-info")


def test_it_may_be_a_thing_that_polyseme_refuses_by_name(install: Install, wrapped: Path) -> None:
    for name in ("modules.json", "config.json"):
        (wrapped / name).write_text("{}", encoding="utf-8")
    with pytest.raises(FormatError, match="this is a sentence-transformers model"):
        load(wrapped)
    install("wrapping", {"wrapping": MODULE}, {FORMATS: {"wrapped": "wrapping:FORMAT"}})
    assert load(wrapped).format == "a wrapped model"


def test_what_polyseme_reads_itself_no_package_is_asked_about(install: Install, wrapped: Path) -> None:
    install("wrapping", {"wrapping": MODULE}, {FORMATS: {"everything": "wrapping:EVERYTHING"}})
    assert load(wrapped / "inner").format == "native"


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("MISSING", "AttributeError: module 'wrapping' has no attribute 'MISSING'"),
        ("load", "it is of type function, not a Format"),
    ],
)
def test_a_format_that_cannot_be_loaded_is_named_where_it_may_be_missed(
    install: Install, wrapped: Path, where: str, reason: str
) -> None:
    install("wrapping", {"wrapping": MODULE}, {FORMATS: {"broken": f"wrapping:{where}"}})
    with pytest.raises(FormatError) as refused:
        load(wrapped)
    assert str(refused.value).endswith(
        f"; the format 'broken' of the package wrapping 1.0 cannot be used ({reason}); update or uninstall it"
    )
    install("working", {"working": MODULE}, {FORMATS: {"wrapped": "working:FORMAT"}})
    assert load(wrapped).format == "a wrapped model"
