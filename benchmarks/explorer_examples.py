"""The words that the explorer opens with, chosen by measurement: serve/page/examples.js.

    python benchmarks/explorer_examples.py [--only en]

Candidates are the words of senses.tsv, each with eight sentences labelled with two senses. For each word, the sense map
of the bundled text is computed, and every labelled sentence is assigned to the group with the most similar uses:

    right       share of sentences whose group holds mostly their own sense; each sense needs its own group
    fit         share of sentences in which the names of their group are likelier than those of the other group

A word is shown if at least RIGHT of its sentences are right and FIT of the names fit; the best come first. The two
sentences shown are the clearest of each sense, and both must be right. The words and figures are in
results/explorer_examples.json. The figures only choose examples and do not measure a model, because the best of sixty
words are shown. map_precision.py measures how well the map separates senses, for all words and for those shown; its
table is in docs/serve.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from map_precision import OnTheMap, place_labelled, summarize, write_rows
from pages import fill_in
from polyseme.elmo import Elmo
from polyseme.formats.releases.known import bundled_models
from polyseme.index.vector_index import Index
from polyseme.jobs.atomic import replace_when_complete
from polyseme.lm.places import find_place
from polyseme.prepared_text import read_target
from polyseme.senses.labelled import AmbiguousWord, read_senses, split_halves
from polyseme.senses.sense import lexicon_or_none
from polyseme.senses.sense_map import SenseMap, map_occurrences
from polyseme.senses.shipped import shipped_text
from polyseme.senses.uses import Uses, read_uses
from polyseme.text.tokenization import language_code

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "src" / "polyseme" / "serve" / "page" / "examples.js"
RESULTS = Path(__file__).parent / "results" / "explorer_examples.json"

SHOWN = 5  #: examples per language
RIGHT, FIT = 0.75, 0.6
FEWEST = 8  #: least occurrences of a word in the bundled text
MANY = 16  #: this many make a better picture


@dataclass(frozen=True)
class Tried:
    """A word, how its labelled sentences were grouped, and the sentences to show."""

    word: str
    right: float
    fit: float
    names: dict[str, tuple[str, ...]]  #: by sense
    sentences: tuple[str, str]  #: one for each sense, with the word in brackets
    occurrences: int  #: on the map
    margin: float  #: how much more similar occurrences are within a group than between groups, top layer

    @property
    def passes(self) -> bool:
        return self.right >= RIGHT and self.fit >= FIT


def try_word(elmo: Elmo, word: AmbiguousWord, uses: Uses, found: SenseMap) -> Tried | None:
    """Assign the labelled sentences to the groups of a map; None if the two senses do not get separate groups."""
    lexicon = lexicon_or_none(elmo)
    alike = uses.similarities(found.uses, "sense")  # [8, n]
    sizes = np.bincount(found.labels)
    means = np.stack([np.bincount(found.labels, row) / sizes for row in alike])  # [8, groups]
    groups, senses = means.argmax(axis=1), np.array(word.senses)
    both = list(dict.fromkeys(word.senses))
    home = {sense: Counter(groups[senses == sense].tolist()).most_common(1)[0][0] for sense in both}
    if len(set(home.values())) < 2:
        return None
    right = np.array([home[sense] == group for sense, group in zip(senses, groups, strict=True)])
    names = {sense: found.groups[home[sense]].names for sense in both}
    fit = [_fits(uses.substitutes, number, names, sense, lexicon) for number, sense in enumerate(word.senses)]
    clear = [
        means[number, home[sense]] - np.delete(means[number], home[sense]).max() for number, sense in enumerate(senses)
    ]
    best = [max(np.flatnonzero((senses == sense) & right).tolist(), key=lambda number: clear[number]) for sense in both]
    first, second = (word.sentences[number] for number in best)
    return Tried(
        word.word, float(right.mean()), float(np.mean(fit)), names, (first, second), len(found.labels), _margin(found)
    )


def _margin(found: SenseMap) -> float:
    cosines = found.uses.similarities(found.uses, "word")  # [n, n]
    alike = found.labels[:, None] == found.labels
    pairs = np.triu(np.ones_like(alike), 1)
    return float(cosines[alike & pairs].mean() - cosines[~alike & pairs].mean())


def _fits(substitutes: Any, number: int, names: dict[str, tuple[str, ...]], sense: str, lexicon: Any) -> bool:
    """Whether the names of a sentence's own group have more weight among its substitutes than the other group's."""
    weights = dict(zip(substitutes.ids[number].tolist(), substitutes.weights[number].tolist(), strict=True))
    ids = {name: id_ for id_, name in enumerate(lexicon.words)}
    weigh = {one: sum(weights.get(ids[name], 0.0) for name in of) for one, of in names.items()}
    return weigh[sense] > max(weight for one, weight in weigh.items() if one != sense)


def try_words(elmo: Elmo) -> tuple[list[Tried], dict[str, OnTheMap]]:
    """The words of the model's language that can be shown, best first; and the map figures of every word."""
    lang = language_code(elmo.lang)
    text = shipped_text(lang)
    assert text is not None
    index = Index.in_memory(elmo, text.read_text(encoding="utf-8").splitlines())
    tried, placed = [], {}
    for word in read_senses(lang=lang):
        places = [find_place(elmo, text) for text in word.sentences]
        token = places[0].tokens[places[0].begin]
        occurrences = index.occurrences(token)
        if len(occurrences) >= FEWEST and lexicon_or_none(elmo) is not None:
            uses, found = read_uses(elmo, places, lexicon_or_none(elmo)), map_occurrences(elmo, token, occurrences)
            placed[word.word] = place_labelled(word.word, word.senses, uses, found)
            one = try_word(elmo, word, uses, found)
            tried += [one] if one is not None else []
    return sorted(tried, key=lambda one: (-one.right * one.fit, one.occurrences < MANY, -one.margin)), placed


