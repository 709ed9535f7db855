"""read_coref: chains out of CoNLL-2012 files and folders, and back, byte by byte."""

from __future__ import annotations

import gzip
import lzma
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.paths import DATA, needs
from helpers.toy_data import write_coref
from polyseme.errors import InputError
from polyseme.tasks.coref.data import Mention, genre_of, new_document, read_coref, without_singletons

TEXT = """\
#begin document (bn/a); part 001
bn/a	1	0	Mary	-	*	-	-	-	Anna	*	(3)|(7
bn/a	1	1	's	-	*	-	-	-	Anna	*	-
bn/a	1	2	dog	-	*	-	-	-	Anna	*	7)

bn/a	1	0	saw	-	*	-	-	-		*	-
bn/a	1	1	her	-	*	-	-	-		*	(3)
bn/a	1	2	(	-	*	-	-	-		*	(9|(7
bn/a	1	3	it	-	*	-	-	-		*	7)|9)

#end document
"""


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def test_a_document(tmp_path: Path) -> None:
    [document] = read_coref(write(tmp_path / "a.conll", TEXT))
    assert (document.name, document.part) == ("bn/a", 1)
    assert document.sentences == (("Mary", "'s", "dog"), ("saw", "her", "(", "it"))
    assert document.speakers == ("Anna",) * 3 + ("-",) * 4
    assert document.chains == {3: ((0, 1), (4, 5)), 7: ((0, 3), (5, 7)), 9: ((5, 7),)}
    assert without_singletons(document).chains == {3: ((0, 1), (4, 5)), 7: ((0, 3), (5, 7))}


def test_a_chain_may_stand_inside_itself(tmp_path: Path) -> None:
    rows = [f"d\t0\t{i}\tw\t{cell}" for i, cell in enumerate(["(1|(1", "1)", "1)"])]
    text = "\n".join(["#begin document (d); part 000", *rows, "#end document", ""])
    [document] = read_coref(write(tmp_path / "a.conll", text))
    assert document.chains == {1: ((0, 2), (0, 3))}


def test_columns_between_spaces_with_columns_of_predicates(tmp_path: Path) -> None:
    row = "bc/x   0   0   He   PRP   (S*   -   -   -   Ann   *   (ARG0*)   (1)"
    text = f"#begin document (bc/x); part 000\n{row}\n\n{row.replace('(ARG0*)', '')}\n#end document\n"
    path = write(tmp_path / "a.v4_gold_conll", text)
    [document] = read_coref(path)
    assert (document.speakers, document.chains) == (("Ann", "Ann"), {1: ((0, 1), (1, 2))})
    write_coref(tmp_path / "back", [document])
    assert (tmp_path / "back").read_text() == text


def test_what_was_read_is_written_back_byte_by_byte(tmp_path: Path) -> None:
    write_coref(tmp_path / "back", read_coref(write(tmp_path / "a.conll", TEXT + TEXT)))
    assert (tmp_path / "back").read_text() == TEXT + TEXT


def test_other_chains_are_written_in_place_of_the_old(tmp_path: Path) -> None:
    [document] = read_coref(write(tmp_path / "a.conll", TEXT))
    chains = {0: ((0, 2), (5, 6)), 1: ((0, 3), (1, 2))}
    write_coref(tmp_path / "back", [replace(document, chains=chains)])
    [back] = read_coref(tmp_path / "back")
    assert back.chains == chains
    assert replace(back, chains=document.chains, lines=document.lines) == document


@st.composite
def chains(draw: st.DrawFn, count: int) -> dict[int, tuple[Mention, ...]]:
    """Any mentions without crossing ones of the same chain, which the format cannot tell apart."""
    found: dict[int, tuple[Mention, ...]] = {}
    for number in range(draw(st.integers(0, 3))):
        mentions: list[Mention] = []
        for a, b in draw(st.sets(st.tuples(st.integers(0, count), st.integers(0, count)), max_size=4)):
            if a < b and not any(c < a < d < b or a < c < b < d for c, d in mentions):
                mentions.append((a, b))
        if mentions:
            found[number] = tuple(sorted(mentions))
    return found


@given(chains(6))
def test_any_chains_survive_writing_and_reading(
    tmp_path_factory: pytest.TempPathFactory, drawn: dict[int, tuple[Mention, ...]]
) -> None:
    path = tmp_path_factory.mktemp("coref") / "a.conll"
    document = new_document("d", [["a", "b"], ["c", "-", "e", "#"]], drawn)
    write_coref(path, [document])
    [back] = read_coref(path)
    assert (back.sentences, back.chains, back.speakers) == (document.sentences, drawn, document.speakers)


def test_a_folder_is_read_in_the_order_of_names_and_gold_files_go_first(tmp_path: Path) -> None:
    write(tmp_path / "x" / "b.conll", TEXT.replace("bn/a", "bn/b"))
    (tmp_path / "x" / "a.conll.gz").write_bytes(gzip.compress(TEXT.encode()))
    write(tmp_path / "x" / "notes.txt", "nothing")
    assert [document.name for document in read_coref(tmp_path / "x")] == ["bn/a", "bn/b"]
    write(tmp_path / "x" / "deep" / "c.v4_gold_conll", TEXT.replace("bn/a", "bn/c"))
    assert [document.name for document in read_coref(tmp_path / "x")] == ["bn/c"]


def test_genres() -> None:
    assert [genre_of(name) for name in ("bc/cctv/00", "GUM_news_asylum", "940_the_last", "x")] == ["bc", "news", "", ""]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("7)|9)", "9)"), "line 8 opens a mention of chain 7 that is never closed"),
        (("(3)|(7", "(3)"), "line 4 closes a mention of chain 7 that is not open"),
        (("(3)|(7", "B-3"), "line 2: 'B-3' is not a coreference column"),
        (("(3)|(7", "3"), "line 2: '3' is not a coreference column"),
        (("#end document", ""), "ends inside a document"),
        (("#begin document (bn/a); part 001\n", ""), "line 1 is outside a document"),
        (("bn/a\t1\t1\t's\t-\t*\t-\t-\t-\tAnna\t*\t-", "bn/a 's -"), "line 3 is not CoNLL-2012"),
        (("bn/a\t1\t1\t's\t-\t*\t-\t-\t-\tAnna\t*\t-", "bn/a\t1\t1\t's\t-"), "line 3 has 5 columns where"),
        (("(bn/a)", "bn/a"), "line 1 should read"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_line(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_coref(write(tmp_path / "a.conll", TEXT.replace(*change, 1)))


def test_nothing_to_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no document"):
        read_coref(write(tmp_path / "a.conll", "\n"))
    with pytest.raises(InputError, match="no file whose name ends in conll"):
        (tmp_path / "empty").mkdir()
        read_coref(tmp_path / "empty")


@pytest.mark.shared
@needs(DATA / "coref")
@pytest.mark.parametrize(("name", "counts"), [("litbank", (10, 20_438, 776)), ("ontogum", (12, 10_631, 296))])
def test_the_development_sets_come_back_byte_by_byte(tmp_path: Path, name: str, counts: tuple[int, int, int]) -> None:
    path = DATA / "coref" / name / f"{name}-dev.conll.xz"
    documents = read_coref(path)
    assert (len(documents), sum(len(d.words) for d in documents), sum(len(d.chains) for d in documents)) == counts
    write_coref(tmp_path / "back", documents)
    assert (tmp_path / "back").read_bytes() == lzma.decompress(path.read_bytes())
