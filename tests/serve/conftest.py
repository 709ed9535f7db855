"""One server for the tests that only ask; what the server needs is an extra, so where it is missing they skip."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

for package in ("starlette", "uvicorn", "orjson"):
    pytest.importorskip(package, reason="the extra 'serve' is not installed")


if TYPE_CHECKING:
    from helpers.explorer_visit import Visit
    from helpers.running_server import Client
    from polyseme.serve.served import Models


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    """Small models of three languages; the English one has two small task models."""
    from helpers.running_server import three_languages
    from helpers.small_runs import tagger_without_bilm

    models = three_languages()
    folder = tmp_path_factory.mktemp("tasks")
    models.find("en").runs.update({task: str(tagger_without_bilm(task, folder)) for task in ("ner", "pos")})
    return models


@pytest.fixture(scope="session")
def server(models: Models) -> Iterator[Client]:
    from helpers.running_server import running

    with running(models) as client:
        yield client


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The system's Chromium; without it, the tests that look at pages skip."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    from helpers.explorer_visit import BROWSER

    if BROWSER is None:
        pytest.skip("there is no Chromium on this machine")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def visit(browser: Any, server: Client) -> Iterator[Visit]:
    from helpers.explorer_visit import BANK, Visit

    found = Visit(browser, server, BANK)
    yield found
    found.close()
