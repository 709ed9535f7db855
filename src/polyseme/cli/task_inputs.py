"""The inputs of `polyseme task predict`: a text, or a file of texts, of tokens, of JSON or in the task's own format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyseme.tasks.trained_task import Task

#: What a file holds, by its suffix; others, and any .txt file that begins so, are in the task's own format.
KINDS = {".txt": "text", "": "text", ".jsonl": "jsonl", ".ndjson": "jsonl"}
#: How many lines decide that: few, so that a bad line further down is refused with its line number.
HEAD = 200


def answers(task: Task, inputs: str, kind: str | None) -> Iterator[tuple[Any, Any]]:
    """(example, prediction) of everything in the inputs."""
    items = _given(task, inputs, kind)
    if items is None:
        return task.answer(task.definition.read_to_predict(Path(inputs), task.reading()))
    return task.answer(example for place, _, item in items for example in task.examples(item, place))


def _given(task: Task, inputs: str, kind: str | None) -> Iterator[tuple[str, dict[str, Any], Any]] | None:
    """(place, line, item) of everything to predict for; None for a file in the task's own format."""
    from polyseme.cli.score import names_a_file
    from polyseme.errors import InputError

    if kind != "task" and not names_a_file(inputs):
        return iter([("", {}, _item(inputs, kind, "the text"))])
    if kind != "task" and inputs != "-" and not Path(inputs).exists():
        raise InputError(f"{inputs} does not exist; if it is a text, not a file, give it on standard input (-)")
    kind = kind or _kind_of(inputs, task)
    return None if kind == "task" else _items(inputs, kind)


def _kind_of(name: str, task: Task) -> str:
    from polyseme.text.lines import without_compression

    if name == "-":
        return "text"
    if Path(name).is_dir():
        return "task"
    kind = KINDS.get(Path(without_compression(name)).suffix.lower(), "task")
    if kind == "text" and Path(name).is_file() and begins_in_task_format(name, task):  # a pipe is read only once
        return "task"
    return kind


def begins_in_task_format(name: str, task: Task) -> bool:
    """Whether the task could be trained on the first lines of a file; a file of one line is always a text."""
    from itertools import islice
    from tempfile import TemporaryDirectory

    from polyseme.errors import InputError
    from polyseme.text.lines import open_bytes, read_lines

    with open_bytes(name) as stream:
        lines = _whole_sentences(list(islice(read_lines(stream, name), HEAD)))
    if lines and lines[0].startswith("#begin document"):  # CoNLL-2012; the document may be longer than HEAD lines
        return True
    if sum(bool(line.strip()) for line in lines) < 2:
        return False
    with TemporaryDirectory() as folder:
        head = Path(folder) / "head"
        head.write_text("\n".join(lines) + "\n", encoding="utf-8")
        try:
            task.definition.read_to_predict(head, task.reading())
        except InputError:
            return False
    return True


def _whole_sentences(lines: list[str]) -> list[str]:
    """The first lines of a file, cut at the last empty one if the file continues after them."""
    empty = [number for number, line in enumerate(lines) if not line.strip()]
    return lines[: empty[-1]] if empty and len(lines) == HEAD else lines


def _items(name: str, kind: str) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """(place, line, item) for each line of a file: a text, a list of tokens, or JSON."""
    from polyseme.text.lines import open_bytes, read_lines

    with open_bytes(name) as stream:
        for number, line in enumerate(read_lines(stream, name), start=1):
            place = f"{'standard input' if name == '-' else name}, line {number}"
            if line.strip():
                yield place, {"line": number}, _item(line, kind, place)


def _item(line: str, kind: str | None, place: str) -> Any:
    """The item on a line: a text, a list of tokens, or JSON."""
    import json

    from polyseme.errors import InputError

    if kind != "jsonl":
        return line.split() if kind == "tokens" else line
    try:
        item = json.loads(line)
        if "\\u" in line:
            json.dumps(item, ensure_ascii=False).encode()  # half of a surrogate pair could not be written back
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place} is not JSON ({error})") from None
    return item


def json_lines(task: Task, inputs: str, kind: str | None) -> Iterator[str]:
    import json

    items = _given(task, inputs, kind)
    records: Iterator[dict[str, Any]]
    if items is None:
        records = (task.definition.record(*pair) for pair in answers(task, inputs, "task"))
    else:
        records = task.records(items)
    for record in records:
        yield json.dumps(record, ensure_ascii=False) + "\n"
