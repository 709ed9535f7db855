"""The page in a real browser: it is typed into, clicked, moved and read; and nothing leaves this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.command_line import PATIENCE
from helpers.explorer_visit import BANK, SECONDS, Visit
from helpers.running_server import SENTENCES, Client, running, served
from polyseme.sentence_reader import State
from polyseme.serve.served import Models


def test_it_shows_something_at_once(visit: Visit) -> None:
    assert visit.words() == ["They", "fished", "from", "the", "bank", "of", "the", "river", "."]
    assert visit.page.locator("#strip [aria-pressed=true]").inner_text() == "bank"
    assert len(visit.places()) == 50
    assert visit.page.locator("#near li").count() == 10
    assert visit.page.locator("#substitutes h3").count() == 3
    assert len(visit.cells()) == 9 * 8


def test_at_layer_0_all_occurrences_are_one_point_and_then_they_part(visit: Visit) -> None:
    spread = {}
    for layer in ("0", "1", "2", "mix"):
        visit.move_to(layer)
        spread[layer] = float(np.ptp(visit.places(), axis=0).max())
    assert spread["0"] < 2
    assert min(spread[layer] for layer in ("1", "2", "mix")) > 50
    visit.move_to("0")
    assert "one point" in visit.page.locator("#note").inner_text()
    similarities = visit.page.locator("#near .number").all_inner_texts()
    assert set(similarities) == {"1.00"}


def test_by_sense_the_marks_lie_where_the_server_says_and_groups_keep_together(visit: Visit, server: Client) -> None:
    """One view fits marks and rings, so the picture is the answer but for a scale, a shift and a turned y axis."""
    visit.move_to("sense")
    answer = server.post("/senses", model="en", text="They fished from the [bank] of the river.").json
    points, places = np.array(answer["sense"]["points"]) * [1, -1], visit.places()
    scale = np.ptp(places, axis=0) / np.ptp(points, axis=0)
    assert scale[0] == pytest.approx(scale[1], rel=0.01)
    np.testing.assert_allclose(places - places.mean(axis=0), (points - points.mean(axis=0)) * scale, atol=0.2)
    assert visit.page.locator("#note").inner_text().startswith("Sense compares contexts")
    assert "in sense" not in visit.page.locator("main").inner_text()
    near = server.post("/neighbours", model="en", text="They fished from the [bank] of the river.", by="sense",
                       same_word=True).json["neighbours"]  # fmt: skip
    shown = visit.page.locator("#near .number").all_inner_texts()
    assert shown == [f"{one['similarity']:.2f}" for one in near]
    assert f"mean similarity of {answer['sense']['same']:.2f}" in visit.page.locator("#near-lead").inner_text()
    assert visit.page.locator("#pair .on").inner_text().startswith("layer 2")  # vectors are those of the top layer


def test_the_mix_is_dragged_and_moves_the_points(visit: Visit) -> None:
    before = visit.places()
    handle = visit.page.locator(".handle").first
    handle.focus()
    for _ in range(4):
        visit.page.keyboard.press("ArrowLeft")
    visit.settle()
    assert np.abs(visit.places() - before).max() > 5
    mix = visit.page.evaluate("new URLSearchParams(location.hash.slice(1)).get('mix')").split(",")
    assert [float(weight) for weight in mix] == pytest.approx([0.13, 0.53, 0.33], abs=0.011)
    box = visit.page.locator("#mix").bounding_box()
    visit.page.mouse.move(*_middle(visit.page.locator(".handle").nth(1).bounding_box()))
    visit.page.mouse.down()
    visit.page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 5, steps=4)
    visit.page.mouse.up()
    visit.settle()
    mix = visit.page.evaluate("new URLSearchParams(location.hash.slice(1)).get('mix')").split(",")
    assert float(mix[2]) == pytest.approx(0.1, abs=0.02)


def _middle(box: dict[str, float]) -> tuple[float, float]:
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.mark.parametrize("lang", ["en", "ko", "zh"])
def test_type_click_move_and_compare_in_three_languages(browser: Any, server: Client, lang: str) -> None:
    texts = {
        "en": ("The bank gave us a loan.", "bank", "We sat on the bank of the river."),
        "ko": ("배가 항구를 떠났다.", "배가", "배가 고파서 밥을 먹었다."),
        "zh": ("他在银行工作。", "银行", "我们在银行旁边散步。"),
    }
    text, word, second = texts[lang]
    visit = Visit(browser, server, BANK)
    visit.page.locator("#model").select_option(lang)
    visit.settle()
    visit.page.locator("#sentence").fill(text)
    visit.settle()
    assert word in visit.words()
    visit.choose(word)
    assert visit.page.locator("#senses-title").text_content() == f"Senses of {word}"
    assert len(visit.places()) >= 4
    visit.move_to("0")
    assert np.ptp(visit.places(), axis=0).max() < 2
    visit.page.locator("#second").fill(second)
    visit.settle()
    at_word = visit.page.locator("#grid .cell.on").get_attribute("aria-label")
    assert at_word == f"{word}, {word}: 1.00"
    visit.move_to("2")
    assert visit.page.locator("#grid .cell.on").get_attribute("aria-label") != at_word
    visit.close()


def test_a_word_that_could_stand_there_is_put_in(visit: Visit) -> None:
    button = visit.page.locator("#substitutes .both .candidate").nth(1)
    word = button.locator(".token").inner_text()
    button.click()
    visit.settle()
    assert visit.page.locator("#sentence").input_value() == f"They fished from the {word} of the river."
    assert visit.words()[4] == word


def test_a_neighbour_becomes_the_sentence(visit: Visit) -> None:
    sentence = visit.page.locator("#near .sentence").first
    text = sentence.inner_text()
    sentence.click()
    visit.settle()
    assert visit.page.locator("#sentence").input_value() == text
    assert visit.page.locator("#strip [aria-pressed=true]").inner_text() == "bank"


def test_the_address_is_the_state(browser: Any, server: Client, visit: Visit) -> None:
    visit.page.locator("#sentence").fill("The bank closed my account.")
    visit.settle()
    visit.choose("closed")
    visit.move_to("1")
    visit.page.get_by_text("of any word").click()
    visit.settle()
    address = visit.page.url.removeprefix(server.address)
    other = Visit(browser, server, address)
    assert other.words() == visit.words()
    assert other.page.locator("#strip [aria-pressed=true]").inner_text() == "closed"
    assert other.page.locator("#layer").get_attribute("aria-valuetext") == "layer 1"
    assert other.page.locator("input[value=any]").is_checked()
    other.close()
    visit.move_to("sense")
    assert "layer=sense" in visit.page.url
    other = Visit(browser, server, visit.page.url.removeprefix(server.address))
    assert other.page.locator("#layer").get_attribute("aria-valuetext") == "sense"
    np.testing.assert_allclose(other.places(), visit.places(), atol=0.2)
    other.close()
    visit.page.go_back()
    visit.settle()
    assert visit.page.locator("#strip [aria-pressed=true]").inner_text() == "bank"  # as before the sentence was typed


def test_by_keyboard_alone(visit: Visit) -> None:
    visit.page.locator("#strip .word").nth(1).focus()
    visit.page.keyboard.press("Enter")
    visit.settle()
    assert visit.page.locator("#strip [aria-pressed=true]").inner_text() == "fished"
    visit.choose("bank")
    visit.page.locator("#layer").focus()
    visit.page.keyboard.press("ArrowLeft")
    visit.settle()
    assert visit.page.locator("#layer").get_attribute("aria-valuetext") == "sense"  # before the mix
    visit.page.keyboard.press("ArrowLeft")
    visit.settle()
    assert visit.page.locator("#layer").get_attribute("aria-valuetext") == "layer 2"
    visit.page.locator("#map svg").focus()
    visit.page.keyboard.press("ArrowRight")
    first = visit.page.locator("#reading").inner_text()
    visit.page.keyboard.press("ArrowRight")
    assert "bank" in first and visit.page.locator("#reading").inner_text() != first
    visit.page.keyboard.press("Enter")
    visit.settle()
    assert visit.page.locator("#sentence").input_value() in SENTENCES


def test_nothing_happens_while_a_character_is_composed(visit: Visit) -> None:
    """Korean and Chinese input methods: the sentence is asked for when the character is complete, and once."""
    area = visit.page.locator("#sentence")
    area.evaluate("area => { area.focus(); area.select(); }")
    session = visit.context.new_cdp_session(visit.page)
    asked = len(visit.asked)
    for part in ("ㅂ", "배", "배ㄹ"):
        session.send("Input.imeSetComposition", {"text": part, "selectionStart": len(part), "selectionEnd": len(part)})
        visit.page.wait_for_timeout(600)
    assert len(visit.asked) == asked
    session.send("Input.insertText", {"text": "배를"})
    visit.settle()
    assert visit.words() == ["배를"]


@pytest.mark.parametrize("begins", ["reset", "warm"])
def test_what_is_copied_runs(browser: Any, tmp_path: Path, begins: State) -> None:
    """Every snippet of Python, run by another process, and every command, parsed, on a model that both can load."""
    from helpers.command_line import parse, toy_model
    from polyseme.serve.served import load_models

    (tmp_path / "text.txt").write_text("\n".join(SENTENCES), encoding="utf-8")
    folder = tmp_path / "index"
    from polyseme import Elmo, Index

    elmo = Elmo.from_pretrained(toy_model(), state=begins)
    Index.build(elmo, tmp_path / "text.txt", folder, layers="all", model=str(toy_model()))
    with running(load_models([str(toy_model())], [folder], state=begins)) as client:
        visit = Visit(browser, client, BANK)
        scripts = []
        for layer in ("1", "sense", "mix"):
            visit.move_to(layer)
            panels = ("score", "senses", "neighbours", "substitutes", "similarity")
            again = ("senses", "neighbours") if layer == "sense" else ("neighbours",)
            scripts += [visit.copied(panel, "Python") for panel in (panels if layer == "1" else again)]
            if layer == "sense":
                assert "found.sense_points" in scripts[-2] and 'by="sense"' in scripts[-1]
                assert "--by sense --same-word" in visit.copied("neighbours", "command")
            for panel in panels:
                command = visit.copied(panel, "command")
                if command.startswith("polyseme"):
                    assert parse(command).command is not None
                    assert ("--state warm" in command) == (begins == "warm" and panel != "neighbours")
                else:
                    done = subprocess.run(["bash", "-c", command], capture_output=True, check=True, timeout=PATIENCE)
                    assert "error" not in json.loads(done.stdout)
        visit.close()
        together = "\n\n".join(scripts)
        done = subprocess.run(
            [sys.executable, "-c", together], capture_output=True, text=True, check=False, timeout=PATIENCE
        )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 9 + 50 + 10 + 3 + 50 + 10


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_audit_finds_nothing(browser: Any, server: Client, width: int, scheme: str) -> None:
    """axe-core's rules, as its package carries them; and the page is never wider than the window."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    for path in ("/", "/docs"):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page = context.new_page()
        page.goto(server.address + (BANK if path == "/" else path))
        if path == "/":
            page.wait_for_timeout(500)
            page.wait_for_selector("body[data-running='0']", timeout=SECONDS)
            page.wait_for_timeout(1200)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        found = axe.Axe().run(page).response["violations"]
        serious = [(one["id"], one["nodes"][0]["html"][:120]) for one in found]
        assert serious == [], f"{path} at {width} px, {scheme}"
        context.close()


