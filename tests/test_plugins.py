"""What other packages add: found without importing them, loaded when asked for, and one sentence when that fails."""

from __future__ import annotations

import sys

import pytest

from helpers.packages import Install
from polyseme.errors import PluginError
from polyseme.plugins import added, load_added


def test_names_are_known_before_anything_is_imported(install: Install) -> None:
    install("a-package", {"a_package": "THING = 7"}, {"polyseme.tasks": {"thing": "a_package:THING"}})
    assert "thing" in added("polyseme.tasks")
    assert "thing" not in added("polyseme.formats")
    assert "a_package" not in sys.modules
    assert load_added("polyseme.tasks", "thing") == 7


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("OTHER = 7", "AttributeError: module 'a_package' has no attribute 'THING'"),
        ("raise RuntimeError('first line\\nsecond line')", "RuntimeError: first line"),
    ],
)
def test_a_package_that_fails_is_named_with_its_reason(install: Install, source: str, reason: str) -> None:
    install("a-package", {"a_package": source}, {"polyseme.tokenizers": {"thing": "a_package:THING"}})
    with pytest.raises(PluginError) as refused:
        load_added("polyseme.tokenizers", "thing")
    assert str(refused.value) == (
        f"the tokenizer 'thing' of the package a-package 1.0 cannot be used ({reason}); update or uninstall it"
    )


def test_one_name_from_two_packages_is_refused(install: Install) -> None:
    for name in ("one", "two"):
        install(name, {f"module_{name}": "THING = 7"}, {"polyseme.formats": {"thing": f"module_{name}:THING"}})
    with pytest.raises(PluginError, match=r"the format 'thing' comes from several packages, one 1\.0 and two 1\.0"):
        load_added("polyseme.formats", "thing")
