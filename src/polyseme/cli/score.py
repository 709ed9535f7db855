"""polyseme score: how likely each word of a text is."""

from __future__ import annotations

import json
import math
import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyseme.cli.options import Field, Lang, Model, OptionsFile, State
from polyseme.cli.printing import bar, escaped, new_table, on_terminal, print_table, print_tsv
from polyseme.text.vocabulary import BEGIN, END

if TYPE_CHECKING:
    from polyseme.lm.scoring import Item, Score

#: How the name of a file ends; a word that ends so is not taken for a text.
SUFFIXES = (
    *(".txt", ".gz", ".xz", ".bz2", ".zst", ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet"),
    *(".conllu", ".conll", "_conll", ".iob2", ".props", ".fasta", ".fa"),
)
#: A file of any kind in a folder: "names/test.bio", "./test" or "/home/ada/test", not "and/or".
_IN_A_FOLDER = re.compile(r"\S*[/\\]\S*\.[A-Za-z]\w*|(\.{0,2}|~|[A-Za-z]:)[/\\]\S+")
#: Bits of a full bar: one word of a million.
FULL_BAR = 20.0


def score(
    text: Annotated[str, typer.Argument(help="A text, a file of them (one a line), or - .", metavar="TEXT|FILE|-")],
    model: Model = "en",
    options_file: OptionsFile = None,
    sentences: Annotated[bool, typer.Option("--sentences", help="One row for each sentence, not each token.")] = False,
    lang: Lang = None,
    state: State = None,
    field: Field = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object for each text.")] = False,
) -> None:
    """Say how likely each word of a text is, given what stands before it and given what stands after it.

    Log-probabilities are in nats, surprisal in bits. A model whose card says "unit: morpheme" scores morphemes, also
    where words were given. In a pipe: tab-separated lines.

    Examples:

      polyseme score "He sat on the bank of the river."

      polyseme score reviews.txt --sentences --model ./my-model
    """
    from polyseme.elmo import Elmo
    from polyseme.lm.scoring import score_stream

    items = _items(text, field)
    elmo = Elmo.from_pretrained(model, options=options_file, state=state, lang=lang)
    waiting: deque[str] = deque()

    def remembered() -> Iterator[Item]:
        for name, item in items:
            waiting.append(name)
            yield item

    found = _not_nothing(((waiting.popleft(), one) for one in score_stream(elmo, remembered())), text)
    if as_json:
        _print_json(found)
    elif on_terminal():
        (_print_sentence_table if sentences else _print_token_tables)(found)
    else:
        (_print_sentence_lines if sentences else _print_token_lines)(found)


def _items(text: str, field: str | None) -> Iterator[tuple[str, Item]]:
    """What is scored, each with the number of its line or its own id."""
    from polyseme.text.readers import read_documents

    if field is None and not names_a_file(text):
        return iter([("0", text)])
    documents = read_documents([text], field=field)
    return (
        (document.id, item)
        for document in documents
        for item in ([document.text or ""] if document.sentences is None else document.sentences)
    )


def names_a_file(text: str) -> bool:
    """Whether an argument is a file rather than a text: one that exists, or one word that looks like a file's name.

    An existing folder counts as a file, so that its name is not taken for a text by mistake.
    """
    try:
        if text == "-" or (text and Path(text).exists()):
            return True
    except (OSError, ValueError):  # too long for a name, or with a null character
        return False
    return len(text.split()) == 1 and (text.lower().endswith(SUFFIXES) or bool(_IN_A_FOLDER.fullmatch(text)))


Scored = Iterator[tuple[str, "Score"]]


def _not_nothing(scored: Scored, text: str) -> Scored:
    from polyseme.errors import InputError

    sentences = 0
    for name, score in scored:
        sentences += len(score.sentences)
        yield name, score
    if not sentences:
        shown = repr(text) if not names_a_file(text) else "standard input" if text == "-" else text
        raise InputError(f"{shown} has no word to score; expected at least one sentence")


#: Sentence number, token (or boundary), whether it is unknown, ln p forward, ln p backward.
Row = tuple[int, str, bool, float | None, float | None]


def _rows(score: Score) -> Iterator[Row]:
    """Every token, and the boundaries of every sentence."""
    for number, (begin, end) in enumerate(score.sentences):
        if score.begins is not None:
            yield number, BEGIN, False, None, float(score.begins[number])
        for n in range(begin, end):
            backward = None if score.backward is None else float(score.backward[n])
            yield number, score.tokens[n], bool(score.unknown[n]), float(score.forward[n]), backward
        yield number, END, False, float(score.ends[number]), None


def _print_json(scored: Scored) -> None:
    for name, score in scored:
        typer.echo(json.dumps({"id": name, **score.to_dict()}, ensure_ascii=False))


def _print_token_lines(scored: Scored) -> None:
    header = ("text", "sentence", "token", "unknown", "forward", "backward", "surprisal", "backward_surprisal")
    rows = (
        (name, number, token, int(unknown), forward, backward, _bits(forward), _bits(backward))
        for name, score in scored
        for number, token, unknown, forward, backward in _rows(score)
    )
    print_tsv(header, rows)


def _print_sentence_lines(scored: Scored) -> None:
    header = ("text", "sentence", "tokens", "forward", "backward", "perplexity", "backward_perplexity", "words")
    rows = (
        (
            name,
            number,
            end - begin,
            total.forward,
            total.backward,
            *total.perplexities,
            " ".join(score.tokens[begin:end]),
        )
        for name, score in scored
        for number, ((begin, end), total) in enumerate(zip(score.sentences, score.totals, strict=True))
    )
    print_tsv(header, rows)


def _print_token_tables(scored: Scored) -> None:
    for _, score in scored:
        rows = list(_rows(score))
        for number, total in enumerate(score.totals):
            table = new_table("", "bits, read forward", " ", "bits, read backward", "  ", left=("", " ", "  "))
            for _, token, unknown, forward, backward in (row for row in rows if row[0] == number):
                shown = escaped(token) + (" [dim](unknown)[/dim]" if unknown else "")
                table.add_row(shown, *_bits_and_bar(forward), *_bits_and_bar(backward))
            forward_perplexity, backward_perplexity = total.perplexities
            table.add_section()
            table.add_row("sum, bits", _shown(_bits(total.forward)), "", _shown(_bits(total.backward)), "")
            table.add_row("perplexity", _shown(forward_perplexity), "", _shown(backward_perplexity), "")
            print_table(table)


def _print_sentence_table(scored: Scored) -> None:
    table = new_table("tokens", "bits forward", "backward", "perplexity", "backward ", "sentence", left=("sentence",))
    for _, score in scored:
        for (begin, end), total in zip(score.sentences, score.totals, strict=True):
            figures = (_bits(total.forward), _bits(total.backward), *total.perplexities)
            words = " ".join(score.tokens[begin:end])
            table.add_row(
                str(end - begin), *map(_shown, figures), escaped(words if len(words) < 60 else words[:59] + "…")
            )
    print_table(table)


def _bits(log_probability: float | None) -> float | None:
    return None if log_probability is None else -log_probability / math.log(2)


def _bits_and_bar(log_probability: float | None) -> tuple[str, str]:
    bits = _bits(log_probability)
    return (_shown(bits), bar(bits / FULL_BAR)) if bits is not None else ("", "")


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}"
