"""Sections on Tables 4 to 6, and on parts that the paper does not have, from the figures of the frozen model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from polyseme.reproduce import paper
from polyseme.reproduce.comparison import NONE, Verdict, absent, failures, finding, plain, signed, tally
from polyseme.reproduce.document import PAPER, Block, Section, Table, section_of
from polyseme.reproduce.paper import LANGUAGES, layer_title
from polyseme.reproduce.plots import draw_senses, draw_tags

Figures = Mapping[str, Any]
#: Accuracies that differ by less are even: the test sets have about ten thousand words.
MARGIN = 0.5


def table_4(figures: Figures) -> Section:
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
    return _section("Table 4: nearest neighbours", lead, tables, figures, [_in_common(figures)])


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
    """How many nearest places the sentences of a word share: none if its senses are distinguished."""
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


def table_5(figures: Figures) -> Section:
    """F1 of word senses, over all sets that were read."""
    kinds = {name: found for name, found in figures.items() if isinstance(found, Mapping) and "f1" in _first_set(found)}
    sets = list(next(iter(kinds.values()), {}))
    ours = {title: [100 * found[name]["f1"][layer] for name in sets] for title, found, layer in _by_layer(kinds)}
    if kinds:
        first = next(iter(kinds.values()))
        ours = {"first sense in WordNet": [100 * first[name]["first_sense"] for name in sets], **ours}
    rows = _beside(ours, paper.SENSES, len(sets))
    total = _column(ours, -1)
    last = _last(total)
    notes = [
        finding("The last layer compared with the first LSTM layer (paper: +1.6)",
                _ahead(total, last, "biLM, layer 1")),
        finding("The last layer compared with the first sense (paper: +3.1)",
                _ahead(total, last, "first sense in WordNet")),
        finding("The last layer compared with static vectors", _ahead(total, last, "static")),
        _against_the_paper(total) if sets[-1:] == ["ALL"] else None,
    ]  # fmt: skip
    lead = (
        "F1 of the nearest sense, by cosine with the mean vector of each sense in SemCor. A lemma that SemCor lacks "
        "gets WordNet's first sense."
    )
    if kinds:
        lead += " Words: " + ", ".join(f"{name} {first[name]['words']:,}" for name in sets) + "."
    table = Table(["vectors", *(sets or ["here"]), PAPER + "all words"], rows)
    return _section("Table 5: word senses", lead, [table], figures, notes)


def table_6(figures: Figures) -> Section:
    """Accuracy of a linear probe for the tags of the Penn Treebank."""
    kinds = {name: found for name, found in figures.items() if isinstance(found, Mapping) and "decays" in found}
    splits = [split for split in ("dev", "test") if any(found[split] for found in kinds.values())]
    ours = {
        title: [100 * found[split][layer] if found[split] else None for split in splits]
        for title, found, layer in _by_layer(kinds)
    }
    frequent = figures.get("most frequent tag") or {}
    if "dev" in frequent:
        base = [None if frequent[split] is None else 100 * frequent[split] for split in splits]
        ours = {"most frequent tag": base, **ours}
    rows = _beside(ours, paper.TAGS, len(splits))
    total = _column(ours, -1)
    notes = [
        finding("The first LSTM layer compared with the last (paper: +0.5)",
                _ahead(total, "biLM, layer 1", _last(total))),
        finding("The first LSTM layer compared with the most frequent tag of a word",
                _ahead(total, "biLM, layer 1", "most frequent tag")),
        finding("The first LSTM layer compared with static vectors", _ahead(total, "biLM, layer 1", "static")),
        _few_numbers(total),
    ]  # fmt: skip
    where = f" on {figures['data']}" if "data" in figures else ""
    lead = (
        f"Accuracy of a linear classifier on one layer, for Penn Treebank tags{where}. The paper used the WSJ test set."
    )
    table = Table(["vectors", *(splits or ["here"]), PAPER + "test"], rows)
    return _section("Table 6: parts of speech", lead, [table], figures, notes)


def perplexity(figures: Figures) -> Section:
    """How well the model predicts unseen text."""
    blocks: list[Block] = []
    if "forward" in figures:
        row = [figures["text"], *(f"{figures[key]:.1f}" for key in ("forward", "backward", "average"))]
        row += [f"{figures['tokens']:,}", f"{figures['vocabulary']:,}", f"{100 * figures['unknown_rate']:.2f} %"]
        head = ["text", "forward", "backward", "average", "tokens", "words in the softmax", "unknown"]
        blocks.append(Table([*head, PAPER + "average"], [[*row, f"{paper.PERPLEXITY:g}"]]))
    start = "one fixed state" if figures.get("state") == "warm" else "the zero state"
    lead = (
        f"Perplexity on held-out text with the full softmax, each sentence from {start}. The paper's is on the 1 "
        "Billion Word Benchmark; perplexities on different texts and vocabularies cannot be compared."
    )
    return _section("Perplexity", lead, blocks, figures)


def senses(figures: Figures) -> Section:
    """How far apart two senses of a word are."""
    blocks: list[Block] = []
    if "layers" in figures:
        rows = [
            [layer_title(number), f"{one['same']:.3f}", f"{one['cross']:.3f}", f"{one['margin']:.3f}",
             f"{100 * one['share']:.0f} %"]
            for number, one in enumerate(figures["layers"])
        ]  # fmt: skip
        head = ["layer", "same sense", "two senses", "difference", "same sense nearer"]
        blocks = [draw_senses(figures["layers"]), Table(head, rows)]
    count = f" of {figures['words']} words" if "words" in figures else ""
    lead = (
        f"Mean cosine of two uses{count}, in the same sense and in two senses, layer by layer. The sentences come with "
        "polyseme. The last column counts triplets (a use, another in the same sense, one in a different sense); "
        "half of them are right by chance. The token layer sees only the word, so all uses are equal there."
    )
    return _section("How far apart two senses are", lead, blocks, figures)


def languages(figures: Figures) -> Section:
    """Universal parts of speech in three languages."""
    there = {lang: row for lang, row in figures.items() if row and (row.get("biLM") or {}).get("dev")}
    rows = []
    for lang, row in there.items():
        for split in ("dev", "test"):
            if row["biLM"][split]:
                frequent = (row["most frequent tag"] or {}).get(split)
                layers = [f"{100 * share:.1f}" for share in row["biLM"][split]]
                base = plain(None if frequent is None else 100 * frequent)
                rows.append([LANGUAGES[lang], row["data"], _model(row), split, base, *layers])
    blocks: list[Block] = []
    if rows:
        head = ["language", "treebank", "model", "split", "most frequent tag"]
        width = max(len(row) for row in rows)
        head += [layer_title(number) for number in range(width - len(head))]
        blocks = [draw_tags(there), Table(head, [row + [NONE] * (width - len(row)) for row in rows])]
    lead = "Accuracy of a linear classifier on one layer, universal parts of speech, in percent."
    notes = [_against_most_frequent(there, 1), _against_most_frequent(there, 2), *absent(figures, LANGUAGES)]
    return section_of("English, Korean, Chinese", lead, blocks, notes)


def _against_most_frequent(rows: Figures, layer: int) -> str | None:
    """For which languages a layer beats the words without their context."""
    verdicts: dict[str, Verdict | None] = {}
    for lang, row in rows.items():
        split = "test" if row["biLM"]["test"] else "dev"
        frequent, shares = (row["most frequent tag"] or {}).get(split), row["biLM"][split]
        if frequent is not None and layer < len(shares):
            difference = 100 * (shares[layer] - frequent)
            verdicts[LANGUAGES[lang]] = "even" if abs(difference) < MARGIN else "yes" if difference > 0 else "no"
    return tally(f"Layer {layer} is better than the most frequent tag of a word", verdicts, even=f"within {MARGIN:g}")


def _model(row: Figures) -> str:
    """The name of a language's model, and the beginning of its fingerprint."""
    model = row.get("model")
    return f"{model['name']} {model['fingerprint'][:12]}" if model else NONE


