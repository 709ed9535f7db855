"""The texts of senses/data are what its README says: a sentence a line, with many of the ambiguous words."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from polyseme.prepared_text import read_target
from polyseme.senses.labelled import read_senses
from polyseme.senses.shipped import DATA
from polyseme.text.tokenization import split_text

LANGUAGES = ("en", "ko", "zh")


@pytest.mark.parametrize(("language", "fewest"), [("en", 1500), ("ko", 500), ("zh", 1000)])
def test_a_text_has_a_sentence_a_line_and_every_line_once(language: str, fewest: int) -> None:
    lines = (DATA / f"text-{language}.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(set(lines)) >= fewest
    for line in lines:
        assert line == line.strip()
        assert len(split_text(line, language)) == 1, line


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_text_holds_no_sentence_of_the_senses_but_many_of_their_words(language: str) -> None:
    text = (DATA / f"text-{language}.txt").read_text(encoding="utf-8")
    mine = read_senses(lang=language)
    assert not {read_target(sentence)[0] for word in mine for sentence in word.sentences} & set(text.splitlines())
    tokens = Counter(token for sentence in split_text(text, language) for token in sentence.tokens)
    starts = [[token for token in tokens.elements() if token.startswith(word.word)] for word in mine]
    assert sum(len(found) >= 2 for found in starts) >= 20  # a Korean noun may have its particle


def test_the_table_of_sources_counts_every_line() -> None:
    counts: Counter[str] = Counter()
    name = ""
    for row in re.findall(r"^\| (\S*) ?\| (\d+) \|", (DATA / "README.md").read_text(encoding="utf-8"), re.MULTILINE):
        name = row[0] or name
        counts[name] += int(row[1])
    files = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in DATA.glob("text-*.txt")}
    assert counts == files


@pytest.mark.parametrize("language", LANGUAGES)
def test_nine_of_ten_ambiguous_words_stand_eight_times_in_the_text(language: str) -> None:
    rows = [line.split("\t") for line in (DATA / "ambiguous.tsv").read_text(encoding="utf-8").splitlines()]
    words = [row[1] for row in rows if row[0] == language]
    text = (DATA / f"text-{language}.txt").read_text(encoding="utf-8")
    counts = Counter(token.casefold() for sentence in split_text(text, language) for token in sentence.tokens)
    enough = [word for word in words if counts[word] >= 8]
    assert len(words) == 150
    assert len(enough) >= 0.9 * len(words)


def test_the_data_stays_small() -> None:
    assert sum(path.stat().st_size for path in DATA.glob("*.t*")) < 800_000
