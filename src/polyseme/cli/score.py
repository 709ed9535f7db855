"""polyseme score: how likely each word of a text is."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from polyseme.cli import score_output
from polyseme.cli.options import Field, IdColumn, Lang, Model, OptionsFile, State
from polyseme.cli.printing import on_terminal
from polyseme.cli.score_output import Scored

if TYPE_CHECKING:
    from polyseme.prepared_text import Item

#: Suffixes of file names; a single word that ends in one is not taken for a text.
SUFFIXES = (
    *(".txt", ".gz", ".xz", ".bz2", ".zst", ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet"),
    *(".conllu", ".conll", "_conll", ".iob2", ".props", ".fasta", ".fa"),
)
#: Any file in a folder: "names/test.bio", "./test" or "/home/ada/test", but not "and/or".
_IN_A_FOLDER = re.compile(r"\S*[/\\]\S*\.[A-Za-z]\w*|(\.{0,2}|~|[A-Za-z]:)[/\\]\S+")


def score(
    text: Annotated[str, typer.Argument(help="A text, a file with one text per line, or - .", metavar="TEXT|FILE|-")],
    model: Model = "en",
    options_file: OptionsFile = None,
    sentences: Annotated[bool, typer.Option("--sentences", help="One row per sentence, not per token.")] = False,
    words: Annotated[
        bool, typer.Option("--words", help="One row per word between spaces, as in reading-time data.")
    ] = False,
    unknown: Annotated[
        Literal["empty", "score"],
        typer.Option(help="For a word the model does not know: no score, or the score of all unknown words."),
    ] = "empty",
    lang: Lang = None,
    state: State = None,
    field: Field = None,
    id_column: IdColumn = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object for each text.")] = False,
) -> None:
    """Show how likely each word of a text is, given the words before it and given the words after it.

    Log-probabilities are in nats, surprisal and entropy in bits. Totals and perplexities leave out words without a
    score. A model whose card says "unit: morpheme" scores morphemes, even if you give words. In a pipe:
    tab-separated lines.

    Examples:

      polyseme score "He sat on the bank of the river."

      polyseme score reviews.txt --words --model ./my-model
    """
    from polyseme.elmo import Elmo
    from polyseme.errors import ConfigError
    from polyseme.lm.scoring import score_stream

    if words + sentences + as_json > 1:
        raise ConfigError("--words, --sentences and --json exclude each other; give one of them")
    items = _items(text, field, id_column)
    elmo = Elmo.from_pretrained(model, options=options_file, state=state, lang=lang)
    waiting: deque[str] = deque()

    def remembered() -> Iterator[Item]:
        for name, item in items:
            waiting.append(name)
            yield item

    found = _not_nothing(((waiting.popleft(), one) for one in score_stream(elmo, remembered(), unknown)), text)
    if as_json:
        score_output.print_json_lines(found)
    elif words:
        (score_output.print_word_table if on_terminal() else score_output.print_word_lines)(found)
    elif sentences:
        (score_output.print_sentence_table if on_terminal() else score_output.print_sentence_lines)(found)
    else:
        (score_output.print_token_tables if on_terminal() else score_output.print_token_lines)(found)


def _items(text: str, field: str | None, id_column: str | None) -> Iterator[tuple[str, Item]]:
    """The texts to score, each with its number or its own id."""
    from polyseme.text.readers import read_documents

    if field is None and id_column is None and not names_a_file(text):
        return iter([("0", text)])
    documents = read_documents([text], field=field, id=id_column)
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
    except (OSError, ValueError):  # too long for a file name, or it has a null character
        return False
    return len(text.split()) == 1 and (text.lower().endswith(SUFFIXES) or bool(_IN_A_FOLDER.fullmatch(text)))


def _not_nothing(scored: Scored, text: str) -> Scored:
    from polyseme.errors import InputError

    sentences = 0
    for name, score in scored:
        sentences += len(score.sentences)
        yield name, score
    if not sentences:
        shown = repr(text) if not names_a_file(text) else "standard input" if text == "-" else text
        raise InputError(f"{shown} has no word to score; expected at least one sentence")
