"""The output of polyseme tag: coloured sentences on a terminal, columns in a pipe, or an HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from polyseme.cli.printing import print_tsv

if TYPE_CHECKING:
    from rich.text import Text

Record = dict[str, Any]

#: Colours of labels, by their first letters; any other label gets OTHER_COLOUR.
COLOURS = {"PER": "#ffd3b5", "PS": "#ffd3b5", "LOC": "#bfe3c0", "LC": "#bfe3c0", "ORG": "#bcd7f5", "OG": "#bcd7f5"}
OTHER_COLOUR = "#e3d4f2"
#: The same for terminals with only sixteen colours.
NAMED_COLOURS = {"#ffd3b5": "yellow", "#bfe3c0": "green", "#bcd7f5": "cyan", OTHER_COLOUR: "magenta"}
COLUMNS = ("id", "sentence", "token", "start", "end", "tag", "entity", "roles")


def colour_of(label: str) -> str:
    return COLOURS.get(label.upper(), OTHER_COLOUR)


def print_sentences(records: Iterable[Record]) -> None:
    """Names marked in the text, a line of parts of speech, a line for each predicate."""
    from rich.console import Console
    from rich.padding import Padding

    console = Console(highlight=False)
    for record in records:
        for sentence in record["sentences"]:
            console.print(_marked(record["text"], sentence))
            if "tags" in sentence:
                console.print(tag_lines(sentence, console.width))
            if "label" in sentence:
                console.print(f"  {sentence['label']} ({sentence['confidence']:.2f})", style="dim")
            for frame in sentence.get("frames", ()):
                console.print(Padding(_roles(frame), (0, 0, 0, 2), expand=False))


def _marked(text: str, sentence: Record) -> Text:
    from rich.text import Text

    shown = Text()
    if not sentence["offsets"]:
        return shown
    place, end = sentence["offsets"][0][0], sentence["offsets"][-1][1]
    for entity in sentence.get("entities", ()):
        style = f"black on {NAMED_COLOURS[colour_of(entity['label'])]}"
        shown.append(text[place : entity["start_char"]])
        shown.append(f" {entity['text']} ", style=style)
        shown.append(f"{entity['label']} ", style=f"{style} bold")
        place = entity["end_char"]
    shown.append(text[place:end])
    return shown


def tag_lines(sentence: Record, width: int) -> Text:
    """Each token with its tag, never split across lines; lines are indented."""
    from rich.cells import cell_len
    from rich.text import Text

    shown, column = Text(), 0
    for token, tag in zip(sentence["tokens"], sentence["tags"], strict=True):
        needed = cell_len(f"  {token} {tag}")
        if column and column + needed > width:
            shown.append("\n")
            column = 0
        shown.append(f"  {token}").append(f" {tag}", style="cyan")
        column += needed
    return shown


def _roles(frame: Record) -> Text:
    from rich.text import Text

    shown = Text().append(frame["word"], style="bold")
    for role in frame["roles"]:
        if role["role"] != "V":
            shown.append(f"  {role['role']} ", style="magenta").append(role["text"])
    return shown


def print_columns(records: Iterable[Record]) -> None:
    """A line for each token: its position, its part of speech, and its entity and roles as IOB2 tags."""
    print_tsv(COLUMNS, (row for record in records for row in _rows(record)))


def _rows(record: Record) -> Iterator[tuple[object, ...]]:
    for number, sentence in enumerate(record["sentences"]):
        names = _iob(sentence.get("entities", ()), "label", len(sentence["tokens"]))
        frames = [_iob(frame["roles"], "role", len(sentence["tokens"])) for frame in sentence.get("frames", ())]
        tags = sentence.get("tags") or [None] * len(sentence["tokens"])
        for place, (token, (start, end)) in enumerate(zip(sentence["tokens"], sentence["offsets"], strict=True)):
            entity = names[place] if "entities" in sentence else None
            roles = " ".join(frame[place] for frame in frames) or None
            yield record["id"], number, token, start, end, tags[place], entity, roles


def _iob(spans: Iterable[Record], name: str, length: int) -> list[str]:
    tags = ["O"] * length
    for span in spans:
        for place in range(span["start"], span["end"]):
            tags[place] = f"{'B' if place == span['start'] else 'I'}-{span[name]}"
    return tags


_HEAD = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>polyseme tag</title>
<style>
body { font: 18px/2.4 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
section { border-bottom: 1px solid #ddd; padding: 1rem 0 }
mark { padding: .3em .45em; border-radius: .35em; box-decoration-break: clone; -webkit-box-decoration-break: clone;
  color: inherit }
mark b { font-size: .65em; margin-left: .5em; vertical-align: middle; letter-spacing: .04em }
.word { display: inline-block; text-align: center; line-height: 1.3; margin: 0 .35em .5em 0 }
.word small { display: block; color: #567; font-size: .65em }
.frame { line-height: 1.6; font-size: .85em; margin: .2em 0 }
.frame i { color: #8a3b8f; font-style: normal; font-size: .8em; margin-left: .9em }
</style>
"""


def page_of(records: Iterable[Record]) -> Iterator[str]:
    """One HTML page, piece by piece; it loads nothing from elsewhere."""
    yield _HEAD
    for record in records:
        yield "<section>\n"
        for sentence in record["sentences"]:
            yield from _sentence_html(record["text"], sentence)
        yield "</section>\n"
    yield "</html>\n"


def _sentence_html(text: str, sentence: Record) -> Iterator[str]:
    if not sentence["offsets"]:
        return
    place, end = sentence["offsets"][0][0], sentence["offsets"][-1][1]
    yield "<p>"
    for entity in sentence.get("entities", ()):
        yield escape(text[place : entity["start_char"]])
        sure = f"{entity['confidence']:.0%}" if "confidence" in entity else ""
        yield f'<mark style="background:{colour_of(entity["label"])}" title="{sure}">{escape(entity["text"])}'
        yield f"<b>{escape(entity['label'])}</b></mark>"
        place = entity["end_char"]
    yield f"{escape(text[place:end])}</p>\n"
    if "tags" in sentence:
        words = zip(sentence["tokens"], sentence["tags"], strict=True)
        yield "".join(f'<span class="word">{escape(token)}<small>{escape(tag)}</small></span>' for token, tag in words)
    for frame in sentence.get("frames", ()):
        roles = (role for role in frame["roles"] if role["role"] != "V")
        told = "".join(f"<i>{escape(role['role'])}</i> {escape(role['text'])}" for role in roles)
        yield f'<p class="frame"><b>{escape(frame["word"])}</b>{told}</p>\n'
