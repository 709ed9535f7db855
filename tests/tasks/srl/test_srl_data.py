"""read_srl: frames out of CoNLL-2005 and CoNLL-2012 columns, and back, byte by byte."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.paths import DATA, needs
from helpers.srl_files import CONLL_2005, CONLL_2012
from helpers.toy_data import write_srl
from polyseme.errors import InputError
from polyseme.tasks.spans import Span
from polyseme.tasks.srl.data import Frame, new_sentence, read_srl


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_frames_of_conll_2005(tmp_path: Path) -> None:
    first, second, third = read_srl(write(tmp_path / "a.props", CONLL_2005))
    assert first.words == ("The", "cat", "gave", "up", "sleeping")
    give = (Span("A0", 0, 2), Span("V", 2, 3), Span("C-V", 3, 4), Span("A1", 4, 5))
    assert first.frames == (Frame(2, "give", give), Frame(4, "sleep", (Span("A0", 0, 2), Span("V", 4, 5))))
    assert (second.words, second.frames) == (("#",), ())
    assert third.frames == (Frame(0, "stop", (Span("V", 0, 1),)),)


def test_frames_of_conll_2012(tmp_path: Path) -> None:
    first, second = read_srl(write(tmp_path / "a.gold_conll", CONLL_2012))
    assert first.words == ("He", "wants", "to", "go")
    want = (Span("ARG0", 0, 1), Span("V", 1, 2), Span("ARG1", 2, 4))
    assert first.frames == (Frame(1, "want", want), Frame(3, "go", (Span("V", 3, 4),)))
    assert (second.words, second.frames) == (("Yes",), ())


def test_columns_between_spaces_and_with_senses_before_the_predicates(tmp_path: Path) -> None:
    text = "The   DT  *  -   -    (A0*\ncat   NN  *  -   -       *)\nsat   VB  *  01  sit   (V*)\n"
    [sentence] = read_srl(write(tmp_path / "a.props", text))
    assert sentence.frames == (Frame(2, "sit", (Span("A0", 0, 2), Span("V", 2, 3))),)


def test_words_stand_behind_their_numbers(tmp_path: Path) -> None:
    blocks = [block.splitlines() for block in CONLL_2005.split("\n\n")]
    numbered = "\n\n".join("\n".join(f"{n}\t{line}" for n, line in enumerate(block)) for block in blocks)
    plain, found = (read_srl(write(tmp_path / "a.props", text)) for text in (CONLL_2005, numbered))
    assert [(one.words, one.frames) for one in found] == [(one.words, one.frames) for one in plain]


@pytest.mark.parametrize("text", [CONLL_2005, CONLL_2012, CONLL_2005 + "\n\n"])
@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".xz", lzma.compress), ("", bytes)])
def test_what_was_read_is_written_back_byte_by_byte(tmp_path: Path, text: str, suffix: str, compress: object) -> None:
    assert callable(compress)
    path = tmp_path / f"a.props{suffix}"
    path.write_bytes(compress(text.encode()))
    write_srl(tmp_path / "back.props", read_srl(path))
    assert (tmp_path / "back.props").read_text() == text


@st.composite
def frames(draw: st.DrawFn, count: int) -> Frame:
    cuts = sorted(draw(st.sets(st.integers(0, count), max_size=6)))
    roles = draw(st.lists(st.sampled_from(["A0", "A1", "C-A1", "R-A0", "AM-TMP"]), min_size=6, max_size=6))
    spans = [Span(role, a, b) for a, b, role in zip(cuts, cuts[1:], roles, strict=False)]
    kept = [span for span in spans if draw(st.booleans())]
    return Frame(draw(st.integers(0, count - 1)), "lemma", tuple(kept))


@st.composite
def sentences(draw: st.DrawFn) -> tuple[list[str], list[Frame]]:
    words = draw(st.lists(st.sampled_from(["a", "b", "-", "*", "(x*", "#", "日本"]), min_size=1, max_size=8))
    found = {frame.predicate: frame for frame in draw(st.lists(frames(len(words)), max_size=3))}
    return words, [found[place] for place in sorted(found)]


@given(st.lists(sentences(), min_size=1, max_size=4))
def test_any_frames_survive_writing_and_reading(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[list[str], list[Frame]]]
) -> None:
    path = tmp_path_factory.mktemp("srl") / "a.props"
    made = [new_sentence(words, roles, is_first=place == 0) for place, (words, roles) in enumerate(drawn)]
    write_srl(path, made)
    assert [(list(s.words), list(s.frames)) for s in read_srl(path)] == drawn


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\tx\t-\t*\nb\tx\tgo\n", "line 2 has 3 columns where the sentence's first line has 4"),
        ("a\tx\t-\n\nb\tx\tgo\t(V*)\t*\n", "line 3: no column of this sentence has as many predicates"),
        ("a\tx\t-\t(A0*\nb\tx\tgo\t(V*)\n", r"line 2: '\(V\*\)' opens a role inside A0"),
        ("a\tx\t-\t*)\nb\tx\tgo\t(V*)\n", "line 1: '\\*\\)' closes a role that is not open"),
        ("a\tx\t-\t*\nb\tx\tgo\t(V*\n", "line 2 opens V, which is not closed"),
        ("-\t(A0*)\ngo\t(V*)\n", "no column of words"),
        ("1\t-\t(A0*)\n2\tgo\t(V*)\n", "no column of words"),
        ("a\tx\t-\t(A0*)\n\tx\tgo\t(V*)\n", "line 2 has an empty word in column 1"),
        ("a\tx\t-\tB-A0\nb\tx\tgo\tB-V\n", "line 1: no column"),
        ("\n\n", "no sentence"),
        (CONLL_2012.replace("(V*)\t*\t-", "(ARG2*)\t*\t-"), "line 2: a column of roles in this sentence has no V"),
        (CONLL_2012.replace("(V*)\t*\t-", "B-V\t*\t-"), "line 3: 'B-V' is not a role"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_srl(write(tmp_path / "a.props", text))


@pytest.mark.shared
@needs(DATA / "srl")
def test_the_development_set_comes_back_byte_by_byte(tmp_path: Path) -> None:
    path = DATA / "srl" / "ewt-dev.props.xz"
    sentences = read_srl(path)
    assert (len(sentences), sum(len(s.frames) for s in sentences)) == (1967, 4957)
    write_srl(tmp_path / "back", sentences)
    assert (tmp_path / "back").read_bytes() == lzma.decompress(path.read_bytes())
