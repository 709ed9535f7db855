"""The tables of docs/guarantees.md are those of the results, and every test that it or SECURITY.md names is there."""

from __future__ import annotations

import re

import pytest
from chaos.page import HERE, PAGE, filled

ROOT = HERE.parent


def test_the_tables_are_those_of_the_results() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == filled(page)


@pytest.mark.parametrize("page", ["docs/guarantees.md", "SECURITY.md"])
def test_every_test_that_is_named_is_there(page: str) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)`", (ROOT / page).read_text(encoding="utf-8"))
    assert named
    assert [name for name in named if not (ROOT / name).is_file()] == []
