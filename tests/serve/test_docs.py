"""The pages at /docs and in docs/ say what is true: their examples are asked, their limits are the limits."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest

from helpers.paths import ROOT
from helpers.running_server import Client, running
from polyseme.formats.detect import load
from polyseme.formats.releases.known import bundled_models
from polyseme.sentence_reader import card_language
from polyseme.serve.api import QUESTIONS
from polyseme.serve.limits import Limits
from polyseme.serve.served import load_models
from polyseme.text.tokenization import language_code

#: The path, the request and the answer of an example on the page.
EXAMPLE = r'<pre tabindex="0" data-request="(.*?)">(.*?)</pre>\s*<pre tabindex="0" data-answer>(.*?)</pre>'


def page(server: Client) -> str:
    return server.get("/docs").body.decode()


def test_every_example_is_answered_in_the_shape_that_the_page_shows(server: Client) -> None:
    found = re.findall(EXAMPLE, page(server), flags=re.DOTALL)
    assert {path for path, _, _ in found} == set(QUESTIONS)
    for path, question, shown in found:
        answer = server.post(path, **json.loads(html.unescape(question)))
        assert answer.status == 200, answer.body
        same_shape(without_cuts(shown), answer.json, path)


def without_cuts(shown: str) -> Any:
    """The JSON of an example; "…" stands for entries of a list that are left out."""
    return json.loads(re.sub(r",\s*…", "", html.unescape(shown)))


def test_the_examples_are_what_the_bundled_model_answers() -> None:
    """Numbers to a tenth of a unit or of their size; after a model was exchanged, write the page's examples anew."""
    if "en" not in bundled_models():
        pytest.skip("the English model is not bundled")
    models = load_models(["en"], [])
    models.index_now()
    with running(models) as server:
        for path, question, shown in re.findall(EXAMPLE, page(server), flags=re.DOTALL):
            if path == "/tag":
                pytest.importorskip("torch")
            same_values(without_cuts(shown), server.post(path, **json.loads(html.unescape(question))).json, path)


def same_values(shown: Any, found: Any, where: str) -> None:
    """Of lists, as many entries as are shown."""
    if isinstance(shown, dict):
        assert shown.keys() == found.keys(), where
        for name in shown:
            same_values(shown[name], found[name], f"{where}.{name}")
    elif isinstance(shown, list):
        for number, (a, b) in enumerate(zip(shown, found, strict=False)):
            same_values(a, b, f"{where}[{number}]")
    elif isinstance(shown, float):
        assert found == pytest.approx(shown, rel=0.1, abs=0.1), where
    else:
        assert shown == found, where


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
    assert len(shown) == 10


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


def test_the_examples_of_the_page_pass_the_labelled_test_of_the_bundled_models(server: Client) -> None:
    """After a model was exchanged, choose anew: python benchmarks/explorer_examples.py"""
    measured = json.loads((ROOT / "benchmarks" / "results" / "explorer_examples.json").read_text(encoding="utf-8"))
    script = server.get("/examples.js").body.decode()
    shown = json.loads(script.partition("export const EXAMPLES =")[2].strip().rstrip(";"))
    assert set(shown) == {language_code(card_language(load(model))) for model in bundled_models()}
    for model in bundled_models():
        stored = load(model)
        lang = language_code(card_language(stored))
        assert measured[lang]["fingerprint"] == stored.fingerprint(), "python benchmarks/explorer_examples.py"
        assert measured[lang]["shown"] == shown[lang]
        by_word = {one["word"]: one for one in measured[lang]["tried"]}
        for example in shown[lang]:
            found = by_word[example["word"]]
            assert found["right"] >= 0.75 and found["fit"] >= 0.6, example["word"]
            assert example["first"][example["at"] :].startswith(example["word"])
            assert example["word"] in example["second"]
