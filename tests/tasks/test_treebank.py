"""Treebanks are read word by word, and the most frequent tag does what it says for words it has not seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.paths import DATA, needs
from polyseme.errors import ConfigError, InputError
from polyseme.tasks.treebank import MostFrequentTag, TaggedSentence, read_treebank

CONLLU = """\
# sent_id = 1
# text = He didn't go.
1\tHe\the\tPRON\tPRP\t_\t_\t_\t_\t_
2-3\tdidn't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdid\tdo\tAUX\tVBD\t_\t_\t_\t_\t_
3\tn't\tnot\tPART\tRB\t_\t_\t_\t_\t_
3.1\tever\tever\tADV\tRB\t_\t_\t_\t_\t_
4\tgo\tgo\tVERB\tVB\t_\t_\t_\t_\t_
5\t.\t.\tPUNCT\t.\t_\t_\t_\t_\t_

1\t#\t#\tSYM\t#\t_\t_\t_\t_\t_
"""


def test_words_with_their_tags(tmp_path: Path) -> None:
    path = tmp_path / "dev.conllu"
    path.write_text(CONLLU, encoding="utf-8")
    first, second = read_treebank(path, "xpos")
    assert first == TaggedSentence(("He", "did", "n't", "go", "."), ("PRP", "VBD", "RB", "VB", "."))
    assert second.tokens == ("#",)
    assert read_treebank(path, "upos")[0].tags == ("PRON", "AUX", "PART", "VERB", "PUNCT")


def test_what_is_no_treebank(tmp_path: Path) -> None:
    path = tmp_path / "dev.conllu"
    path.write_text("# nothing\n\n")
    with pytest.raises(InputError, match="holds no sentence"):
        read_treebank(path, "upos")
    path.write_text("# c\n1\tword\n")
    with pytest.raises(InputError, match=r"dev.conllu, line 2 is not CoNLL-U"):
        read_treebank(path, "upos")
    with pytest.raises(ConfigError, match="'pos', but should be one of: upos, xpos"):
        read_treebank(path, "pos")  # type: ignore[arg-type]


def tagged(text: str) -> TaggedSentence:
    tokens, tags = zip(*(pair.split("/") for pair in text.split()), strict=True)
    return TaggedSentence(tokens, tags)


TRAIN = [
    tagged("the/D run/N was/V a/D run/N"),
    tagged("they/P run/V quickly/R the/D walking/V was/V"),
    tagged("slowly/R singing/V Paris/E London/E 1984/M a/D"),
]


@pytest.mark.parametrize(
    ("word", "tag", "why"),
    [
        ("run", "N", "twice a noun, once a verb"),
        ("The", "D", "known in lower case"),
        ("happily", "R", "ends as slowly does"),
        ("jumping", "V", "ends as walking does"),
        ("Rome", "E", "a capital as London has"),
        ("2026", "M", "a number"),
        ("?", "E", "no sign was seen: the most frequent tag of what was seen once, of equals by the alphabet"),
    ],
)
def test_the_most_frequent_tag(word: str, tag: str, why: str) -> None:
    assert MostFrequentTag(TRAIN).tag(word) == tag, why


def test_its_accuracy() -> None:
    assert MostFrequentTag(TRAIN).accuracy([tagged("they/P run/V the/D Walking/N")]) == 0.5


@pytest.mark.shared
@needs(DATA / "pos" / "en_ewt")
def test_the_english_treebank_is_the_published_one() -> None:
    sentences = read_treebank(DATA / "pos" / "en_ewt" / "en_ewt-ud-dev.conllu.xz", "xpos")
    assert (len(sentences), sum(len(sentence.tokens) for sentence in sentences)) == (2001, 25147)
