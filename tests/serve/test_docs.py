"""The pages at /docs and in docs/ say what is true: their examples are asked, their limits are the limits."""

from __future__ import annotations

import html
import json
import re
from functools import partial
from typing import Any

from helpers.paths import ROOT
from helpers.running_server import Client
from polyseme.card_choices import card_language
from polyseme.formats.detect import load
from polyseme.senses.shipped import shipped_text
from polyseme.serve.api import QUESTIONS
from polyseme.serve.limits import Limits
from polyseme.text.tokenization import split_text


def page(server: Client) -> str:
    return server.get("/docs").body.decode()


def test_every_example_is_answered_in_the_shape_that_the_page_shows(server: Client) -> None:
    pattern = r'<pre tabindex="0" data-request="(.*?)">(.*?)</pre>\s*<pre tabindex="0" data-answer>(.*?)</pre>'
    found = re.findall(pattern, page(server), flags=re.DOTALL)
    assert {path for path, _, _ in found} == set(QUESTIONS)
    for path, question, shown in found:
        answer = server.post(path, **json.loads(html.unescape(question)))
        assert answer.status == 200, answer.body
        same_shape(json.loads(html.unescape(shown)), answer.json, path)


def same_shape(shown: Any, found: Any, where: str) -> None:
    """The same names with values of the same kind; of lists the first entries are compared."""
    if isinstance(shown, dict):
        assert shown.keys() == found.keys(), where
        for name in shown:
            same_shape(shown[name], found[name], f"{where}.{name}")
    elif isinstance(shown, list) and shown and found:
        same_shape(shown[0], found[0], f"{where}[0]")
    else:
        numbers = (int, float)
        alike = isinstance(shown, numbers) and isinstance(found, numbers)
        assert alike or type(shown) is type(found), f"{where}: {shown!r} and {found!r}"


def test_the_tokens_of_the_first_example_are_those_that_are_shown(server: Client) -> None:
    answer = server.post("/encode", texts=["Here is your birthday present."]).json["texts"][0]
    assert json.dumps(answer["tokens"]) in html.unescape(page(server))
    assert json.dumps(answer["offsets"]) in page(server)


def test_the_python_of_the_page_runs(server: Client) -> None:
    (code,) = re.findall(r'<pre tabindex="0" data-python>(.*?)</pre>', page(server), flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(html.unescape(code).replace("http://localhost:8000", server.address), names)
    assert (len(names["first"]), len(names["second"])) == (6, 5)


def test_the_limits_of_the_page_are_the_limits(server: Client) -> None:
    shown = dict(re.findall(r'data-limit="(\w+)">([\d,]+)<', page(server)))
    limits = Limits()
    assert shown == {name: f"{getattr(limits, name):,.0f}" for name in shown}
    assert len(shown) == 8


def test_docs_name_every_question() -> None:
    text = (ROOT / "docs" / "serve.md").read_text(encoding="utf-8")
    for path in [*QUESTIONS, "/models", "/health", "/metrics"]:
        assert f"`{path}`" in text or f"`POST {path}`" in text or f"`GET {path}`" in text, path


def test_pages_are_sent_again_only_when_they_have_changed(server: Client) -> None:
    first = server.get("/app.js")
    assert first.headers["content-type"] == "text/javascript; charset=utf-8"
    again = server.send("GET", "/app.js", None, {"If-None-Match": first.headers["etag"]})
    assert (again.status, again.body) == (304, b"")


def test_pages_name_no_other_host(server: Client) -> None:
    for path in ("/", "/docs", "/style.css", "/app.js", "/copies.js", "/icon.svg"):
        hosts = set(re.findall(r"https?://([\w.]+)", server.get(path).body.decode()))
        assert hosts <= {"localhost", "www.w3.org"}, path  # the second is a name for SVG, never asked


def test_the_examples_of_the_page_have_their_word_in_both_sentences_and_often_in_the_shipped_text(
    server: Client,
) -> None:
    script = server.get("/examples.js").body.decode()
    for lang, block in re.findall(r"^  (\w+): \[\n(.*?)^  \],", script, flags=re.DOTALL | re.MULTILINE):
        text = shipped_text(lang)
        assert text is not None
        split = partial(split_text, lang=card_language(load(lang)))
        known = [token for sentence in split(text.read_text(encoding="utf-8")) for token in sentence.tokens]
        for line in block.splitlines():
            first, word, second = json.loads(line.strip().rstrip(","))
            for sentence in (first, second):
                assert word in [token for one in split(sentence) for token in one.tokens], sentence
            assert known.count(word) >= 8, f"{word}: {known.count(word)}"