def on_the_map(lang: str, placed: dict[str, OnTheMap], shown: Sequence[Tried]) -> dict[str, Any]:
    """Map figures of the words that nothing was chosen on, and of those that are shown."""
    _, reporting = split_halves(read_senses(lang=lang))
    return {
        "reporting": summarize([placed[word.word] for word in reporting if word.word in placed]),
        "shown": summarize([placed[one.word] for one in shown]),
    }


def as_example(one: Tried) -> dict[str, Any]:
    (first, at), (second, _) = (read_target(text) for text in one.sentences)
    assert at is not None
    return {"word": one.word, "first": first, "at": at[0], "second": second}


def page_of(examples: dict[str, list[dict[str, Any]]]) -> str:
    head = (
        "// Pairs of sentences to begin with, one word in two senses, written by benchmarks/explorer_examples.py: "
        "words\n// whose labelled sentences fall into the groups of the bundled model, the best first.\n\n"
    )
    body = json.dumps(examples, ensure_ascii=False, indent=2)
    return f"{head}export const EXAMPLES = {body};\n"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="LANG", help="one language; the examples of the others stay unchanged")
    chosen = parser.parse_args(arguments)
    results: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for model in [chosen.only] if chosen.only else bundled_models():
        elmo = Elmo.from_pretrained(model)
        tried, placed = try_words(elmo)
        passed = [one for one in tried if one.passes] or tried[:1]
        results[language_code(elmo.lang)] = {
            "fingerprint": elmo.stored.fingerprint(),
            "words_tried": len(tried),
            "words_that_pass": sum(one.passes for one in tried),
            "on_the_map": on_the_map(language_code(elmo.lang), placed, passed[:SHOWN]),
            "shown": [as_example(one) for one in passed[:SHOWN]],
            "tried": [
                {"word": one.word, "right": one.right, "fit": one.fit, "margin": one.margin, "names": one.names}
                for one in tried
            ],
        }
        print(model, [(one.word, one.right, one.fit, one.names) for one in passed[:SHOWN]], file=sys.stderr)
    for path, content in ((RESULTS, json.dumps(results, ensure_ascii=False, indent=1) + "\n"), (PAGE, "")):
        with replace_when_complete(path) as file:
            file.write((content or page_of({lang: one["shown"] for lang, one in results.items()})).encode())
    fill_in("serve.md", "map", write_rows(results))


if __name__ == "__main__":
    main()
