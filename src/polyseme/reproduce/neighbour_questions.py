"""Table 4: the nearest neighbours of a word by its static vector, and of a word in its sentence."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from polyseme.elmo import Elmo
from polyseme.encoding import unit
from polyseme.index.vector_index import Index, Neighbour
from polyseme.jobs.atomic import replace_when_complete
from polyseme.lm.places import find_place
from polyseme.tasks.vectors.static import load_static
from polyseme.text.readers import read_documents

#: A word from the paper and two of ours, each in two senses.
QUESTIONS = (
    "The shortstop made a spectacular [play] on a ground ball.",
    "She signed to do a Broadway [play] for three months.",
    "We spread a blanket on the grassy [bank] of the river.",
    "She opened a savings account at the [bank].",
    "He gave her a silver watch as a wedding [present].",
    "Live in the [present], not in the past.",
)
STATIC_NEIGHBOURS = 10
PLACES, SAME_WORD_PLACES = 3, 2


def measure_neighbours(
    elmo: Elmo, files: Sequence[Path], questions: Sequence[str], static: str, words: int, work: Path
) -> dict[str, Any]:
    """Index the first ``words`` words of the files by the last layer, and search the index.

    The index of a million words may not fit into memory: it is built in the folder ``work``, which is deleted at the
    end. If it was stopped, the same call continues it.
    """
    texts, used = first_texts(files, words)
    found = {"texts": used, **_ask(_index(elmo, texts, work), elmo, texts, questions, static)}
    shutil.rmtree(work, ignore_errors=True)
    return found


def _index(elmo: Elmo, texts: Sequence[str], work: Path) -> Index:
    """An index of these texts by this model, new or continued; an index of anything else is replaced."""
    if not any(text.strip() for text in texts):
        return Index.in_memory(elmo, [], layers="top")
    work.mkdir(parents=True, exist_ok=True)
    path = work.resolve() / "texts.jsonl"  # the path of the input is part of an index's identity
    content = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    with replace_when_complete(path) as file:
        file.write(content)
    name = hashlib.sha256(f"{elmo.identity}\n{path}\n".encode() + content).hexdigest()[:10]
    return Index.build(elmo, path, work / name, layers="top", resume=True)


def _ask(index: Index, elmo: Elmo, texts: Sequence[str], questions: Sequence[str], static: str) -> dict[str, Any]:
    asked = [find_place(elmo, question) for question in questions]
    targets = list(dict.fromkeys(" ".join(place.tokens[place.begin : place.end]).lower() for place in asked))
    return {
        "tokens": len(index),
        "sentences": index.sentences,
        "static": static_neighbours(targets, texts, static),
        "biLM": [_answers(index, question) for question in questions],
    }


def _answers(index: Index, question: str) -> dict[str, Any]:
    """The nearest places of any word, and those of the same word."""
    return {
        "question": question,
        "any_word": _places(index.neighbours(question, by="word", k=PLACES)),
        "this_word": _places(index.neighbours(question, by="word", k=SAME_WORD_PLACES, same_word=True)),
    }


def _places(found: Sequence[Neighbour]) -> list[dict[str, Any]]:
    return [{"sentence": one.marked, "similarity": one.similarity} for one in found]


def first_texts(files: Sequence[Path], words: int) -> tuple[list[str], list[str]]:
    """The first documents with ``words`` words in all, and the names of their files."""
    texts, used = list[str](), list[str]()
    for path in files:
        for document in read_documents([path]):
            if words <= 0:
                return texts, used
            if document.text:
                texts.append(document.text)
                words -= len(document.text.split())
                used += [path.name] if path.name not in used else []
    return texts, used


def static_neighbours(words: Sequence[str], texts: Sequence[str], static: str) -> dict[str, list[tuple[str, float]]]:
    """For each word that has a vector, the words of the texts with the nearest vectors."""
    known = {found.lower() for text in texts for found in re.findall(r"[^\W\d_]+", text)}
    vectors = load_static(static, known | set(words))
    names = {row: name for name, row in vectors.rows.items()}
    units = unit(vectors.table)  # [R + 1, S]
    found = {}
    for word in words:
        if own := vectors.row(word):
            cosines = units @ units[own]
            nearest = (row for row in np.argsort(-cosines).tolist() if row in names and row != own)
            found[word] = [(names[row], float(cosines[row])) for row in islice(nearest, STATIC_NEIGHBOURS)]
    return found
