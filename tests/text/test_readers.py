"""read_documents: the same documents whatever the wrapping, and a clear sentence for what cannot be read."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.paths import DATA, needs
from polyseme.errors import ConfigError, InputError, MissingExtra
from polyseme.text import lines as lines_module
from polyseme.text.readers import Document, read_documents

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
zstandard = pytest.importorskip("zstandard")

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": lambda data: zstandard.ZstdCompressor().compress(data),
}


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def texts(*inputs: str | Path, **options: str) -> list[str | None]:
    return [document.text for document in read_documents(inputs, **options)]  # type: ignore[arg-type]


def refusal(*inputs: str | Path, **options: str) -> str:
    with pytest.raises(InputError) as caught:
        texts(*inputs, **options)
    return str(caught.value)


# Plain text


def test_every_line_is_a_document_and_blank_ones_keep_their_number(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "one\n\n three \nlast")
    assert list(read_documents([path])) == [
        Document("0", "one", None, str(path)),
        Document("1", "", None, str(path)),
        Document("2", " three ", None, str(path)),
        Document("3", "last", None, str(path)),
    ]


def test_lines_between_empty_lines_are_a_document(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "\n\none\ntwo\n \n\nthree\r\nfour\r\n\r\n")
    documents = list(read_documents([path], unit="document"))
    assert [(document.id, document.text) for document in documents] == [("0", "one\ntwo"), ("1", "three\nfour")]


def test_windows_line_ends_and_a_byte_order_mark_are_no_text(tmp_path: Path) -> None:
    assert texts(write(tmp_path / "a.txt", "\ufeffone\r\ntwo\r\n")) == ["one", "two"]


@given(st.lists(st.text(st.characters(exclude_characters="\n\r\0\ufeff", exclude_categories=["Cs"])), min_size=1))
def test_only_a_newline_ends_a_line(tmp_path_factory: pytest.TempPathFactory, written: list[str]) -> None:
    path = tmp_path_factory.mktemp("lines") / "a.txt"
    write(path, "".join(line + "\n" for line in written))
    assert texts(path) == written


def test_an_empty_file_has_no_documents(tmp_path: Path) -> None:
    assert texts(write(tmp_path / "a.txt", "")) == []


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo\n")))
    assert [(d.text, d.source) for d in read_documents(["-"])] == [("one", "-"), ("two", "-")]


# Tables


def test_jsonl_takes_the_field_text_unless_told(tmp_path: Path) -> None:
    records = [{"text": "one\ntwo", "a": {"b": "deep"}, "x.y": "dotted"}, {"text": None, "a": {"b": ""}, "x.y": "z"}]
    path = write(tmp_path / "a.jsonl", "\n\n".join(map(json.dumps, records)))
    assert [(d.id, d.text) for d in read_documents([path])] == [("0", "one\ntwo"), ("2", "")]
    assert texts(path, field="a.b") == ["deep", ""]
    assert texts(path, field="x.y") == ["dotted", "z"]


def test_csv_knows_quotes_and_line_breaks_inside_them(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'id,text\r\n1,"a ""b"", c\r\nd"\r\n\r\n2,plain\r\n')
    assert [(d.id, d.text) for d in read_documents([path])] == [("1", 'a "b", c\nd'), ("2", "plain")]


def test_a_csv_field_may_be_longer_than_the_default_limit_of_the_csv_module(tmp_path: Path) -> None:
    assert texts(write(tmp_path / "a.csv", "text\n" + "x" * 500_000)) == ["x" * 500_000]


def test_a_quote_in_tsv_is_a_character(tmp_path: Path) -> None:
    assert texts(write(tmp_path / "a.tsv", 'text\tid\n"Yes, he said\t1\n')) == ['"Yes, he said']


def test_parquet_reads_a_column_over_row_groups(tmp_path: Path) -> None:
    table = {"text": [f"row {i}" for i in range(1000)], "a": [{"b": str(i)} for i in range(1000)], "n": range(1000)}
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table(table), path, row_group_size=300)
    assert texts(path) == table["text"]
    assert texts(path, field="a.b") == [str(i) for i in range(1000)]
    assert "int64" in refusal(path, field="n")
    assert "'text', 'a', 'n'" in refusal(path, field="body")


# Tokenised files

CONLLU = """# newdoc id = d1
# sent_id = s1
# text = Don't go
1-2\tDon't\t_
1\tDo\tdo
2\tn't\tnot
2.1\tghost\t_
3\tgo\tgo

1\tNow\tnow

