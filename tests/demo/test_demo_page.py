"""The page of the demo is whole by itself: well formed, without anything from elsewhere, with every finding on it."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from helpers.demo_lines import SOME_WORDS, lines_with
from helpers.tiny_models import tiny_elmo
from polyseme.demo.page import save_page
from polyseme.demo.study import Study, index_text, study
from polyseme.lm.lexicon import Substitute

WITHOUT_END = {"meta", "circle", "rect", "line", "polyline"}


@pytest.fixture(scope="module", params=list(SOME_WORDS))
def studies(request: pytest.FixtureRequest) -> list[Study]:
    index = index_text(tiny_elmo(lang=request.param), lines_with(request.param), "text")
    return [study(index, request.param, word) for word in SOME_WORDS[request.param]]


class Nesting(HTMLParser):
    """Fails where an end tag does not fit."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in WITHOUT_END

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def page_of(studies: list[Study], folder: Path, title: str = "Words", lang: str = "en") -> str:
    save_page(studies, folder / "senses.html", title=title, lang=lang)
    assert [path.name for path in folder.iterdir()] == ["senses.html"]
    return (folder / "senses.html").read_text(encoding="utf-8")


def test_every_tag_is_closed_where_it_should_be(studies: list[Study], tmp_path: Path) -> None:
    nesting = Nesting()
    nesting.feed(page_of(studies, tmp_path))
    nesting.close()
    assert nesting.open == []


def test_nothing_comes_from_elsewhere(studies: list[Study], tmp_path: Path) -> None:
    page = page_of(studies, tmp_path)
    assert not re.search(r"https?:|<script|<link|<img|<iframe|\bsrc=|@import|url\(", page)


def test_every_finding_is_there(studies: list[Study], tmp_path: Path) -> None:
    page = page_of(studies, tmp_path)
    words = unescape(re.sub(r"<[^>]+>", "", page))
    for found in studies:
        for answer in found.answers:
            for marked in (answer.example.marked, *(one.marked for one in answer.neighbours)):
                assert marked.replace("[", "").replace("]", "") in words
            assert all(word in words for word in answer.others)
        for layer, cosine in enumerate(found.cosines):
            assert f"{cosine:.2f} in layer {layer}" in words
        for example in found.examples:
            assert example.marked in words  # what a point of the map says
    assert page.count('<circle class="place"') == sum(len(found.places) for found in studies)


def test_text_is_text_and_no_markup(studies: list[Study], tmp_path: Path) -> None:
    first, second = studies[0].answers
    evil = [Substitute("<script>alert(1)</script>", 0.5, 0.5, 0.5)]
    changed = replace(studies[0], answers=(replace(first, substitutes=evil, others=["a<b"]), second))
    page = page_of([changed], tmp_path, title="a & b <c>")
    assert "<script" not in page
    assert "&lt;script&gt;" in page and "a&lt;b" in page and "a &amp; b &lt;c&gt;" in page


def test_sentences_are_of_their_language_and_headings_of_english(studies: list[Study], tmp_path: Path) -> None:
    page = page_of(studies, tmp_path, lang="ko")
    assert '<html lang="en">' in page
    assert re.findall(r"<h2[^>]*>", page) == ['<h2 lang="ko">'] * len(studies)
    assert set(re.findall(r'<div class="(?:key )?pair"[^>]*lang="(\w+)"', page)) == {"ko"}
    assert set(re.findall(r"<h3[^>]*>", page)) == {'<h3 lang="en">'}
