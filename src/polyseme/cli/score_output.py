"""The output of polyseme score: tables with bars on a terminal, tab-separated lines in a pipe, or JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyseme.cli.printing import bar, escaped, new_table, print_json, print_table, print_tsv
from polyseme.text.vocabulary import BEGIN, END

if TYPE_CHECKING:
    from polyseme.lm.scoring import Doubles, Score, ScoredWord

#: (id, score) of each text.
Scored = Iterator[tuple[str, "Score"]]

#: Bits at which a bar is full: one word in a million.
FULL_BAR = 20.0
#: The columns in bits.
FIGURES = ("surprisal", "backward_surprisal", "entropy", "backward_entropy")
UNKNOWN = "[dim]unknown[/dim]"


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """A token, or a sentence boundary."""

    sentence: int
    token: str
    span: tuple[int, int] | tuple[None, None]  #: offsets into the text; a boundary has none
    unknown: bool
    forward: float | None  #: ln p
    backward: float | None
    entropy: float | None  #: bits
    backward_entropy: float | None


def print_json_lines(scored: Scored) -> None:
    for name, score in scored:
        print_json({"id": name, **score.to_dict()})


def print_token_lines(scored: Scored) -> None:
    header = ("text", "sentence", "token", "begin", "end", "unknown", "forward", "backward", *FIGURES)
    rows = (
        (
            *(name, row.sentence, row.token, *row.span, int(row.unknown), row.forward, row.backward),
            *(_bits(row.forward), _bits(row.backward), row.entropy, row.backward_entropy),
        )
        for name, score in scored
        for row in _rows(score)
    )
    print_tsv(header, rows)


def print_word_lines(scored: Scored) -> None:
    header = ("text", "sentence", "number", "word", "begin", "end", "tokens", "unknown", *FIGURES)
    rows = (
        (
            *(name, row.sentence, row.number, row.word, row.begin, row.end, row.tokens, int(row.unknown)),
            *(row.surprisal, row.backward_surprisal, row.entropy, row.backward_entropy),
        )
        for name, row in _words(scored)
    )
    print_tsv(header, rows)


def print_sentence_lines(scored: Scored) -> None:
    header = ("text", "sentence", "tokens", "unknown", "forward", "backward", "perplexity", "backward_perplexity")
    rows = (
        (
            *(name, number, end - begin, total.unknown, total.forward, total.backward, *total.perplexities),
            " ".join(score.tokens[begin:end]),
        )
        for name, score in scored
        for number, ((begin, end), total) in enumerate(zip(score.sentences, score.totals, strict=True))
    )
    print_tsv((*header, "words"), rows)


def print_token_tables(scored: Scored) -> None:
    for _, score in scored:
        rows = list(_rows(score))
        for number, total in enumerate(score.totals):
            table = new_table("", "bits, read forward", " ", "bits, read backward", "  ", left=("",), bars=(" ", "  "))
            for row in (row for row in rows if row.sentence == number):
                cells = (*_bits_and_bar(row.forward, row.unknown), *_bits_and_bar(row.backward, row.unknown))
                table.add_row(escaped(row.token), *cells)
            forward_perplexity, backward_perplexity = total.perplexities
            table.add_section()
            table.add_row("sum, bits", _shown(_bits(total.forward)), "", _shown(_bits(total.backward)), "")
            table.add_row("perplexity", _shown(forward_perplexity), "", _shown(backward_perplexity), "")
            print_table(table)


def print_word_table(scored: Scored) -> None:
    table = new_table(
        *("sentence", "", "word", "bits forward", "backward", "entropy forward", "backward "), left=("word",)
    )
    for _, row in _words(scored):
        bits = (UNKNOWN if value is None and row.unknown else _shown(value) for value in _surprisals(row))
        entropies = (_shown(row.entropy), _shown(row.backward_entropy))
        table.add_row(str(row.sentence), str(row.number), escaped(row.word), *bits, *entropies)
    print_table(table)


def print_sentence_table(scored: Scored) -> None:
    table = new_table("tokens", "bits forward", "backward", "perplexity", "backward ", "sentence", left=("sentence",))
    for _, score in scored:
        for (begin, end), total in zip(score.sentences, score.totals, strict=True):
            figures = (_bits(total.forward), _bits(total.backward), *total.perplexities)
            words = " ".join(score.tokens[begin:end])
            shown = escaped(words if len(words) < 60 else words[:59] + "…")
            table.add_row(str(end - begin), *map(_shown, figures), shown)
    print_table(table)


def _rows(score: Score) -> Iterator[ScoredRow]:
    """Every token and every sentence boundary."""
    no_span = (None, None)
    for number, (first, stop) in enumerate(score.sentences):
        if score.begins is not None:
            yield ScoredRow(number, BEGIN, no_span, False, None, float(score.begins[number]), None, None)
        for n in range(first, stop):
            begin, end = score.offsets[n].tolist()
            yield ScoredRow(
                number,
                score.tokens[n],
                (begin, end),
                bool(score.unknown[n]),
                _at(score.forward, n),
                _at(score.backward, n),
                _at(score.entropy, n),
                _at(score.backward_entropy, n),
            )
        yield ScoredRow(number, END, no_span, False, float(score.ends[number]), None, None, None)


def _words(scored: Scored) -> Iterator[tuple[str, ScoredWord]]:
    return ((name, row) for name, score in scored for row in score.words())


def _surprisals(row: ScoredWord) -> tuple[float | None, float | None]:
    return row.surprisal, row.backward_surprisal


def _at(values: Doubles | None, n: int) -> float | None:
    return None if values is None or math.isnan(values[n]) else float(values[n])


def _bits(log_probability: float | None) -> float | None:
    return None if log_probability is None else -log_probability / math.log(2)


def _bits_and_bar(log_probability: float | None, unknown: bool) -> tuple[str, str]:
    bits = _bits(log_probability)
    if bits is None:
        return (UNKNOWN if unknown else "", "")
    return _shown(bits), bar(bits / FULL_BAR)


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}"
