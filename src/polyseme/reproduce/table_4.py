"""Table 4: the nearest neighbours of words, and of words in their sentences."""

from __future__ import annotations

import re

from polyseme.reproduce import paper
from polyseme.reproduce.bench import Bench
from polyseme.reproduce.comparison import NONE
from polyseme.reproduce.data_sets import TEXTS, find_texts
from polyseme.reproduce.document import PAPER, Section, Table
from polyseme.reproduce.frozen_rows import Figures, digests, frozen_measurement, frozen_section
from polyseme.reproduce.measurement import Missing, Tree
from polyseme.reproduce.neighbour_questions import measure_neighbours


def plan(bench: Bench) -> Tree:
    """Nearest neighbours in a text, of words everywhere and in their sentences."""
    files = find_texts(bench.data, TEXTS)
    if isinstance(files, Missing):
        return files
    budget = bench.budget
    return frozen_measurement(
        "nearest neighbours",
        {
            "model": bench.elmo.identity,
            "static": bench.static_key,
            "files": digests(files),
            "words": budget.indexed_words,
            "questions": bench.questions,
        },
        lambda: measure_neighbours(
            bench.elmo, files, bench.questions, bench.static, budget.indexed_words, bench.out / "index"
        ),
        seconds=20 + budget.indexed_words / 5000,
    )


def section(figures: Figures) -> Section:
    """Neighbours of words, and of words in their sentences."""
    lead = "The nearest neighbours of a word by static vectors, and of a word in its sentence (in brackets)."
    if figures.get("tokens") == 0:
        lead += " The text has no words."
    elif "tokens" in figures:
        lead += (
            f" They are searched among the {figures['tokens']:,} tokens ({figures['sentences']:,} sentences) of "
            f"{', '.join(figures['texts'])}, by the last layer. The paper's sentences are paraphrased."
        )
    tables = [_static_neighbours(figures), _papers_places(), *_places(figures)]
    return frozen_section("Table 4: nearest neighbours", lead, tables, figures, [_in_common(figures)])


def _static_neighbours(figures: Figures) -> Table:
    ours = {word: ", ".join(name for name, _ in found) for word, found in (figures.get("static") or {}).items()}
    theirs = {"play": ", ".join(paper.GLOVE_PLAY)}
    rows = [[word, ours.get(word, NONE), theirs.get(word, NONE)] for word in theirs | ours]
    return Table(["word", "nearest, static vectors", PAPER + "nearest in GloVe"], rows)


def _papers_places() -> Table:
    return Table([PAPER + "in its sentence", PAPER + "nearest"], paper.BILM_PLAY)


def _places(figures: Figures) -> list[Table]:
    """The nearest places of each question, then those of the same word that are not among them."""
    rows = []
    for asked in figures.get("biLM") or ():
        there = {one["sentence"] for one in asked["any_word"]}
        shown = [("any", one) for one in asked["any_word"]]
        shown += [("the same", one) for one in asked["this_word"] if one["sentence"] not in there]
        for number, (among, one) in enumerate(shown):
            title = asked["question"] if number == 0 else ""
            rows.append([title, among, f"{one['similarity']:.2f}", one["sentence"]])
    return [Table(["in its sentence", "word", "cosine", "nearest"], rows)] if rows else []


def _in_common(figures: Figures) -> str | None:
    """How many of the nearest places the sentences of a word share: none where its senses are told apart."""
    by_word: dict[str, list[set[str]]] = {}
    for asked in figures.get("biLM") or ():
        word = re.search(r"\[(.*?)\]", asked["question"])
        if word:
            found = {one["sentence"] for one in asked["any_word"]}
            by_word.setdefault(word[1].lower(), []).append(found)
    shared = {word: set.intersection(*sets) for word, sets in by_word.items() if len(sets) > 1}
    if not shared:
        return None
    counts = ", ".join(f"{word} {len(places) or 'none'}" for word, places in shared.items())
    return f"Neighbours that all sentences of a word share (none if its senses are told apart): {counts}."
