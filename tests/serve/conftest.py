"""One server for the tests that only ask; what the server needs is an extra, so where it is missing they skip."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

for package in ("starlette", "uvicorn", "orjson"):
    pytest.importorskip(package, reason="the extra 'serve' is not installed")

sys.path.insert(0, str(Path(__file__).parent))

if TYPE_CHECKING:
    from running import Client

    from polyseme.serve.models import Models


@pytest.fixture(scope="session")
def models() -> Models:
    from running import three_languages

    return three_languages()


@pytest.fixture(scope="session")
def server(models: Models) -> Iterator[Client]:
    from running import running

    with running(models) as client:
        yield client
