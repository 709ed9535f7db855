"""The explorer in a real browser: a page, and all that it asked for and complained of."""

from __future__ import annotations

import shutil
from typing import Any
from urllib.parse import urlencode

import numpy as np
import numpy.typing as npt

from helpers.running_server import Client

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
#: A state of the page that the toy text has a word for.
BANK = "/#" + urlencode(
    {
        "text": "They fished from the bank of the river.",
        "word": 4,
        "layer": "mix",
        "second": "She put her money in the bank.",
    }
)
SECONDS = 60_000  # milliseconds, on a busy machine


class Visit:
    """A page of the explorer, and all that it asked for and complained of."""

    def __init__(self, browser: Any, server: Client, address: str = "/", **options: Any) -> None:
        self.context = browser.new_context(
            **{"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"} | options
        )
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page = self.context.new_page()
        self.page.set_default_timeout(SECONDS)
        self.problems: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(server.address + address)
        self.settle()

    def _note(self, said: Any) -> None:
        if said.type in ("error", "warning"):
            self.problems.append(said.text)

    def settle(self) -> None:
        """Until every question is answered, those that wait a moment for the next key too."""
        self.page.wait_for_timeout(500)
        self.page.wait_for_selector("body[data-running='0']", timeout=SECONDS)

    def words(self) -> list[str]:
        return list(self.page.locator("#strip .word .token").all_inner_texts())

    def choose(self, word: str) -> None:
        self.page.locator("#strip .word", has=self.page.get_by_text(word, exact=True)).first.click()
        self.settle()

    def move_to(self, layer: str) -> None:
        stops = self.page.locator("#stops span").all_inner_texts()
        self.page.locator("#layer").fill(str(stops.index(layer)))
        self.settle()

    def places(self) -> npt.NDArray[np.float64]:
        """Where the marks of the map are. [n, 2]"""
        script = "marks => marks.map(mark => new DOMMatrix(getComputedStyle(mark).transform)).map(m => [m.m41, m.m42])"
        return np.array(self.page.locator("#map g .point").evaluate_all(script))

    def cells(self) -> npt.NDArray[np.float64]:
        labels = self.page.locator("#grid .cell").evaluate_all("cells => cells.map(c => c.getAttribute('aria-label'))")
        return np.array([float(label.rpartition(": ")[2]) for label in labels])

    def copied(self, panel: str, kind: str) -> str:
        self.page.locator(f"[data-copies={panel}]").get_by_text(f"Copy as {kind}").click()
        self.page.wait_for_timeout(200)
        return str(self.page.evaluate("navigator.clipboard.readText()"))

    def close(self) -> None:
        """A visit that ends well asked only this server, and saw no error."""
        self.context.close()
        assert self.problems == []
        assert self.asked
        assert {url.split("/")[2].rpartition(":")[0] for url in self.asked} == {"127.0.0.1"}
