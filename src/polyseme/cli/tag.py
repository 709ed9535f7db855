"""polyseme tag: names, parts of speech and semantic roles, found by bundled task models or your own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyseme.cli.options import Field, Kind, Overwrite, TaskOptions, keep_existing, with_groups
from polyseme.cli.printing import print_json

if TYPE_CHECKING:
    from polyseme.tasks.trained_task import Task
    from polyseme.text.readers import Document

#: The tasks that are shown unless --task is given, if they are bundled for the language.
SHOWN = ("ner", "pos", "srl")


@with_groups
def tag(
    inputs: Annotated[
        list[str],
        typer.Argument(help="A text, or files, globs or - (txt, jsonl, csv, …; also compressed).", metavar="TEXT|FILE"),
    ],
    task: Annotated[
        str | None,
        typer.Option(help="Bundled task models (ner,pos,srl) or your own run folders.", metavar="TASK,RUN,…"),
    ] = None,
    lang: Annotated[
        str | None, typer.Option(help="Language of the task models; by default, detected from the script.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object for each text.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write an HTML page with everything.", metavar="FILE")] = None,
    overwrite: Overwrite = False,
    field: Field = None,
    kind: Kind = None,
    *,
    bilm: TaskOptions,
) -> None:
    """Tag names, parts of speech and semantic roles in a text or in files of any size.

    Examples:

      polyseme tag "Ada Lovelace lived in London."

      polyseme tag reviews.jsonl --task ner --field body --json
    """
    from polyseme.cli.printing import on_terminal
    from polyseme.cli.tag_output import page_of, print_columns, print_sentences
    from polyseme.jobs.atomic import replace_when_complete
    from polyseme.tasks.tagging import language_of, tag_documents

    keep_existing(html, overwrite=overwrite)
    documents = _documents(inputs, field, kind)
    if lang is None:
        first = next(documents, None)
        documents = chain([] if first is None else [first], documents)
        lang = language_of("" if first is None else first.text or " ".join(chain(*(first.sentences or []))))
    tasks = bilm.load(*_names(task, lang))
    _refuse_others(tasks)
    if kind is None:
        _refuse_task_files(tasks, inputs)
    records: Iterable[dict[str, Any]] = tag_documents(tasks, documents)
    if html is not None:
        with replace_when_complete(html) as file:
            for piece in page_of(records):
                file.write(piece.encode())
        typer.echo(f"{html} shows it in a browser", err=True)
    elif as_json:
        for record in records:
            print_json(record)
    elif on_terminal():
        print_sentences(records)
    else:
        print_columns(records)


def _documents(inputs: list[str], field: str | None, kind: str | None) -> Iterator[Document]:
    """The text as one document, or the documents of the files."""
    from polyseme.cli.score import names_a_file
    from polyseme.text.readers import Document, read_documents

    if len(inputs) == 1 and field is None and kind is None and not names_a_file(inputs[0]):
        return iter([Document("0", inputs[0], None, "")])
    return read_documents(inputs, kind=kind, field=field)


def _names(task: str | None, lang: str) -> list[str]:
    """Run folders unchanged, task names with their language; by default, all bundled tasks that are shown."""
    from polyseme.tasks.bundled_tasks import bundled_tasks

    if task is None:
        there = [name for one in SHOWN if (name := f"{lang}/{one}") in bundled_tasks()]
        return there or [f"{lang}/{SHOWN[0]}"]  # the error says what to do
    wanted = [name.strip() for name in task.split(",") if name.strip()]
    if not wanted:
        raise typer.BadParameter("name a task: ner, pos, srl, or a run folder", param_hint="--task")
    return [name if "/" in name or Path(name, "run.json").exists() else f"{lang}/{name}" for name in wanted]


def _refuse_task_files(tasks: list[Task], inputs: list[str]) -> None:
    """A file with a token and its tag on each line is not a text: the tags would be tagged as words."""
    from polyseme.cli.score import names_a_file
    from polyseme.cli.task_inputs import begins_in_task_format
    from polyseme.errors import ConfigError
    from polyseme.text.readers import expand_inputs, kind_of

    named = inputs if len(inputs) > 1 or names_a_file(inputs[0]) else []
    for name in expand_inputs(named):
        if not Path(name).is_file() or kind_of(name) != "txt":
            continue
        for task in tasks:
            if begins_in_task_format(name, task):
                raise ConfigError(
                    f"{name} is in the format of the task {task.definition.name}, not text; use polyseme task predict "
                    "RUN FILE, or --kind txt if its lines are texts"
                )


def _refuse_others(tasks: list[Task]) -> None:
    from polyseme.errors import ConfigError

    for task in tasks:
        if not task.definition.by_sentence:
            name = task.definition.name
            raise ConfigError(f"the task {name} does not tag sentences; use polyseme task predict RUN instead")