def test_a_missing_word_and_an_empty_sentence_are_said(visit: Visit) -> None:
    visit.page.locator("#sentence").fill("A zebra sleeps.")
    visit.settle()
    visit.choose("zebra")
    panel = visit.page.locator("#map").inner_text()
    assert "does not contain “zebra”" in panel and "polyseme index my-text.txt" in panel
    assert visit.page.locator("#map .near .sentence").count() == 5  # what is used like it
    assert visit.page.locator("#map .link").count() == 8  # what could stand there
    visit.page.locator("#sentence").fill(" ")
    visit.settle()
    assert visit.page.locator("#message").inner_text() == "Write a sentence to begin."


def test_what_is_typed_is_never_markup(visit: Visit) -> None:
    visit.page.locator("#sentence").fill('The <img src=x onerror="alert(1)"> bank & [river].')
    visit.settle()
    assert visit.page.locator("#strip img, #grid img, #map img").count() == 0
    assert "<" in "".join(visit.words())


def test_a_token_is_asked_for_once(browser: Any) -> None:
    with running(Models([served("en", SENTENCES)]), token="open sesame") as client:
        context = browser.new_context()
        page = context.new_page()
        page.set_default_timeout(SECONDS)
        page.goto(client.address + BANK)
        page.locator("#token").fill("open sesame")
        page.get_by_text("Use it").click()
        page.wait_for_selector("#near li")
        context.close()


def test_a_model_without_a_softmax_has_a_page_too(browser: Any) -> None:
    with running(Models([served("en", SENTENCES, softmax=False)])) as client:
        visit = Visit(browser, client, BANK)
        visit.move_to("sense")
        assert len(visit.places()) == 50
        assert visit.page.locator("#note").inner_text().startswith("Sense compares contexts, not the word itself.")
        assert visit.page.locator("#substitutes h3").count() == 0
        visit.close()