def _section(
    title: str, lead: str, blocks: Sequence[Block], figures: Figures, notes: Sequence[str | None] = ()
) -> Section:
    lines = [*notes]
    if isinstance(figures.get("missing"), str):
        lines.append(f"Skipped: {figures['missing']}.")
    lines += [f"Failed: {sentence}." for sentence in dict.fromkeys(failures(figures))]
    return section_of(title, lead, blocks, lines)


def _first_set(found: Figures) -> Figures:
    first = next(iter(found.values()), None)
    return first if isinstance(first, Mapping) else {}


def _by_layer(kinds: Figures) -> list[tuple[str, Figures, int]]:
    """ "static", "biLM, token layer", "biLM, layer 1", …, with the figures and the number of the layer in them."""
    found = []
    for kind, figures in kinds.items():
        shares = _first_set(figures)["f1"] if "f1" in _first_set(figures) else figures["dev"]
        for layer in range(len(shares)):
            below = 0 if kind == "biLM" else 1  # CoVe has no token layer
            title = kind if len(shares) == 1 else f"{kind}, {layer_title(layer + below)}"
            found.append((title, figures, layer))
    return found


def _beside(ours: Mapping[str, Sequence[float | None]], theirs: Mapping[str, float], columns: int) -> list[list[str]]:
    """Our rows, then those that only the paper has."""
    names = [*ours, *(name for name in theirs if name not in ours)]
    empty: Sequence[float | None] = [None] * max(1, columns)
    return [[name, *(plain(value) for value in ours.get(name, empty)), plain(theirs.get(name))] for name in names]


def _column(ours: Mapping[str, Sequence[float | None]], column: int) -> dict[str, float]:
    """One column of our figures, without missing values."""
    found = {name: values[column] for name, values in ours.items() if values}
    return {name: value for name, value in found.items() if value is not None}


def _last(total: Mapping[str, float]) -> str:
    """The name of the biLM's last layer."""
    return max((name for name in total if name.startswith("biLM, layer")), default="biLM, layer 2")


def _ahead(total: Mapping[str, float], first: str, second: str) -> float | None:
    """The difference between two rows."""
    return total[first] - total[second] if first in total and second in total else None


def _against_the_paper(total: Mapping[str, float]) -> str | None:
    """The difference between each layer and the paper's, on the same words."""
    behind = {name: total[name] - theirs for name, theirs in paper.SENSES.items() if name in total and "biLM" in name}
    if not behind:
        return None
    shown = ", ".join(f"{name.removeprefix('biLM, ')} {signed(difference)}" for name, difference in behind.items())
    return f"Compared with the paper's layers, on the same sets: {shown}."


def _few_numbers(total: Mapping[str, float]) -> str | None:
    """Why static vectors are below the most frequent tag, if they are."""
    difference = _ahead(total, "static", "most frequent tag")
    if difference is None or difference >= 0:
        return None
    return (
        f"Static vectors are below the most frequent tag of a word by {-difference:.1f}: a linear classifier has too "
        "few numbers to tell all words apart (glove-6b-50d: 50, without capital letters), while the most frequent tag "
        "is looked up for each word."
    )
