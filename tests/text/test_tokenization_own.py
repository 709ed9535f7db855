"""A function of your own in the place of a language: it is used as it is, checked, and remembered by its name."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.packages import Install
from helpers.tiny_models import tiny_elmo
from polyseme import Elmo
from polyseme.errors import ConfigError, PluginError
from polyseme.pretrain.corpus.held_out import read_sentences
from polyseme.pretrain.corpus.preparation import prepare
from polyseme.text import Sentence, split_text
from polyseme.text.tokenization import language_name

MODULE = '''
"""Words between hyphens."""
import re
from polyseme.text import Sentence

def split(text):
    spans = [match.span() for match in re.finditer(r"[^-\\s]+", text)]
    return [Sentence([text[a:b] for a, b in spans], spans)]

NUMBER = 7
'''


def chunks(text: str) -> list[Sentence]:
    """What stands between whitespace, one sentence a line, as lang="whitespace" has it."""
    lines = [[match.span() for match in re.finditer(r"\S+", line[0])] for line in re.finditer(r"[^\r\n]+", text)]
    starts = [line.start() for line in re.finditer(r"[^\r\n]+", text)]
    moved = [[(a + start, b + start) for a, b in spans] for spans, start in zip(lines, starts, strict=True)]
    return [Sentence([text[a:b] for a, b in spans], spans) for spans in moved]


@given(st.text(alphabet=" ab.\n\r\u3000é𝛼"))
def test_a_function_gives_what_the_same_rules_give_by_name(text: str) -> None:
    assert split_text(text, chunks) == split_text(text, "whitespace")


def test_an_elmo_splits_with_it_and_knows_its_name() -> None:
    elmo = Elmo(tiny_elmo().stored, lang=chunks)
    assert elmo.encode("it's one-two.").tokens == ["it's", "one-two."]
    assert elmo.lang == language_name(chunks) == f"{__name__}:chunks"


def test_a_package_adds_one_by_name(install: Install) -> None:
    install("hyphens", {"hyphens": MODULE}, {"polyseme.tokenizers": {"hyphens": "hyphens:split"}})
    assert split_text("a-b c", "hyphens")[0].tokens == ["a", "b", "c"]
    assert Elmo(tiny_elmo().stored, lang="hyphens").lang == "hyphens"


def test_a_package_cannot_take_the_name_of_a_language_of_ours(install: Install) -> None:
    install("hyphens", {"hyphens": MODULE}, {"polyseme.tokenizers": {"en": "hyphens:split"}})
    assert split_text("a-b", "en")[0].tokens != ["a", "b"]


def test_what_is_no_function_is_refused(install: Install) -> None:
    install("hyphens", {"hyphens": MODULE}, {"polyseme.tokenizers": {"hyphens": "hyphens:NUMBER"}})
    with pytest.raises(PluginError, match=r"package hyphens 1\.0 cannot be used \(it is of type int, not a function\)"):
        split_text("a-b", "hyphens")
    with pytest.raises(ConfigError, match="lang is 7, but should be the name of a language or a function"):
        Elmo(tiny_elmo().stored, lang=7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sentence", "fact"),
    [
        (Sentence(["A"], [(0, 1)]), "the token 'A' for characters 0 to 1, where the text has 'a'"),
        (Sentence(["b", "a"], [(2, 3), (0, 1)]), "the token 'a' for characters 0 to 1, where the text has 'a'"),
        (Sentence([""], [(1, 1)]), "the token '' for characters 1 to 1"),
        (Sentence(["b\nc"], [(2, 5)]), r"the token 'b\\nc' for characters 2 to 5"),
        (Sentence(["c"], [(4, 9)]), "the token 'c' for characters 4 to 9, where the text has 'c d'"),
        (Sentence(["a"], []), "a sentence with 1 tokens and 0 offsets"),
        (["a", "b"], r"\['a', 'b'\] for a sentence; it should have tokens and offsets"),
    ],
)
def test_a_promise_that_is_broken_is_told(sentence: Sentence, fact: str) -> None:
    def broken(text: str) -> list[Sentence]:
        return [sentence]

    with pytest.raises(ConfigError, match=rf"the tokenizer .*broken gave {fact}"):
        split_text("a b\nc d", broken)


def test_sentences_without_a_token_are_left_out() -> None:
    assert split_text("a", lambda text: [Sentence([], []), Sentence(["a"], [(0, 1)])]) == [Sentence(["a"], [(0, 1)])]


def test_a_corpus_is_split_by_it_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("it's one-two.\nthree\n", encoding="utf-8")
    meta = prepare([tmp_path / "text.txt"], tmp_path / "corpus", lang=chunks, workers=1)
    assert (meta.lang, meta.tokens) == (language_name(chunks), 3)
    assert json.loads((tmp_path / "corpus" / "corpus.json").read_text(encoding="utf-8"))["lang"] == meta.lang
    with pytest.raises(ConfigError, match=r"split by the function .*:chunks here, .*; pass it as lang"):
        list(read_sentences([tmp_path / "text.txt"], meta.lang))


def test_several_processes_need_a_function_that_they_can_import(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("one two\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"<lambda> cannot be sent to other processes; .* or ask for one worker"):
        prepare([tmp_path / "text.txt"], tmp_path / "corpus", lang=lambda text: chunks(text), workers=2)
    assert not (tmp_path / "corpus").exists()
