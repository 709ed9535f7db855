"""senses.tsv is what its first lines say: balanced, without a hint but the meaning; and ambiguous.tsv beside it."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from itertools import combinations

import pytest

from polyseme.prepared_text import read_target, split_at_target
from polyseme.senses.labelled import read_senses, split_halves
from polyseme.senses.shipped import DATA
from polyseme.text.tokenization import split_text

LANGUAGES = ("en", "ko", "zh")

Row = tuple[str, str, str, str]

#: Words that say how others belong together, and little by themselves. Korean writes particles on to other words.
FUNCTION_WORDS = {
    "en": {
        "the",
        "a",
        "an",
        "in",
        "and",
        "of",
        "on",
        "to",
        "his",
        "with",
        "its",
        "her",
        "at",
        "for",
        "it",
        "is",
        "was",
        "so",
        "she",
        "he",
        "into",
        "are",
        "from",
        "'s",
        "through",
    },
    "ko": set[str](),
    "zh": {"的", "了", "一", "个", "在", "着", "里"},
}


def rows(name: str) -> list[Row]:
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    fields = [line.split("\t") for line in lines if not line.startswith("#")]
    assert {len(row) for row in fields} == {4}
    return [(language, word, third, fourth) for language, word, third, fourth in fields]


ROWS = rows("senses.tsv")


def content_words(row: Row) -> set[str]:
    lang = "ko-eojeol" if row[0] == "ko" else row[0]  # particles and endings are no content words
    (sentence,) = split_text(read_target(row[3])[0], lang)
    words = {token.lower() for token in sentence.tokens if token[0].isalnum() or token[0] == "'"}
    return {word for word in words - FUNCTION_WORDS[row[0]] if not word.startswith(row[1])}


def test_sixty_words_a_language_two_senses_a_word_and_four_sentences_a_sense() -> None:
    sentences = Counter((language, word, sense) for language, word, sense, _ in ROWS)
    senses = Counter((language, word) for language, word, _ in sentences)
    assert set(sentences.values()) == {4}
    assert set(senses.values()) == {2}
    assert Counter(language for language, _ in senses) == dict.fromkeys(LANGUAGES, 60)
    assert len(read_senses()) == 180


def test_the_first_lines_name_licence_and_rule() -> None:
    head = "".join(line for line in (DATA / "senses.tsv").read_text(encoding="utf-8").splitlines() if line[0] == "#")
    assert "CC0 1.0" in head and "SHA-256" in head and "rule of halves" in head


def test_halves_follow_the_rule_and_are_equal() -> None:
    choosing, reporting = split_halves(read_senses())
    assert (
        Counter(word.lang for word in choosing)
        == Counter(word.lang for word in reporting)
        == dict.fromkeys(LANGUAGES, 30)
    )
    for lang in LANGUAGES:
        digests = [
            [hashlib.sha256(f"{lang}\t{word.word}".encode()).hexdigest() for word in half if word.lang == lang]
            for half in (choosing, reporting)
        ]
        assert max(digests[0]) < min(digests[1])
    assert split_halves(read_senses(lang="ko"))[0] == [word for word in choosing if word.lang == "ko"]


def test_no_sentence_is_there_twice() -> None:
    assert len({read_target(row[3])[0].lower() for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_brackets_hold_the_word_as_it_is_listed_and_one_token_of_it(lang: str) -> None:
    for _, word, sense, marked in (row for row in ROWS if row[0] == lang):
        text, span = read_target(marked)
        (sentence,) = split_text(text, lang)
        assert span is not None and text[slice(*span)] == word, marked
        inside = [offsets for offsets in sentence.offsets if offsets[0] < span[1] and offsets[1] > span[0]]
        assert len(inside) == 1 and inside[0][0] == span[0], marked
        assert lang == "ko" or inside[0] == span, marked  # a Korean word may hold its particle
        assert re.fullmatch(r"[A-Za-z]+(-[A-Za-z]+)*", sense), sense
        assert text[-1] in ".?!。？！", marked


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_word_stands_in_its_sentence_once(lang: str) -> None:
    for _, word, _, marked in (row for row in ROWS if row[0] == lang):
        (sentence,) = split_text(read_target(marked)[0], lang)
        assert [token.lower() for token in sentence.tokens].count(word) == 1, marked


def test_both_senses_of_a_korean_word_have_the_same_particles() -> None:
    """So that a particle says nothing about the sense."""
    particles = defaultdict[str, dict[str, list[str]]](lambda: defaultdict(list))
    for language, word, sense, marked in ROWS:
        if language == "ko":
            found = re.match(r"[가-힣]*", split_at_target(marked)[2])
            assert found is not None and found[0], marked
            particles[word][sense].append(found[0])
    for word, by_sense in particles.items():
        first, second = by_sense.values()
        assert sorted(first) == sorted(second), word


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_sentences_of_a_sense_share_no_content_word(lang: str) -> None:
    by_sense = defaultdict(list)
    for row in ROWS:
        if row[0] == lang:
            by_sense[row[1:3]].append(content_words(row))
    shared = {
        (*sense, *sorted(first & second))
        for sense, sentences in by_sense.items()
        for first, second in combinations(sentences, 2)
        if first & second
    }
    assert shared == set()


def test_ambiguous_words_are_150_a_language_and_begin_with_those_of_the_senses() -> None:
    listed = rows("ambiguous.tsv")
    for lang in LANGUAGES:
        words = [word for language, word, _, _ in listed if language == lang]
        assert len(words) == len(set(words)) == 150
        assert words[:60] == list(dict.fromkeys(row[1] for row in ROWS if row[0] == lang))
    assert all(first and second and first != second for _, _, first, second in listed)
