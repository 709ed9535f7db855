"""Python's expressions in JavaScript's words. What they match is compared in tests/serve/test_typed_sentences.py."""

from __future__ import annotations

import re

import pytest

from polyseme.export.javascript_regex import javascript_regex

WORD = r"[\p{L}\p{N}_]"


@pytest.mark.parametrize(
    ("python", "javascript"),
    [
        ("ab", "ab"),
        ("a|b.", r"(?:a|b[^\n])"),
        (r"\w", f"[{WORD}]"),
        (r"[^\W\d]", rf"[^[^{WORD[1:-1]}]\p{{Nd}}]"),
        ("(x)\\1", r"(?<g1>x)\k<g1>"),
        ("a{2,3}?", "(?:a){2,3}?"),
        ("a++", r"(?:(?=(?<a0>(?:a){1,}))\k<a0>)"),
        ("(?<!a)(?=-)", r"(?<!a)(?=\u{2d})"),
        (r"a\Z", r"a(?![\s\S])"),
        ("[a-c\U0001f600]", r"[a-c\u{1f600}]"),
    ],
)
def test_an_expression_is_spelled_out(python: str, javascript: str) -> None:
    assert javascript_regex(re.compile(python)) == javascript


def test_what_has_no_counterpart_is_refused() -> None:
    with pytest.raises(ValueError, match="IGNORECASE"):
        javascript_regex(re.compile("a", re.IGNORECASE))
    with pytest.raises(ValueError, match="no counterpart"):
        javascript_regex(re.compile("(a)?(?(1)b|c)"))
