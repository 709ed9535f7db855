"""What people type into the page, and where they go from there: nothing stale stays, nothing breaks the page."""

from __future__ import annotations

from typing import Any

from helpers.explorer_visit import BANK, SECONDS, Visit
from helpers.running_server import SENTENCES, Client, running, served
from polyseme.serve.served import Models

#: Elements that reach beyond the window; the grid has a scroll bar of its own.
TOO_WIDE = """[...document.querySelectorAll("main *:not(.grid *, .hidden *)")]
    .filter(one => one.getBoundingClientRect().right > innerWidth).map(one => one.outerHTML.slice(0, 90))"""


def test_an_empty_sentence_leaves_nothing_of_the_last_one(visit: Visit) -> None:
    visit.page.locator("#sentence").fill("")
    visit.settle()
    assert visit.page.locator("#message").inner_text() == "Write a sentence to begin."
    for panel in ("#strip", "#map", "#near", "#substitutes", "#grid", "#pair", "#legend"):
        assert visit.page.locator(panel).inner_text() == "", panel
    assert visit.page.locator(".copy:visible").count() == 0  # there is nothing to copy
    visit.page.locator("#sentence").fill("The bank closed.")
    visit.settle()
    assert visit.words() == ["The", "bank", "closed", "."]
    assert visit.page.locator("#near li:visible").count() > 0


def test_an_empty_second_sentence_takes_its_grid_away(visit: Visit) -> None:
    visit.page.locator("#second").fill("")
    visit.settle()
    assert visit.page.locator("#grid").inner_text() == ""
    assert visit.page.locator("#compare-lead").inner_text().startswith("Write a second sentence")


def test_arabic_runs_from_right_to_left(visit: Visit) -> None:
    visit.page.locator("#sentence").fill("ذهب الولد إلى البيت")
    visit.settle()
    xs = visit.page.locator("#strip .word").evaluate_all("all => all.map(one => one.getBoundingClientRect().x)")
    assert len(xs) == 4
    assert xs == sorted(xs, reverse=True)
    assert visit.page.locator("#sentence").evaluate("area => getComputedStyle(area).direction") == "rtl"
    visit.page.locator("#sentence").fill("The bank closed.")
    visit.settle()
    xs = visit.page.locator("#strip .word").evaluate_all("all => all.map(one => one.getBoundingClientRect().x)")
    assert xs == sorted(xs)


def test_a_word_of_2000_letters_stays_within_the_page(browser: Any, server: Client) -> None:
    for width in (400, 1280):
        visit = Visit(browser, server, BANK, viewport={"width": width, "height": 800})
        visit.page.locator("#sentence").fill("a" * 2000)
        visit.page.locator("#second").fill("b" * 2000)
        visit.settle()
        assert len(visit.words()) == 1
        assert visit.page.evaluate(TOO_WIDE) == []
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
        visit.close()


def test_a_word_is_put_where_it_was_asked_for_though_it_stands_twice(visit: Visit) -> None:
    visit.page.locator("#sentence").fill("The bank of the bank closed.")
    visit.settle()
    visit.page.locator("#strip .word").nth(4).click()
    visit.settle()
    button = visit.page.locator("#substitutes .both .candidate").nth(2)
    word = button.locator(".token").inner_text()
    button.click()
    visit.settle()
    assert visit.words() == ["The", "bank", "of", "the", word, "closed", "."]
    pressed = visit.page.locator("#strip .word").evaluate_all("all => all.map(one => one.ariaPressed)")
    assert pressed.index("true") == 4
    assert visit.page.evaluate("document.activeElement.className") == "word"  # the button that was pressed has gone


def test_another_occurrence_is_looked_at_where_it_stands(browser: Any) -> None:
    """Of two tokens that are spelled alike, the one that was chosen."""
    sentences = ["The bank by the other bank closed.", *SENTENCES]
    with running(Models([served("en", sentences)])) as client:
        visit = Visit(browser, client, "/#text=The bank closed.&word=1&layer=2")
        found = visit.page.locator("#near .sentence", has_text="by the other bank")
        marked = found.evaluate_all("all => all.map(one => one.firstChild.textContent.length)")
        assert sorted(set(marked)) == [4, 22]
        found.nth(marked.index(22)).click()
        visit.settle()
        pressed = visit.page.locator("#strip .word").evaluate_all("all => all.map(one => one.ariaPressed)")
        assert pressed.index("true") == 5
        visit.close()


def test_typing_is_a_step_that_one_can_take_back(visit: Visit) -> None:
    first = visit.words()
    area = visit.page.locator("#sentence")
    area.fill("The bank closed.")
    visit.settle()
    area.press_sequentially(" We fished.", delay=30)
    visit.settle()
    assert visit.words()[-2:] == ["fished", "."]
    visit.page.go_back()
    visit.settle()
    assert visit.words() == first  # what was typed in one go is one step


def test_enter_on_a_mark_keeps_the_focus(visit: Visit) -> None:
    visit.page.locator("#map svg").focus()
    visit.page.keyboard.press("ArrowRight")
    visit.page.keyboard.press("Enter")
    visit.settle()
    assert visit.page.evaluate("document.activeElement.closest('#map') !== null")
    before = visit.page.locator("#reading").inner_text()
    visit.page.keyboard.press("ArrowRight")
    assert visit.page.locator("#reading").inner_text() != before


def test_a_wrong_token_is_said_and_a_closed_dialog_is_no_loop(browser: Any) -> None:
    with running(Models([served("en", SENTENCES)]), token="open sesame") as client:
        page = browser.new_page()
        page.set_default_timeout(SECONDS)
        page.goto(client.address + BANK)
        page.locator("#token").fill("open barley")
        assert not page.locator("#token-refused").is_visible()
        page.get_by_text("Use it").click()
        page.locator("#token-refused").wait_for(state="visible")
        page.keyboard.press("Escape")
        page.get_by_text("This server asks for a token.").wait_for()
        page.reload()
        page.locator("#token").fill("open sesame")
        page.get_by_text("Use it").click()
        page.wait_for_selector("#near li")
        page.context.close()
