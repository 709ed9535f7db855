"""The explorer without a server: a folder of files, shown by a plain file server with the network cut."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.explorer_visit import Visit
from helpers.file_server import file_server
from helpers.running_server import SENTENCES, Client, served
from polyseme.errors import ConfigError, InputError
from polyseme.serve.served import Models
from polyseme.serve.site import check_folder, write_site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("matplotlib", reason="the pictures need matplotlib")
    folder = tmp_path_factory.mktemp("site")
    assert write_site(Models([served("en", SENTENCES)]), folder, ["bank", "zebra"], "https://example.org/elmo") == 1
    return folder


@pytest.fixture(scope="module")
def shown(site: Path) -> Iterator[Client]:
    with file_server(site) as client:
        yield client


def test_the_page_of_a_word_shows_its_map_and_asks_nobody_else(browser: Any, shown: Client) -> None:
    for path in ("/", "/en/bank/"):
        visit = Visit(browser, shown, path)
        assert visit.page.locator("#strip [aria-pressed=true]").inner_text() == "bank"
        assert len(visit.places()) == 50
        assert visit.page.locator(".opposite").count() == 2
        assert visit.page.locator("#near li").count() == 10
        assert visit.page.locator("#substitutes h3").count() == 3
        assert visit.page.locator("#grid .cell").count() > 9
        assert visit.page.locator("#layer").get_attribute("aria-valuetext") == "sense"
        at_sense = visit.places()
        for layer in ("0", "1", "mix", "sense"):
            visit.move_to(layer)
            assert visit.page.locator("#near li").count() == 10
        assert "by sense" in visit.page.locator("#near-lead").inner_text()
        np.testing.assert_allclose(visit.places(), at_sense, atol=0.2)
        visit.page.get_by_text("of any word").click()
        visit.settle()
        assert visit.page.locator("#message").inner_text() == ""
        visit.page.locator(".opposite").nth(1).click()
        visit.settle()
        assert len(visit.places()) == 50
        visit.close()  # checks that only this machine was asked, and that nothing went wrong


def test_sharing_copies_the_page_of_the_word(browser: Any, shown: Client) -> None:
    visit = Visit(browser, shown, "/")
    visit.page.locator("#share").click()
    visit.page.get_by_text("Copied").wait_for()
    assert visit.page.evaluate("navigator.clipboard.readText()") == f"{shown.address}/en/bank/"
    visit.close()


def test_a_link_shows_what_it_leads_to(site: Path) -> None:
    page = (site / "en" / "bank" / "index.html").read_text(encoding="utf-8")
    tags = dict(re.findall(r'<meta property="(og:\w+)" content="(.*?)">', page))
    assert tags["og:title"] == "“bank”: one word, many vectors"
    assert tags["og:image"] == "https://example.org/elmo/en/bank/bank.png"
    assert tags["og:url"] == "https://example.org/elmo/en/bank/"
    assert (site / "en" / "bank" / "bank.png").read_bytes().startswith(b"\x89PNG")
    hosts = {host for file in site.rglob("*.js") for host in re.findall(r"https?://([\w.]+)", file.read_text("utf-8"))}
    assert hosts <= {"localhost", "www.w3.org"}
    assert not re.findall(r'(?:src|href)="/', page)  # nothing but relative paths


def test_a_model_that_looks_words_up_stays_at_home(tmp_path: Path, browser: Any) -> None:
    """Then the site has its recordings, and says what it does not know."""
    model = served("en", SENTENCES)
    model.elmo.state = "warm"
    write_site(Models([model]), tmp_path, ["bank"])
    assert not list(tmp_path.rglob("*.bin"))
    with file_server(tmp_path) as shown:
        visit = Visit(browser, shown, "/")
        visit.page.locator("#sentence").fill("A sentence that nobody recorded.")
        visit.settle()
        assert "this site has no server" in visit.page.locator("#message").inner_text().lower()
        visit.close()


def test_a_folder_that_is_there_is_kept(site: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not empty"):
        check_folder(site, overwrite=False)
    check_folder(site, overwrite=True)
    with pytest.raises(InputError, match="nothing to show"):
        write_site(Models([served("en", SENTENCES)]), tmp_path, ["zebra"])
