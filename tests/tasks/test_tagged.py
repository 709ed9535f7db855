"""Columns of words and tags, in whatever order, and what is refused with its line."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from helpers.paths import DATA, needs
from polyseme.errors import InputError
from polyseme.tasks.definition import find_task
from polyseme.tasks.ner.task import TASK
from polyseme.tasks.spans import Span
from polyseme.text.tokenization import split_text

CONLL_2003 = """\
-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects VBZ I-VP O
German JJ I-NP I-MISC
British JJ B-NP B-MISC
# # I-NP O

Peter NNP I-NP I-PER
"""
UNER = """\
# newdoc id = a
# text = I-95 is in New York
1\tI-95\tO\t-\t-
2\tis\tO\t-\t-
3\tin\tO\t-\t-
4\tNew\tB-LOC\t-\tme
5\tYork\tI-LOC\t-\tme
"""
KLUE = "## 주석 : ##\n## id\t<B:PS> 씨\n씨\tB-PS\n \tI-PS\n는\tO\n"
TAG_FIRST = "B-LOC New\nE-LOC York\n\nO is\nS-PER Eve\n"


def read(tmp_path: Path, text: str, name: str = "file.txt") -> list[tuple[tuple[str, ...], tuple[Span, ...]]]:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return [(example.tokens, example.spans) for example in TASK.read(tmp_path / name, split_text)]


def test_conll_2003_with_iob1(tmp_path: Path) -> None:
    first, second = read(tmp_path, CONLL_2003)
    assert first[0] == ("EU", "rejects", "German", "British", "#")
    assert first[1] == (Span("ORG", 0, 1), Span("MISC", 2, 3), Span("MISC", 3, 4))
    assert second == (("Peter",), (Span("PER", 0, 1),))


def test_universal_ner_with_numbers_and_comments(tmp_path: Path) -> None:
    (only,) = read(tmp_path, UNER)
    assert only == (("I-95", "is", "in", "New", "York"), (Span("LOC", 3, 5),))


def test_one_character_a_line_with_spaces_among_them(tmp_path: Path) -> None:
    (only,) = read(tmp_path, KLUE)
    assert only == (("씨", " ", "는"), (Span("PS", 0, 2),))


def test_a_no_break_space_stands_in_a_word(tmp_path: Path) -> None:
    (only,) = read(tmp_path, "paid O\n10\u00a0000 O\nEve B-PER\n")
    assert only[0] == ("paid", "10\u00a0000", "Eve")


def test_tags_before_words_in_bioes(tmp_path: Path) -> None:
    assert read(tmp_path, TAG_FIRST) == [
        (("New", "York"), (Span("LOC", 0, 2),)),
        (("is", "Eve"), (Span("PER", 1, 2),)),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "0 Ada B-PER\n1 slept O\n",
        "1 Ada B-PER\n2 slept O\n\n4 Bob B-PER\n5 slept O\n",
        "1-1 Ada B-PER\n1-2 slept O\n",
        "s1 Ada B-PER\ns1 slept O\n\ns2 Bob B-PER\ns2 slept O\n",
        "a 0 Ada B-PER\na 1 slept O\n\na 0 Bob B-PER\na 1 slept O\n",
        "NNP I-NP Ada B-PER\nVBD B-VP slept O\n\nNNP I-NP Bob B-PER\nVBD B-VP slept O\n",
        "NNP 爱达 B-PER\nVV 睡 O\n\nNNP 鲍勃 B-PER\n",
    ],
)
def test_numbers_names_of_sentences_and_tags_are_no_words(text: str, tmp_path: Path) -> None:
    assert {word for words, _ in read(tmp_path, text) for word in words} <= {
        "Ada",
        "slept",
        "Bob",
        "爱达",
        "睡",
        "鲍勃",
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("NASA NNP prop O\n! . sign O\n", ("NASA", "!")),  # capitals with as many values as the small letters
        ("no UH O\nno UH O\n", ("no", "no")),
    ],
)
def test_few_lines_leave_the_words_where_they_are(text: str, words: tuple[str, ...], tmp_path: Path) -> None:
    assert [found for found, _ in read(tmp_path, text)] == [words]


def test_compressed_files_are_read_in_place(tmp_path: Path) -> None:
    (tmp_path / "train.iob2.xz").write_bytes(lzma.compress(UNER.encode()))
    assert len(TASK.read(tmp_path / "train.iob2.xz", split_text)) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a O\nb O\nc X-PER\n", "line 3: 'X-PER' is not a tag"),
        ("a O\nb\n", "line 2 has 1 columns"),
        ("just words\nwithout tags\n", "line 1: 'words' is not a tag"),
        ("one\ntwo\n", "line 1: expected a word and its tag"),
        ("a O\n\nb B-X\nc I-Y\n", "line 4: the tag 'I-Y' cannot follow 'B-X' in IOB2"),
        (
            "a B-PER\nb I-PER\nc O\n\nd O\ne S-LOC\n\nf B-PER\ng O\n",
            "line 6: the tag 'S-LOC' cannot follow 'O' in IOB2",
        ),
        ("a B-X\nb E-X\n\nc B-X\n", "line 4: the sentence ends inside a span"),
        ("\n\n", "holds no sentences"),
        ("a\tO\n\tO\n", "line 2 has an empty word in column 1"),
        ("1 O\n2 O\n", "line 1: there are only numbers next to the tag"),
        ("1 I O\n2-3 don't O\n2 do O\n3 n't O\n", "line 2 is for the words 2-3"),
    ],
)
def test_the_line_that_does_not_fit_is_named(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        read(tmp_path, text)


@pytest.mark.parametrize("item", [3, None, ["a", 1], {"words": ["a"]}])
def test_what_is_no_sentence_is_refused(item: object) -> None:
    with pytest.raises(InputError, match="expected a text"):
        TASK.examples(item, lambda text: [])


@pytest.mark.parametrize("token", ["", "a\tb", "a\n", "\r"])
def test_tokens_that_would_break_columns_are_refused(token: str) -> None:
    for name in ("ner", "pos", "sst", "srl", "coref"):
        with pytest.raises(InputError, match=r"token 1 is .* but must not be empty or contain a tab or a line break"):
            find_task(name).examples(["a", token], lambda text: [])


def test_a_blank_is_a_token_that_can_be_written_and_read_back(tmp_path: Path) -> None:
    (sentence,) = TASK.examples(["씨", " ", "는"], lambda text: [])
    assert [words for words, _ in read(tmp_path, "".join(TASK.write([(sentence, [])])))] == [sentence.tokens]


@needs(DATA)
@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "sentences", "entities"),
    [
        ("uner-ewt/en_ewt-ud-dev.iob2.xz", 2001, 966),
        ("uner-ewt/en_ewt-ud-test.iob2.xz", 2077, 1088),
        ("ko-klue/klue-ner-v1.1_dev-resplit-dev.tsv.xz", 500, 1470),
        ("zh-uner-gsdsimp/zh_gsdsimp-ud-test.iob2.xz", 500, 763),
    ],
)
def test_counts_of_real_files(name: str, sentences: int, entities: int) -> None:
    examples = TASK.read(DATA / "ner" / name, split_text)
    assert len(examples) == sentences
    assert sum(len(example.spans or ()) for example in examples) == entities
