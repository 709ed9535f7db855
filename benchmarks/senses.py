"""How well models tell the senses of a word apart, by one command: every figure of docs/senses.md.

    python benchmarks/senses.py                                        the bundled models → results/senses.json, docs
    python benchmarks/senses.py --model RUN --only readouts --json out.json      any models, beside each other

What is chosen is chosen on the choosing half of senses.tsv, what is reported comes from the reporting half. Parts that
need data sets which are not there are left out, and the result says why.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from group_names import measure_names
from induction import PSEUDO_USES, halves_by_name, raganato_words, score_methods, semcor_words
from neighbour_precision import measure_any_word, same_word_figures
from polyseme.elmo import Elmo
from polyseme.encoding import Floats
from polyseme.formats.releases.known import bundled_models
from polyseme.jobs.atomic import replace_when_complete
from polyseme.lm.places import find_place
from polyseme.senses.labelled import AmbiguousWord, mean_interval, read_senses, split_halves, triplet_accuracy
from polyseme.senses.sense import lexicon_or_none
from polyseme.senses.uses import Uses, read_uses
from pseudo_words import USES, LabelledUses, make_pseudo_words, read_sentences
from sense_speed import measure_speed
from senses_page import write_page
from shared_data import DATA
from shift_figures import measure_shifts
from wsd_readouts import measure_wsd

Figures = dict[str, Any]

RESULTS = Path(__file__).parent / "results" / "senses.json"
PSEUDO_WORDS = 400
MANY_USES_WORDS = 60  #: pseudo-words with uses enough to be grouped
#: Texts that no model was trained on; pseudo-words are made within one file, because scripts are not to be mixed.
HELD_OUT = {
    "en": ("enwiki-heldout",),
    "ko": ("kowiki-heldout",),
    "zh": ("zhwiki-heldout-Hans", "zhwiki-heldout-Hant"),
}


def language_of(elmo: Elmo) -> str:
    """The language of the words that a model is asked about: "ko" for "ko-eojeol"."""
    return elmo.lang.partition("-")[0]


def labelled_words(elmo: Elmo, words: Sequence[AmbiguousWord]) -> list[LabelledUses]:
    """The words of senses.tsv in a model's tokens."""
    return [
        LabelledUses(one.word, one.senses, tuple(find_place(elmo, text) for text in one.sentences)) for one in words
    ]


def readout_shares(elmo: Elmo, words: Sequence[LabelledUses]) -> dict[str, list[float]]:
    """The share of right triplets of each word, by readout."""
    shares: dict[str, list[float]] = {}
    every = read_uses(elmo, [place for word in words for place in word.places], lexicon_or_none(elmo))
    begin = 0
    for word in words:
        uses = every[begin : begin + len(word.places)]
        begin += len(word.places)
        for name, similarity in similarities(uses).items():
            shares.setdefault(name, []).append(triplet_accuracy(similarity, word.senses))
    return shares


def similarities(uses: Uses) -> dict[str, Floats]:
    """How alike the uses are, by every readout. [n, n] each"""
    found = {f"layer {layer}": uses.similarities(uses, "word", layer) for layer in range(len(uses.word))}
    found |= {by: uses.similarities(uses, by) for by in ("place", "sentence")}
    if uses.substitutes is not None:
        if uses.topic is not None:
            found["topic"] = uses.similarities(uses, "topic")
        found["substitutes"] = uses.similarities(uses, "substitutes")
        found["sense"] = uses.similarities(uses, "sense")
    return found


def measure_readouts(elmo: Elmo, data: Path) -> Figures:
    """Shares of right triplets with their intervals: senses.tsv, its halves, pseudo-words."""
    lang = language_of(elmo)
    halves = dict(zip(("choosing", "reporting"), split_halves(read_senses(lang=lang)), strict=True))
    by_half = {name: readout_shares(elmo, labelled_words(elmo, words)) for name, words in halves.items()}
    found: Figures = {name: estimates(shares) for name, shares in by_half.items()}
    found["all"] = estimates(
        {name: by_half["choosing"][name] + by_half["reporting"][name] for name in by_half["choosing"]}
    )
    found["words"] = {
        name: {word.word: round(share, 3) for word, share in zip(words, by_half[name]["substitutes"], strict=True)}
        for name, words in halves.items()
        if "substitutes" in by_half[name]
    }
    pseudo = pseudo_words(data, lang, elmo.lang)
    found["pseudo-words"] = pseudo if isinstance(pseudo, str) else estimates(readout_shares(elmo, pseudo))
    return found