# newdoc id = d2
# sent_id = s3
1\tEnd\tend
"""


def test_conllu_gives_words_with_whole_ids_and_keeps_sentence_ids(tmp_path: Path) -> None:
    path = write(tmp_path / "a.conllu", CONLLU)
    found = [(d.id, d.text, d.sentences) for d in read_documents([path])]
    assert found == [("s1", None, [["Do", "n't", "go"]]), ("1", None, [["Now"]]), ("s3", None, [["End"]])]


def test_conllu_by_document(tmp_path: Path) -> None:
    path = write(tmp_path / "a.conllu", CONLLU)
    found = [(d.id, d.sentences) for d in read_documents([path], unit="document")]
    assert found == [("d1", [["Do", "n't", "go"], ["Now"]]), ("d2", [["End"]])]


def test_conllu_without_documents_has_one_a_sentence(tmp_path: Path) -> None:
    path = write(tmp_path / "a.conllu", "1\tA\n\n# sent_id = x\n1\tB\n\n")
    assert [(d.id, d.sentences) for d in read_documents([path], unit="document")] == [("0", [["A"]]), ("x", [["B"]])]


def test_fasta_has_a_residue_a_token(tmp_path: Path) -> None:
    path = write(tmp_path / "a.fasta", ">sp|P1|NAME human\nmk V\nla*\n\n>P2 some|thing\nA*C\n>\n>e\n")
    found = [(d.id, d.sentences) for d in read_documents([path])]
    assert found == [("P1", [list("MKVLA")]), ("P2", [list("A*C")]), ("2", []), ("e", [])]


# Names and wrappings


def test_every_kind_reads_the_same_compressed(tmp_path: Path) -> None:
    parquet.write_table(pyarrow.table({"text": ["one", "two"]}), tmp_path / "a.parquet")
    write(tmp_path / "a.txt", "one\ntwo\n")
    write(tmp_path / "a.jsonl", '{"text": "one"}\n{"text": "two"}\n')
    write(tmp_path / "a.csv", "text\none\ntwo\n")
    write(tmp_path / "a.conllu", CONLLU)
    write(tmp_path / "a.fa", ">x\nMKV\n")
    for plain in sorted(tmp_path.iterdir()):
        expected = [(d.id, d.text, d.sentences) for d in read_documents([plain])]
        assert expected
        for suffix, compress in COMPRESS.items():
            packed = write(plain.with_name(plain.name + suffix), compress(plain.read_bytes()))
            assert [(d.id, d.text, d.sentences) for d in read_documents([packed])] == expected, packed.name


def test_zst_of_several_frames_and_highly_compressed(tmp_path: Path) -> None:
    frames = COMPRESS[".zst"](b"one\n" * 100_000) + COMPRESS[".zst"](b"") + COMPRESS[".zst"](b"two\n")
    assert texts(write(tmp_path / "a.txt.zst", frames)) == ["one"] * 100_000 + ["two"]


def test_the_kind_can_be_said(tmp_path: Path) -> None:
    path = write(tmp_path / "data.dat", '{"text": "one"}\n')
    assert texts(path, kind="jsonl") == ["one"]
    with pytest.raises(ConfigError, match=r"'xml'.*txt, jsonl"):
        read_documents([path], kind="xml")


def test_globs_are_sorted_and_must_match(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "sub/c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path / name, name)
    assert texts(tmp_path / "*.txt") == ["a.txt", "b.txt"]
    assert texts(tmp_path / "**" / "*.txt") == ["a.txt", "b.txt", "sub/c.txt"]
    assert refusal(tmp_path / "*.csv") == f"no file matches {tmp_path / '*.csv'}"


def test_a_name_with_brackets_is_a_file_if_there_is_one(tmp_path: Path) -> None:
    assert texts(write(tmp_path / "a[1].txt", "one")) == ["one"]


def test_a_missing_file_is_reported_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing\.txt does not exist"):
        read_documents([write(tmp_path / "a.txt", "one"), tmp_path / "missing.txt"])


# What cannot be read


def test_a_field_without_a_table_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no input is a table"):
        read_documents([write(tmp_path / "a.txt", "one")], field="body")
    with pytest.raises(ConfigError, match="say with --kind what standard input holds"):
        read_documents(["-"], field="body")
    with pytest.raises(InputError, match="is a folder; give its files"):
        read_documents([tmp_path], field="body")


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_an_empty_table_is_called_empty_and_a_missing_column_names_its_option(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="is empty; its first line should name its columns"):
        list(read_documents([write(tmp_path / name, "")], field="body"))
    table = write(tmp_path / name, "body\none\n")
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("--field", {"field": "bodi"}),
        ("--id", {"field": "body", "id": "nmbr"}),
        ("--keep", {"field": "body", "keep": ["star"]}),
    ]
    for option, asked in wrong:
        with pytest.raises(InputError, match=f"name one of them with {option}$"):
            list(read_documents([table], **asked))


def test_invalid_utf8_names_file_and_line(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"good\ncaf\xe9 au lait\n")
    assert refusal(path) == f"{path}, line 2 is not UTF-8 (byte 0xe9 at position 4); convert the file to UTF-8"


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.txt", b"PK\x03\x04\x00\x00", "binary data"),
        ("a.txt", "one\n".encode("utf-16"), "UTF-16"),
        ("a.txt", gzip.compress(b"one", mtime=0), "name ending in .gz"),
        ("a.txt.gz", b"plain text", "is not gzip data"),
        ("a.txt.xz", b"plain text", "is not xz data"),
        ("a.txt.bz2", b"plain text", "is not bzip2 data"),
        ("a.txt.zst", b"plain text", "is not Zstandard data"),
        ("a.txt.gz", b"", "empty file, not gzip data"),
        ("a.jsonl", '{"text": "a"}\n{"text": \n', "line 2 is not JSON"),
        ("a.jsonl", "[" * 100_000, "line 1 is not JSON"),
        ("a.jsonl", '\n["a"]\n', "line 2 holds a list where an object with the field 'text'"),
        ("a.jsonl", '{"text": 3}', "line 1: the field 'text' holds a number where text"),
        ("a.jsonl", '{"title": "a", "body": "b"}', "no field 'text'; there are: 'title', 'body'"),
        ("a.jsonl", r'{"text": "\ud83d"}', "half a surrogate pair"),
        ("a.csv", "title,body\n1,2\n", "no field 'text'; there are: 'title', 'body'"),
        ("a.csv", "text,text\n1,2\n", "occurs 2 times"),
        ("a.csv", "id,text\n1\n", "line 2 has 1 fields where its first line names 2"),
        ("a.csv", 'id,text\n1,"open\n', "is not CSV"),
        ("a.csv", "", "is empty; its first line should name its columns"),
        ("a.tsv", "id\ttext\n1\t2\t3\n", "line 2 has 3 fields"),
        ("a.parquet", b"PAR1 and nothing else", "is not a Parquet file"),
        ("a.conllu", "1\tA\nnonsense\n", "line 2 is not CoNLL-U"),
        ("a.fa", "MKV\n", "line 1 comes before the first '>'"),
        ("a.fa", ">x\nMK9\n", "line 2 has characters that are not residues"),
    ],
)
def test_what_is_not_what_it_says_gets_a_sentence(
    tmp_path: Path, name: str, content: str | bytes, expected: str
) -> None:
    path = write(tmp_path / name, content)
    message = refusal(path)
    assert expected in message
    assert message.startswith(str(path))
    assert "\n" not in message


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_truncated_file_is_refused(tmp_path: Path, suffix: str) -> None:
    whole = COMPRESS[suffix]("".join(f"line {i * 7919 % 1013}\n" for i in range(5000)).encode())
    for kept in (len(whole) - 1, len(whole) // 2):
        assert "it is truncated" in refusal(write(tmp_path / f"a.txt{suffix}", whole[:kept]))


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert "is a folder" in refusal(tmp_path)


def test_lines_and_documents_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "LIMIT_BYTES", 1 << 20)
    monkeypatch.setattr("polyseme.text.readers.LIMIT_BYTES", 1 << 20)
    path = write(tmp_path / "a.txt", "short\n" + "x" * ((1 << 20) + 1))
    assert "line 2 is longer than 1 MB" in refusal(path)
    path = write(tmp_path / "b.txt", "0123456789\n" * 200_000)
    assert len(texts(path)) == 200_000
    assert "document '0' is longer than 1 MB" in refusal(path, unit="document")


@pytest.mark.parametrize(("name", "package"), [("a.txt.zst", "zstandard"), ("a.parquet", "pyarrow")])
def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r"polyseme\[files\]"):
        texts(write(tmp_path / name, b"x"))


# Size


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zst"])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, suffix: str) -> None:
    def peak(lines: int) -> int:
        data = b"some words of a line that is neither short nor long\n" * lines
        path = write(tmp_path / f"{lines}.txt{suffix}", COMPRESS.get(suffix, bytes)(data))
        del data
        tracemalloc.start()
        try:
            assert sum(1 for _ in read_documents([path])) == lines
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(10)
    assert peak(400_000) < peak(40_000) + (4 << 20)


@pytest.mark.shared
@needs(DATA / "pos" / "en_ewt" / "en_ewt-ud-dev.conllu.xz")
def test_a_treebank_gives_its_own_number_of_sentences() -> None:
    path = DATA / "pos" / "en_ewt" / "en_ewt-ud-dev.conllu.xz"
    plain = lzma.decompress(path.read_bytes()).decode().split("\n")
    sentences = [d.sentences for d in read_documents([path])]
    assert len(sentences) == sum(line.startswith("# sent_id") for line in plain)
    words = sum(line.split("\t")[0].isdigit() for line in plain)
    assert sum(len(words) for group in sentences for words in group or []) == words
