"""Table 4: the nearest neighbours of a word that has one vector everywhere, and of a word in its sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from polyseme.analysis.index import Index, Neighbour
from polyseme.elmo import Elmo
from polyseme.encoding import unit
from polyseme.engine.progress import Progress
from polyseme.lm.places import find_place
from polyseme.tasks.static import load_static
from polyseme.text.readers import read_documents

#: A word of the paper and two of ours, each in two senses.
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
    elmo: Elmo, files: Sequence[Path], questions: Sequence[str], static: str, words: int
) -> dict[str, Any]:
    """The first ``words`` words of some files are indexed by the last layer, and asked."""
    texts, used = first_texts(files, words)
    with Progress(sum(map(len, texts)), "indexing") as progress:
        index = Index.in_memory(elmo, _counted(texts, progress), layers="top")
    asked = [find_place(elmo, question) for question in questions]
    targets = list(dict.fromkeys(" ".join(place.tokens[place.begin : place.end]).lower() for place in asked))
    return {
        "texts": used,
        "tokens": len(index),
        "sentences": index.sentences,
        "static": static_neighbours(targets, texts, static),
        "biLM": [_answers(index, question) for question in questions],
    }


def _answers(index: Index, question: str) -> dict[str, Any]:
    """The nearest places of any word, and of the word itself."""
    return {
        "question": question,
        "any_word": _places(index.neighbours(question, k=PLACES)),
        "this_word": _places(index.neighbours(question, k=SAME_WORD_PLACES, same_word=True)),
    }


def _places(found: Sequence[Neighbour]) -> list[dict[str, Any]]:
    return [{"sentence": one.marked, "similarity": one.similarity} for one in found]


def _counted(texts: Sequence[str], progress: Progress) -> Iterator[str]:
    for text in texts:
        yield text
        progress.advance(len(text))


def first_texts(files: Sequence[Path], words: int) -> tuple[list[str], list[str]]:
    """Documents from the beginning, until they have so many words; and the names of the files that they are from."""
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
    """For each word that has a vector, the words of some texts whose vectors are nearest to it."""
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
