"""A trained model into the package: rounded to float16, with a card that says what it is made of.

    python benchmarks/bundle.py en --run RUN --data DIR [--words N]

RUN is the folder of ``polyseme pretrain``, DIR the one with corpora/. The model before rounding is in RUN/unrounded
then, for ``benchmarks/models.py --float32``. Run it again after that: the card then has the figures that belong to
these weights, and the weights stay the same to the byte.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from models import RESULTS
from models_page import write_page

from polyseme.analysis.reproduce.knowledge import language_model_digest
from polyseme.formats.detect import load
from polyseme.formats.model import StoredModel
from polyseme.formats.native import load_native, save_native
from polyseme.nn.softmax import SoftmaxWeights
from polyseme.text.vocabulary import Vocabulary

MODELS = Path(__file__).parents[1] / "src/polyseme/models"
LICENCE = "CC-BY-SA-4.0"  # the strictest of the sources is CC BY-SA 3.0, which allows its later version
NAMES = {"en": "English", "ko": "Korean", "zh": "Chinese"}
TEXTS = {
    "en": "mostly Wikipedia, with some everyday sentences, dialogue and older prose; little slang, no code, no names "
    "of recent years",
    "ko": "nine tenths Wikipedia, with some film reviews, technical documentation and everyday sentences; words are "
    "what stands between spaces, so that one in five is too rare for the softmax",
    "zh": "mostly Wikipedia in both scripts, as it was written; dialogue, everyday sentences, stories and "
    "documentation in simplified characters only",
}
LIMITS = {
    "size": "a small model, trained for hours on two cores; larger ones of the same kind know far more",
    "bias": "it repeats what its texts say of people: occupations, nationalities and genders are tied together as they "
    "are there, also where that is unjust; older prose adds the views of its time",
    "use": "word vectors, probabilities of words, teaching and research; not for decisions about people",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lang", choices=NAMES)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--words", type=int, help="keep so many of the softmax, the most frequent: a smaller file")
    options = parser.parse_args()
    folder = MODELS / options.lang
    folder.parent.mkdir(exist_ok=True)
    trained = load_native(options.run / "model")
    unrounded = most_frequent_words(trained, options.words) if options.words else trained
    save_native(unrounded, options.run / "unrounded", "float32")
    save_native(unrounded, folder, "float16")
    stored = load(folder)
    save_native(replace(stored, card=card(options.lang, stored, options.data)), folder, "float16")
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{folder}: {size / 1e6:.1f} MB, {stored.card['training']['tokens_seen']:,} tokens seen")
    write_page(RESULTS)


def most_frequent_words(stored: StoredModel, count: int) -> StoredModel:
    """A model whose softmax knows ``count`` words; the others, which stand at the end, count as unknown."""
    words, softmax = stored.vocabulary, stored.softmax
    assert words is not None and words.counts is not None and softmax is not None and softmax.clusters is None
    fewer = Vocabulary.build(dict(zip(words.words, words.counts, strict=True)), size=count)
    assert fewer.words == words.words[:count]
    kept = SoftmaxWeights(softmax.weight[:count].clone(), softmax.bias[:count].clone())
    return replace(stored, vocabulary=fewer, softmax=kept)


def card(lang: str, stored: StoredModel, data: Path) -> dict[str, Any]:
    """Everything that the run wrote, and what only we know; ``stored`` has the rounded weights."""
    return {
        **with_its_base(stored.card),
        "name": f"polyseme-{lang}",
        "description": f"The {NAMES[lang]} model that comes with polyseme.",
        "licence": LICENCE,
        "measured": measured(lang, stored),
        "limits": {"text": TEXTS[lang], **LIMITS},
        "sources": sources(stored.card["training"]["data"], lang, data),
    }


def with_its_base(card: dict[str, Any]) -> dict[str, Any]:
    """The card of a model that goes on from another: tokens, hours and curve of both, one after the other."""
    if "base" not in card:
        return card
    before, now = card["base"]["training"], card["training"]
    both = {name: round(before[name] + now[name], 2) for name in ("tokens_seen", "hours")}
    later = [{**point, "tokens_seen": before["tokens_seen"] + point["tokens_seen"]} for point in card["curve"]]
    curve = [*card["base"]["curve"], *later]
    base = {name: value for name, value in card["base"].items() if name != "curve"}
    return {**card, "training": now | both, "curve": curve, "base": base}


def sources(names: list[str], lang: str, data: Path) -> list[dict[str, str]]:
    """Where each training text comes from, and its licence."""
    manifest = json.loads((data / "corpora/manifest.json").read_text(encoding="utf-8"))
    by_name = {entry["file"]: entry for entry in manifest["files"]}
    entries = [by_name[f"{lang}/{name}"] for name in names]
    return [
        {
            "text": entry["file"].split("/")[1].removesuffix(".txt.xz"),
            "from": "; ".join(
                f"{one['what'].split(' (')[0]} ({one['repository']} {one['commit'][:12]})" for one in entry["source"]
            ),
            "licence": entry["licence"],
        }
        for entry in entries
    ]


def measured(lang: str, stored: StoredModel) -> dict[str, Any]:
    """The main figures of benchmarks/models.py, if they were made with these weights; else where to look for some."""
    path = RESULTS / f"model-{lang}.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if found.get("digest") != language_model_digest(stored):
        return {"figures": "none yet; those of the run stand under training"}
    parts = found["parts"]
    figures: dict[str, Any] = {"more": "docs/models.md"}
    if "perplexity" in parts:
        figures["perplexity"] = {name: one["average"] for name, one in parts["perplexity"]["files"].items()}
    if "senses" in parts:
        figures["ambiguous_words_told_apart"] = [one["share"] for one in parts["senses"]["layers"]]
    for name, part in parts.items():
        if name.startswith("pos-"):
            figures[f"probe_{name.removeprefix('pos-')}"] = part["layers"]["dev"]
    return figures


if __name__ == "__main__":
    main()
