"""What is forgiven in files of data: tags that break their scheme, and lines that are not UTF-8."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.errors import InputError
from polyseme.tasks.data_files import FileReading
from polyseme.tasks.definition import find_task
from polyseme.tasks.ner.task import TASK as NER
from polyseme.tasks.pos.task import TASK as POS
from polyseme.tasks.spans import Span, spans_of, tags_of
from polyseme.text.tokenization import split_text

BAD = "caf\xe9".encode("latin-1")


def forgiving(said: list[str]) -> FileReading:
    return FileReading(split_text, lenient=True, skip_bad_lines=True, said=said.append)


def test_a_name_that_begins_with_i_is_refused_unless_the_reading_is_lenient(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("Ada B-PER\nsaw O\nNew I-LOC\nYork I-LOC\n\nBob B-PER\nBob B-PER\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 3: the tag 'I-LOC' cannot follow 'O' in IOB2.*--lenient"):
        NER.read(path, split_text)
    said = list[str]()
    first, second = NER.read(path, forgiving(said))
    assert first.spans == (Span("PER", 0, 1), Span("LOC", 2, 4))
    assert second.spans == (Span("PER", 0, 1), Span("PER", 1, 2))
    assert len(said) == 1
    assert "line 3" in said[0]


@given(st.lists(st.tuples(st.sampled_from(["PER", "LOC"]), st.integers(1, 3), st.integers(0, 2)), max_size=5))
def test_tags_that_follow_a_scheme_are_read_as_it_says(drawn: list[tuple[str, int, int]]) -> None:
    spans, here = list[Span](), 0
    for label, length, gap in drawn:
        spans.append(Span(label, here, here + length))
        here += length + gap
    for scheme in ("IOB1", "IOB2", "BIOES", "BIOUL"):
        tags = tags_of(spans, here, scheme)  # type: ignore[arg-type]
        assert spans_of(tags) == spans


@given(st.lists(st.sampled_from(["O", *(f"{letter}-{label}" for letter in "BIESUL" for label in "XY")]), max_size=8))
def test_any_tags_have_spans_that_cover_exactly_what_is_tagged(tags: list[str]) -> None:
    spans = spans_of(tags)
    covered = [token for span in spans for token in range(span.start, span.end)]
    assert covered == [token for token, tag in enumerate(tags) if tag != "O"]
    assert all(tags[token].endswith(span.label) for span in spans for token in range(span.start, span.end))


def test_a_sentence_with_a_bad_line_is_left_out_and_named(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_bytes(b"Ada B-PER\n\n" + BAD + b" O\nleft O\n\nBob B-PER\n\nEve B-PER\n" + BAD + b" O")
    with pytest.raises(InputError, match="line 3 is not UTF-8"):
        NER.read(path, split_text)
    said = list[str]()
    assert [example.tokens for example in NER.read(path, forgiving(said))] == [("Ada",), ("Bob",)]
    assert said == [f"{path}: skipped 2 lines that are not UTF-8: 3, 9"]


@pytest.mark.parametrize(
    ("task", "name", "good"),
    [
        ("text", "a.csv", b"label,text\n1,yes\n2,no\n"),
        ("text", "a.jsonl", b'{"label": 1, "text": "yes"}\n{"label": 2, "text": "no"}\n'),
        ("sst", "a.txt", b"1\tyes\n2\tno\n"),
        ("snli", "a.tsv", b"neutral\tyes\tno\nneutral\tno\tyes\n"),
    ],
)
def test_a_bad_line_among_lines(tmp_path: Path, task: str, name: str, good: bytes) -> None:
    (tmp_path / name).write_bytes(good)
    bad = tmp_path / f"bad-{name}"
    bad.write_bytes(good + b"1\t" + BAD + b"\n")
    said, lines = list[str](), good.count(b"\n") + 1
    definition = find_task(task)
    assert definition.read(bad, forgiving(said)) == definition.read(tmp_path / name, split_text)
    assert said == [f"{bad}: skipped 1 line that is not UTF-8: {lines}"]
    with pytest.raises(InputError, match=f"line {lines} is not UTF-8"):
        definition.read(bad, split_text)


def test_many_bad_lines_are_counted_and_the_first_are_named(tmp_path: Path) -> None:
    path, said = tmp_path / "a.txt", list[str]()
    path.write_bytes((BAD + b"\n") * 13)
    assert list(forgiving(said).lines(path)) == []
    assert said == [f"{path}: skipped 13 lines that are not UTF-8: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 3 more"]


def test_parts_of_speech_in_two_columns_with_documents_and_a_sign_that_is_a_word(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("-DOCSTART- -X-\n\n# 3 # made of words\nthe DT\n# #\n5 CD\n", encoding="utf-8")
    (only,) = POS.read(path, split_text)
    assert (only.tokens, only.tags) == (("the", "#", "5"), ("DT", "#", "CD"))
