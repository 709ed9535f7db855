"""The first ten seconds: what ELMo does, a sentence, its word and the map, without scrolling; then the layers play."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.command_line import PATIENCE
from helpers.explorer_visit import BANK, SECONDS, Visit
from helpers.running_server import SENTENCES, Client, running, served
from polyseme.serve.served import Models


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (400, 800)])
def test_everything_is_there_without_scrolling(browser: Any, server: Client, width: int, height: int) -> None:
    visit = Visit(browser, server, BANK.replace("layer=mix", ""), viewport={"width": width, "height": height})
    assert visit.page.locator("#layer").get_attribute("aria-valuetext") == "sense"
    assert "ELMo" in visit.page.locator("h1").inner_text()
    for part in ("h1", "#sentence", "#strip [aria-pressed=true]", "#layer", "#map svg", ".opposite >> nth=1"):
        box = visit.page.locator(part).first.bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= height, part
    picture = visit.page.locator("#map svg").bounding_box()
    for label in visit.page.locator("#map .label").all():
        box = label.bounding_box()
        assert picture["x"] <= box["x"] and box["x"] + box["width"] <= picture["x"] + picture["width"]
    visit.close()


@pytest.mark.parametrize(
    ("last", "between"),
    [("sense", ["layer 0", "layer 1", "layer 2"]), ("1", ["layer 0"]), ("mix", ["layer 0", "layer 1", "layer 2"])],
)
def test_the_stops_play_once_up_to_the_one_that_is_shown(
    browser: Any, server: Client, last: str, between: list[str]
) -> None:
    """Up to sense, unless the address names another stop."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="no-preference")
    page = context.new_page()
    page.set_default_timeout(SECONDS)
    page.add_init_script(
        "window.seen = []; addEventListener('DOMContentLoaded', () => new MutationObserver(() => {"
        " const now = document.querySelector('#layer').getAttribute('aria-valuetext');"
        " if (now !== seen.at(-1)) seen.push(now); })"
        ".observe(document.querySelector('#layer'), {attributes: true}));"
    )
    page.goto(server.address + BANK.replace("layer=mix", "" if last == "sense" else f"layer={last}"))
    name = {"sense": "sense", "1": "layer 1", "mix": "the mix"}[last]
    while page.evaluate("name => seen.filter(one => one === name).length", name) < 2:
        page.wait_for_timeout(300)
    page.wait_for_timeout(500)
    assert page.evaluate("seen") == [name, *between, name]
    assert page.evaluate("document.body.dataset.playing") is None
    context.close()


def test_whoever_prefers_less_motion_sees_the_end_at_once(browser: Any, server: Client, visit: Visit) -> None:
    assert visit.page.locator("#play").is_hidden()
    assert visit.page.locator("#layer").get_attribute("aria-valuetext") == "the mix"
    plain = Visit(browser, server, BANK.replace("layer=mix", ""))
    assert plain.page.locator("#layer").get_attribute("aria-valuetext") == "sense"
    plain.close()


def test_two_sentences_stand_in_the_colours_of_their_groups(visit: Visit) -> None:
    cards = visit.page.locator(".opposite")
    assert cards.locator("mark").all_inner_texts() == ["bank", "bank"]
    for number, ring in ((0, ".here >> nth=1"), (1, ".here >> nth=0")):
        colour = cards.nth(number).locator("mark").evaluate("one => getComputedStyle(one).color")
        stroke = visit.page.locator(f"#map {ring}").locator("circle").first
        assert stroke.evaluate("one => getComputedStyle(one).stroke") == colour
    cards.nth(1).click()
    visit.settle()
    assert visit.page.locator("#sentence").input_value() == "She put her money in the bank."


def test_a_cosine_has_something_to_be_compared_with(visit: Visit, server: Client) -> None:
    visit.move_to("2")
    senses = server.post("/senses", model="en", text="They fished from the [bank] of the river.").json
    said = visit.page.locator("#scale").inner_text()
    assert f"in the same group have a mean cosine of {senses['same'][2]:.2f}" in said
    assert f"in different groups {senses['cross'][2]:.2f}" in said


def test_unknown_words_are_marked(visit: Visit) -> None:
    visit.page.locator("#sentence").fill("The zyxwv bank closed.")
    visit.settle()
    unknown = visit.page.locator("#strip .word.unknown")
    assert unknown.all_inner_texts() == ["zyxwv"]
    assert "not in the vocabulary" in str(unknown.get_attribute("aria-label"))
    assert unknown.locator(".bar.unknown").count() == 2
    assert visit.page.locator("#unknown-key").is_visible()


@pytest.mark.parametrize("panel", ["score", "senses", "neighbours", "substitutes", "similarity"])
def test_every_panel_is_saved_as_a_picture(visit: Visit, panel: str) -> None:
    for kind, begins in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with visit.page.expect_download() as found:
            visit.page.locator(f"[data-copies={panel}]").get_by_text(f"Save {kind}").click()
        assert found.value.suggested_filename == f"polyseme-{panel}.{kind.lower()}"
        content = open(found.value.path(), "rb").read()  # noqa: SIM115, PTH123
        assert content.startswith(begins)
        assert len(content) > 800


def test_the_picture_of_the_map_is_that_of_the_stop(visit: Visit) -> None:
    """The marks in the file lie where they lie on the page."""
    visit.move_to("sense")
    with visit.page.expect_download() as found:
        visit.page.locator("[data-copies=senses]").get_by_text("Save SVG").click()
    content = Path(found.value.path()).read_text(encoding="utf-8")
    assert "<title>Map of bank, sense: 50 occurrences" in content
    drawn = re.findall(r"<path[^>]*transform=\"translate\(([-.\d]+) ([-.\d]+)\)", content)
    np.testing.assert_allclose(np.array(drawn, float), visit.places(), atol=0.2)


def test_share_copies_the_address(visit: Visit) -> None:
    visit.page.locator("#share").click()
    visit.page.get_by_text("Copied").wait_for()
    assert visit.page.evaluate("navigator.clipboard.readText()") == visit.page.url


def test_what_is_copied_knows_brackets_twins_and_tokens(browser: Any) -> None:
    with running(Models([served("en", SENTENCES)]), token="open sesame") as client:
        text = "/#text=The [bank] of the bank closed.&word=6&layer=2"
        context = browser.new_context(reduced_motion="reduce")
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.add_init_script("sessionStorage.setItem('token', 'open sesame')")
        page = context.new_page()
        page.set_default_timeout(SECONDS)
        page.goto(client.address + text)
        page.wait_for_selector("#near li")
        page.locator("[data-copies=substitutes]").get_by_text("Copy as command").click()
        page.get_by_text("Copied").wait_for()
        command = page.evaluate("navigator.clipboard.readText()")
        assert '"position":6' in command and '"$POLYSEME_TOKEN"' not in command
        assert "Bearer $POLYSEME_TOKEN" in command and "open sesame" not in command
        import os
        import subprocess

        done = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, check=True, timeout=PATIENCE,
            env={**os.environ, "POLYSEME_TOKEN": "open sesame"},
        )  # fmt: skip
        assert '"substitutes"' in done.stdout
        context.close()
