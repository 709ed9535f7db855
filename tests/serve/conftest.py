"""One server for the tests that only ask; what the server needs is an extra, so where it is missing they skip."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

for package in ("starlette", "uvicorn", "orjson"):
    pytest.importorskip(package, reason="the extra 'serve' is not installed")


if TYPE_CHECKING:
    from helpers.running_server import Client
    from polyseme.serve.served import Models


@pytest.fixture(scope="session")
def models() -> Models:
    from helpers.running_server import three_languages

    return three_languages()


@pytest.fixture(scope="session")
def server(models: Models) -> Iterator[Client]:
    from helpers.running_server import running

    with running(models) as client:
        yield client
