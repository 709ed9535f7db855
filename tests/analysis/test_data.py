"""The files of analysis/data are what its README says: words with two senses, and texts, a sentence a line."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path

import pytest

import polyseme
from polyseme.target import read_target
from polyseme.text.tokenization import split_text

DATA = Path(polyseme.__file__).parent / "analysis" / "data"
LANGUAGES = ("en", "ko", "zh")

Row = tuple[str, str, str, str]

#: Words that say how others belong together, and nothing by themselves. Korean writes them on to other words.
FUNCTION_WORDS = {
    "en": {"a", "and", "her", "in", "the", "with"},
    "ko": set[str](),
    "zh": {"的", "了", "一", "在", "里"},
}


def rows() -> list[Row]:
    lines = (DATA / "senses.tsv").read_text(encoding="utf-8").splitlines()
    fields = [line.split("\t") for line in lines if not line.startswith("#")]
    assert {len(row) for row in fields} == {4}
    return [(language, word, sense, marked) for language, word, sense, marked in fields]


ROWS = rows()


def tokens_of(row: Row) -> list[str]:
    (sentence,) = split_text(read_target(row[3])[0], row[0])
    return sentence.tokens


def test_twenty_words_a_language_two_senses_a_word_and_two_sentences_a_sense() -> None:
    sentences = Counter((language, word, sense) for language, word, sense, _ in ROWS)
    senses = Counter((language, word) for language, word, _ in sentences)
    assert set(sentences.values()) == {2}
    assert set(senses.values()) == {2}
    assert Counter(language for language, _ in senses) == dict.fromkeys(LANGUAGES, 20)


def test_both_chinese_scripts_are_there() -> None:
    chinese = [(word, marked) for language, word, _, marked in ROWS if language == "zh"]
    traditional = {word for word, marked in chinese if re.search("[們這為國歷個學]", marked)}
    assert 4 <= len(traditional) <= 8


def test_no_sentence_is_there_twice() -> None:
    assert len({row[3] for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{row[1]}-{row[2]}")
def test_a_sentence_has_its_word_once_as_one_token(row: Row) -> None:
    language, word, sense, marked = row
    text, span = read_target(marked)
    (sentence,) = split_text(text, language)
    assert sentence.tokens.count(word) == 1
    assert span == sentence.offsets[sentence.tokens.index(word)]
    assert 8 <= len(sentence.tokens) <= 20
    assert re.fullmatch(r"[A-Za-z]+(-[a-z]+)*", sense)


def test_two_sentences_of_a_sense_share_no_content_word_but_the_target() -> None:
    by_sense = defaultdict(list)
    for row in ROWS:
        words = {token.lower() for token in tokens_of(row) if token[0].isalnum()}
        by_sense[row[:3]].append(words - FUNCTION_WORDS[row[0]])
    for (_, word, _), sentences in by_sense.items():
        for first, second in combinations(sentences, 2):
            assert first & second == {word}


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
    mine = [row for row in ROWS if row[0] == language]
    assert not {read_target(row[3])[0] for row in mine} & set(text.splitlines())
    tokens = Counter(token for sentence in split_text(text, language) for token in sentence.tokens)
    assert sum(tokens[word] >= 2 for word in {row[1] for row in mine}) >= 17


def test_the_table_of_sources_counts_every_line() -> None:
    counts: Counter[str] = Counter()
    name = ""
    for row in re.findall(r"^\| (\S*) ?\| (\d+) \|", (DATA / "README.md").read_text(encoding="utf-8"), re.MULTILINE):
        name = row[0] or name
        counts[name] += int(row[1])
    files = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in DATA.glob("text-*.txt")}
    assert counts == files


def test_the_data_stays_small() -> None:
    assert sum(path.stat().st_size for path in DATA.glob("*.t*")) < 600_000
