"""What task models read in the sentence: a panel of the page, where the server has any."""

from __future__ import annotations

import json
import subprocess
from typing import Any
from urllib.parse import urlencode

import pytest

from helpers.command_line import PATIENCE
from helpers.explorer_visit import Visit
from helpers.running_server import Client


def test_the_panel_shows_what_the_server_tags(browser: Any, server: Client) -> None:
    visit = Visit(browser, server, "/#" + urlencode({"text": "Ada left. Bob slept.", "word": 0}))
    (record,) = server.post("/tag", texts=["Ada left. Bob slept."]).json["texts"]
    panel = visit.page.locator("#tags")
    assert panel.is_visible()
    assert panel.locator(".tagged .token").all_inner_texts() == [
        token for sentence in record["sentences"] for token in sentence["tokens"]
    ]
    assert panel.locator(".tagged small").all_inner_texts() == [
        tag for sentence in record["sentences"] for tag in sentence["tags"]
    ]
    entities = [one for sentence in record["sentences"] for one in sentence["entities"]]
    assert entities
    assert panel.locator(".entity b").all_inner_texts() == [one["label"] for one in entities]
    assert [words.replace("\n", " ").split()[0] for words in panel.locator(".entity").all_inner_texts()] == [
        one["text"] for one in entities
    ]
    answer = subprocess.run(["bash", "-c", visit.copied("tags", "command")], capture_output=True, timeout=PATIENCE)
    assert json.loads(answer.stdout)["texts"] == [record]
    visit.page.locator("#sentence").fill("")
    visit.settle()
    assert not panel.is_visible()
    visit.close()


@pytest.mark.parametrize("lang", ["ko", "zh"])
def test_without_task_models_there_is_no_panel(browser: Any, server: Client, lang: str) -> None:
    visit = Visit(browser, server, "/#" + urlencode({"model": lang}))
    assert visit.words()
    assert not visit.page.locator("#tags-panel").is_visible()
    assert not [url for url in visit.asked if url.endswith("/tag")]
    visit.close()
