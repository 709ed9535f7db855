"""Semantic role data: who does what to whom, for every predicate of a sentence.

    The     DT  (NP*  *  -      (A0*        one row per token; one column per predicate, after the column that names
    cat     NN  *)    *  -      *)          them; "(A0*" opens a role, "*)" closes it, "(V*)" is the predicate
    sleeps  VBZ (VP*) *  sleep  (V*)

This is CoNLL-2005 (words in the first column, or after their numbers) and CoNLL-2012 (words in the fourth, and a column
of coreference at the end). In CoNLL-2005, the column that names the predicates is the one with as many entries as
there are columns after it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from polyseme.errors import InputError
from polyseme.tasks.data_files import FileReading
from polyseme.tasks.spans import Span
from polyseme.tasks.tagged import Block, cells, read_blocks, word_column, words_of

NOTHING = "-"
VERB = "V"
_PROP = re.compile(r"((?:\([^\s()*]+)*)\*(\)*)")


@dataclass(frozen=True, slots=True)
class Frame:
    """A predicate: its token number, its lemma in the file, and its roles (A0, AM-TMP, C-A1, V) in order."""

    predicate: int
    lemma: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class SrlSentence:
    """A sentence and its frames; the other fields hold the rest of its lines, so that they can be written back."""

    words: tuple[str, ...]
    frames: tuple[Frame, ...]
    before: tuple[str, ...] = ()  # lines
    left: tuple[str, ...] = ()  # each row before its roles
    right: tuple[str, ...] = ()  # each row after the roles: "", or a column of coreference
    after: tuple[str, ...] = ()  # lines after the last sentence of a file
    separator: str = "\t"


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """Which column holds what."""

    word: int
    lemma: int
    roles: int  # the first column of roles
    behind: int  # how many columns follow the roles


CONLL_2012 = ColumnLayout(word=3, lemma=6, roles=11, behind=1)


def read_srl(path: str | Path, reading: FileReading | None = None) -> list[SrlSentence]:
    """A file of CoNLL-2005 or CoNLL-2012 columns, also compressed."""
    source = str(path)
    blocks = list(read_blocks(path, _is_comment, reading))
    after = blocks.pop().before if blocks and not blocks[-1].lines else ()
    if not blocks:
        raise InputError(f"{source} has no sentence; expected CoNLL-2005 or CoNLL-2012 columns")
    table = [_table(block, source) for block in blocks]
    if _looks_like_2012(table[0][0]):
        layout = CONLL_2012
    else:
        names = _predicate_column(blocks, table, source)
        word = word_column(table, range(names))
        if word is None:
            raise InputError(f"{source} has no column of words; join it with its words (paste words props)")
        layout = ColumnLayout(word, lemma=names, roles=names + 1, behind=0)
    sentences = [_sentence(block, rows, source, layout) for block, rows in zip(blocks, table, strict=True)]
    return [*sentences[:-1], replace(sentences[-1], after=after)]


def sentence_lines(sentence: SrlSentence) -> list[str]:
    """The lines of a sentence, with the lines before it, and at the end of a file those after it."""
    count = len(sentence.words)
    columns = [_column(frame.spans, count) for frame in sentence.frames]
    rows = zip(sentence.left, *columns, strict=True)
    joined = [sentence.separator.join(row) for row in rows]
    rows_to_the_end = (row + end for row, end in zip(joined, sentence.right, strict=True))
    return [*sentence.before, *rows_to_the_end, *sentence.after]


def new_sentence(words: Sequence[str], frames: Sequence[Frame], *, is_first: bool = False) -> SrlSentence:
    """A sentence that does not come from a file, as CoNLL-2005: word, three empty columns, predicate, roles."""
    lemmas = {frame.predicate: frame.lemma for frame in frames}
    left = tuple(f"{word}\t-\t*\t*\t{lemmas.get(place, NOTHING)}" for place, word in enumerate(words))
    before = () if is_first else ("",)
    return SrlSentence(tuple(words), tuple(frames), before, left, ("",) * len(words))


def with_frames(sentence: SrlSentence, frames: Sequence[Frame]) -> SrlSentence:
    """The same sentence with other roles for the same predicates."""
    return replace(sentence, frames=tuple(frames))


def _is_comment(line: str) -> bool:
    return line.startswith(("#begin document", "#end document"))  # "#" alone is a word


def _looks_like_2012(row: list[str]) -> bool:
    return len(row) >= 12 and row[1].isdigit() and row[2].isdigit()


def _table(block: Block, source: str) -> list[list[str]]:
    rows = [cells(line) for line in block.lines]
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise InputError(
                f"{block.place(source, number)} has {len(row)} columns where the sentence's first line has "
                f"{len(rows[0])}; every row of a sentence needs the same number"
            )
    return rows


def _predicate_column(blocks: list[Block], table: list[list[list[str]]], source: str) -> int:
    """The column that names the predicates, the same in every sentence."""
    possible: set[int] | None = None
    for block, rows in zip(blocks, table, strict=True):
        here = {column for column in range(len(rows[0])) if _names_predicates(rows, column)}
        possible = here if possible is None else possible & here
        if not possible:
            raise InputError(
                f"{block.place(source, 0)}: no column of this sentence has as many predicates as there are columns of "
                "roles after it, as CoNLL-2005 requires"
            )
    return min(possible or {0})


def _names_predicates(rows: list[list[str]], column: int) -> bool:
    if sum(row[column] != NOTHING for row in rows) != len(rows[0]) - column - 1:
        return False
    return all(_PROP.fullmatch(cell) for row in rows for cell in row[column + 1 :])


def _sentence(block: Block, rows: list[list[str]], source: str, layout: ColumnLayout) -> SrlSentence:
    separator = "\t" if "\t" in block.lines[0] else " "
    end = len(rows[0]) - layout.behind
    columns = [_spans(block, rows, column, source) for column in range(layout.roles, end)]
    if layout is CONLL_2012:
        places = [_place_of_verb(spans, block, source) for spans in columns]
    else:
        places = [place for place, row in enumerate(rows) if row[layout.lemma] != NOTHING]
    return SrlSentence(
        words=words_of(block, rows, layout.word, source),
        frames=tuple(
            Frame(place, rows[place][layout.lemma], spans) for place, spans in zip(places, columns, strict=True)
        ),
        before=block.before,
        left=tuple(separator.join(row[: layout.roles]) for row in rows),
        right=tuple("".join(separator + cell for cell in row[end:]) for row in rows),
        separator=separator,
    )


def _place_of_verb(spans: Sequence[Span], block: Block, source: str) -> int:
    """The predicate of a column, which CoNLL-2012 marks only by its V."""
    for span in spans:
        if span.label == VERB:
            return span.start
    raise InputError(f"{block.place(source, 0)}: a column of roles in this sentence has no V, its predicate")


def _spans(block: Block, rows: list[list[str]], column: int, source: str) -> tuple[Span, ...]:
    """The roles in one column; they follow each other and never nest."""
    spans, role, start = list[Span](), "", 0
    for place, row in enumerate(rows):
        found = _PROP.fullmatch(row[column])
        if found is None:
            raise InputError(
                f"{block.place(source, place)}: {row[column]!r} is not a role; expected '*', '(A0*' or '*)'"
            )
        opened, closed = found[1].split("(")[1:], len(found[2])
        if len(opened) + bool(role) > 1:
            problem = f"opens a role inside {role or opened[0]}"
            raise InputError(f"{block.place(source, place)}: {row[column]!r} {problem}; roles stand side by side")
        if closed > len(opened) + bool(role):
            raise InputError(f"{block.place(source, place)}: {row[column]!r} closes a role that is not open")
        if opened:
            role, start = opened[0], place
        if closed:
            spans.append(Span(role, start, place + 1))
            role = ""
    if role:
        raise InputError(f"{block.place(source, start)} opens {role}, which is not closed before the sentence ends")
    return tuple(spans)


def _column(spans: Sequence[Span], count: int) -> list[str]:
    column = ["*"] * count
    for span in spans:
        column[span.start] = f"({span.label}*"
        column[span.end - 1] += ")"
    return column