def measure_induction(elmo: Elmo, data: Path) -> Figures:
    """Agreement of groups with labelled senses, by method: on the words for choosing and on those for reporting."""
    lang = language_of(elmo)
    halves = dict(zip(("choosing", "reporting"), split_halves(read_senses(lang=lang)), strict=True))
    sets: dict[str, dict[str, list[LabelledUses]] | str] = {
        "senses.tsv": {name: labelled_words(elmo, words) for name, words in halves.items()}
    }
    pseudo = pseudo_words(data, lang, elmo.lang, MANY_USES_WORDS, PSEUDO_USES)
    sets["pseudo-words"] = pseudo if isinstance(pseudo, str) else halves_by_name(pseudo)
    if lang == "en":
        there = (data / "wsd").exists()
        absent = f"left out: there is no {data}/wsd"
        sets["SemCor"] = halves_by_name(semcor_words(data / "wsd")) if there else absent
        sets["Raganato"] = {"reporting": raganato_words(data / "wsd")} if there else absent
    return {
        name: words if isinstance(words, str) else {half: score_methods(elmo, those) for half, those in words.items()}
        for name, words in sets.items()
    }


def pseudo_words(
    data: Path, lang: str, tokenization: str, most: int = PSEUDO_WORDS, each: int = USES
) -> list[LabelledUses] | str:
    """Made from held-out text; or why there are none."""
    paths = [data / "corpora" / lang / f"{name}.txt.xz" for name in HELD_OUT.get(lang, ())]
    if not paths or not all(path.exists() for path in paths):
        return f"left out: there is no held-out text of the language {lang!r} below {data}"
    share = most // len(paths)
    texts = (read_sentences([path], tokenization) for path in paths)
    found = [one for text in texts for one in make_pseudo_words(text, share, each=each)]
    return found or f"left out: the held-out text of {lang!r} has too few words with {each} uses"


def estimates(shares: dict[str, list[float]]) -> Figures:
    return {
        name: {key: round(value, 4) for key, value in asdict(mean_interval(every)).items()}
        for name, every in shares.items()
    }


def measure_neighbours(elmo: Elmo, data: Path) -> Figures:
    """How often the nearest use has the right sense: among uses of the same word, and of any word."""
    halves = dict(zip(("choosing", "reporting"), split_halves(read_senses(lang=language_of(elmo))), strict=True))
    found: Figures = {}
    for half, words in halves.items():
        labelled = labelled_words(elmo, words)
        every = read_uses(elmo, [place for word in labelled for place in word.places], lexicon_or_none(elmo))
        found[half] = estimates(same_word_figures(every, labelled))
    there = elmo.lang == "en" and (data / "wsd").exists()
    left_out = "left out: needs English and its annotated senses (wsd)"
    found["any word"] = measure_any_word(elmo, data / "wsd") if there else left_out
    return found


PARTS: dict[str, Callable[[Elmo, Path], Figures | str]] = {
    "readouts": measure_readouts,
    "neighbours": measure_neighbours,
    "induction": measure_induction,
    "names": measure_names,
    "speed": measure_speed,
    "wsd": measure_wsd,
    "shift": measure_shifts,
}


def measure(models: Sequence[str], parts: Sequence[str], data: Path) -> Figures:
    found: Figures = {}
    for model in models:
        elmo = Elmo.from_pretrained(model, device="cpu")
        found[model] = {"lang": elmo.lang, "width": elmo.config.width, "cell": elmo.config.cell}
        for part in parts:
            began, cpu = time.perf_counter(), time.process_time()
            found[model][part] = PARTS[part](elmo, data)
            spent = {"seconds": round(time.perf_counter() - began, 1), "cpu": round(time.process_time() - cpu, 1)}
            found[model].setdefault("spent", {})[part] = spent
            print(f"{model}: {part}, {spent['seconds']} s, {spent['cpu']} s of CPU", flush=True)
    return found


def print_readouts(found: Figures) -> None:
    """A line for each model and readout, by set."""
    sets = ("choosing", "reporting", "all", "pseudo-words")
    print(f"{'':<42}" + "".join(f"{name:>22}" for name in sets))
    for model, figures in found.items():
        for readout in figures["readouts"]["all"]:
            cells = []
            for name in sets:
                one = figures["readouts"][name]
                one = one.get(readout) if isinstance(one, dict) else None
                cells.append(f"{one['mean']:.3f} [{one['low']:.3f}, {one['high']:.3f}]" if one else "–")
            print(f"{Path(model).name[:20]:<10}{readout:<32}" + "".join(f"{cell:>22}" for cell in cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--model", action="append", help="what Elmo.from_pretrained takes; the bundled ones unless given"
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--json", type=Path, default=RESULTS)
    options = parser.parse_args()
    for model in options.model or list(bundled_models()):
        for part in options.only:  # what is measured is kept, though a later part may be stopped
            found = measure([model], [part], options.data)
            if part == "readouts":
                print_readouts(found)
            save(found, options.json)


def save(found: Figures, path: Path) -> None:
    """Beside what the file has: other models, and parts that were not measured now, stay as they were."""
    earlier = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    every = {**earlier, **{model: _beside(earlier.get(model, {}), figures) for model, figures in found.items()}}
    with replace_when_complete(path) as file:
        file.write((json.dumps(every, indent=1, ensure_ascii=False) + "\n").encode())
    if path == RESULTS:
        write_page(every)


def _beside(earlier: Figures, now: Figures) -> Figures:
    return {**earlier, **now, "spent": {**earlier.get("spent", {}), **now.get("spent", {})}}


if __name__ == "__main__":
    main()
