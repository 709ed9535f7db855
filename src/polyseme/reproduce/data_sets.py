"""Where data sets are in the data folder; for missing ones, a message says what was looked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from polyseme.errors import InputError
from polyseme.reproduce.measurement import Missing
from polyseme.tasks.data_files import DataFiles, find_data
from polyseme.tasks.definition import find_task
from polyseme.text.lines import without_compression

#: Folders of each task, the paper's data set first; each has files named train, dev and perhaps test.
TASKS = {
    "squad": ("squad",),
    "snli": ("snli",),
    "srl": ("srl/conll-2012", "srl"),
    "coref": ("coref/conll-2012", "coref/ontogum"),
    "ner": ("ner/conll-2003", "ner/uner-ewt"),
    "sst": ("sst",),
    "pos": ("pos/en_ewt",),
}
#: Treebanks of each language; the English one also has Penn Treebank tags.
TREEBANKS = {
    "en": ("pos/en_ewt",),
    "ko": ("pos/ko_gsd",),
    "zh": ("pos/zh_gsdsimp-derived-r1.3", "pos/zh_gsd-r1.3"),
}
SENSES = "wsd"  #: semcor, the sets and index.sense, anywhere below
HELD_OUT = "corpora/en/enwiki-heldout.txt"
#: Text to search for neighbours, read until there is enough.
TEXTS = (HELD_OUT, "corpora/en/en-everyday.txt", "corpora/en/en-novels.txt")


def find_task_data(data: Path, task: str) -> tuple[str, DataFiles] | Missing:
    """The folder of a task below the data folder, and its files."""
    return _first(data, TASKS[task], find_task(task).find)


def find_treebank(data: Path, lang: str) -> tuple[str, DataFiles] | Missing:
    return _first(data, TREEBANKS[lang], lambda folder: find_data(folder, (".conllu",)))


def find_texts(data: Path, names: tuple[str, ...]) -> list[Path] | Missing:
    """The files that exist, compressed or not."""
    found = [path for name in names if (path := _file(data / name)) is not None]
    return found or Missing(f"looked for {' or '.join(names)} (or .xz, .gz, .zst) in the data folder")


def find_senses(data: Path, sets: tuple[str, ...]) -> Path | Missing:
    """The folder with the annotated senses, if all its files exist."""
    folder = data / SENSES
    names = [f"{name}.{end}" for name in ("semcor", *sets) for end in ("data.xml", "gold.key.txt")]
    absent = [name for name in (*names, "index.sense") if not any(folder.rglob(f"{name}*"))]
    return Missing(f"looked for {', '.join(absent)} below {SENSES} in the data folder") if absent else folder


def files_below(folder: Path, sets: tuple[str, ...]) -> list[Path]:
    """The files that word-sense scores depend on."""
    stems = (*(f"{name}." for name in ("semcor", *sets)), "index.sense")
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name.startswith(stems))


def _first(data: Path, folders: tuple[str, ...], find: Callable[[Path], DataFiles]) -> tuple[str, DataFiles] | Missing:
    """The first folder with all its files; if there is none, what the first one lacks."""
    problems = []
    for name in folders:
        if (data / name).is_dir():
            try:
                return name, find(data / name)
            except InputError as error:
                problems.append(str(error).replace(str(data / name), name))  # reports contain no paths of this machine
    looked_for = f"looked for the folder {' or '.join(folders)} with files named train and dev in the data folder"
    return Missing(problems[0] if problems else looked_for)


def _file(path: Path) -> Path | None:
    return next(
        (one for one in sorted(path.parent.glob(f"{path.name}*")) if without_compression(one.name) == path.name), None
    )
