"""Put a trained model into the package: weights in float16, softmax in int8, and a card that says what it is made of.

    python benchmarks/bundle.py en --run RUN --data DIR [--words N]
    python benchmarks/bundle.py en --data DIR

RUN is a folder of ``polyseme pretrain``, DIR the one with corpora/. The unrounded model is kept in RUN/unrounded for
``benchmarks/models.py --float32``. Without RUN, only the card of the bundled model is written again: once the model has
been measured, the card includes the figures for these weights.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from models import RESULTS
from models_page import MODELS, TITLES, layer_name, write_page
from polyseme.formats.model import SoftmaxWeights, StoredModel
from polyseme.formats.native import SCALES, WEIGHTS, SoftmaxDtype, load_native, save_native
from polyseme.formats.safetensors_file import open_safetensors
from polyseme.pretrain.training.base import BEFORE
from polyseme.reproduce.knowledge import language_model_digest
from polyseme.text.vocabulary import Vocabulary

LARGEST = 30_000_000  # bytes of a bundled model
#: Wikipedia's CC BY-SA 3.0 allows its later version. CDLA-Sharing (Topical-Chat) binds those who share the data, not
#: those who publish results computed from them; the others require less.
LICENCE = {"licence": "CC-BY-SA-4.0", "licence_text": "https://creativecommons.org/licenses/by-sa/4.0/"}
#: How text is split, for people; the card's field "tokenization" is for programs.
WORDS = {
    "en": "as in UD English: do n't, Bush 's, well - known; upper and lower case are kept",
    "ko": "morphemes, by polyseme's own tagger: nouns are split from particles and stems from endings, where they meet "
    "between two syllables; a token from another tokenizer gets the mean of its morphemes",
    "zh": "as in UD Chinese, by polyseme's own tagger; simplified and traditional text are not converted",
}
TEXTS = {
    "en": "mostly Wikipedia, with some everyday sentences and dialogue, read twice, and older prose; little slang, no "
    "code, no names of recent years",
    "ko": "nine tenths Wikipedia, with some film reviews, technical documentation and everyday sentences, the reviews "
    "and everyday sentences read twice",
    "zh": "mostly Wikipedia in both scripts, as it was written; dialogue and everyday sentences, read twice, stories "
    "and documentation in simplified characters only",
}
BIAS = (
    "it repeats what its texts say about people: it links occupations, nationalities and genders as they do, even "
    "where that is unjust"
)
OLD_PROSE = "; older prose adds the views of its time"
LIMITS = {
    "size": "a small model, trained for hours on two cores; larger models of this kind know far more",
    "use": "word vectors, probabilities of words, teaching and research; not for decisions about people",
}
#: What happened in a run but is neither in its recipe nor in its journal.
NOTES = {
    "en": {
        "widened": "the first 80 million tokens were read by a model with vectors of 256 numbers, which was widened to "
        "512 without changing its predictions (benchmarks/widen.py); its learning rate was 0.004 for the first 24 "
        "million tokens, and 0.002 after that",
        "changed": "the next 38.5 million tokens had a learning rate of at most 0.003, which fell to almost zero in "
        "the end; over the last 46 million it fell again, from 0.0025 to almost zero (that run was planned for "
        "83 million tokens, then for 54, 50 and 46)",
    },
    "ko": {
        "changed": "the budget was 110 million units until 28 million had been seen, and 36 million after that; at "
        "that point the learning rate fell from 0.0035 to 0.0006; over the last 35 million it rose to 0.003 and fell "
        "to almost zero (that run was planned for 64 million units, then for 43 and 35)"
    },
    "zh": {
        "widened": "the first 30 million tokens were read by a model with vectors of 256 numbers, which was widened to "
        "512 without changing its predictions (benchmarks/widen.py)",
        "changed": "the learning rate was 0.003 at most; after 21 million of the last tokens it fell to almost zero",
        "held_out_text": "from 14 to 30 million tokens, another sample of the same articles in both scripts; after "
        "that, simplified text only",
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lang", choices=TITLES)
    parser.add_argument("--run", type=Path, help="the run that made it; without it, only the card is written again")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--words", type=int, help="keep only so many words of the softmax, the most frequent")
    options = parser.parse_args()
    folder = MODELS / options.lang
    model = load_native(folder) if options.run is None else unrounded(options.run, options.words)
    softmax: SoftmaxDtype = "int8" if options.run else softmax_dtype(folder)
    with TemporaryDirectory() as place:
        save_native(model, Path(place, "rounded"), "float16", softmax=softmax)
        stored = load_native(Path(place, "rounded"))
        made = replace(stored, card=card(options.lang, stored, options.data))
        save_native(made, Path(place, "bundled"), "float16", softmax=softmax)
        size = sum(path.stat().st_size for path in Path(place, "bundled").iterdir())
    if size > LARGEST:
        raise SystemExit(f"the model would have {size:,} bytes, but {LARGEST:,} at most are wanted: give --words")
    save_native(made, folder, "float16", softmax=softmax)
    print(f"{folder}: {size / 1e6:.1f} MB, {made.card['training']['tokens_seen']:,} tokens seen")
    write_page(RESULTS)


def softmax_dtype(folder: Path) -> SoftmaxDtype:
    """How a bundled model stores its softmax, since a new card leaves the weights unchanged."""
    with open_safetensors(folder / WEIGHTS) as file:
        return "int8" if SCALES in file.arrays else "float16"


def unrounded(run: Path, words: int | None) -> StoredModel:
    """The model of a run, with fewer words if wanted; it is also saved beside the run."""
    trained = load_native(run / "model")
    training = trained.card["training"]
    training["held_out"]["words"] = len(trained.vocabulary or ())  # a perplexity is for one vocabulary
    model = most_frequent_words(trained, words) if words else trained
    save_native(model, run / "unrounded", "float32")
    return model


def most_frequent_words(stored: StoredModel, count: int) -> StoredModel:
    """A model whose softmax has ``count`` words; the others, which come last, become unknown."""
    words, softmax = stored.vocabulary, stored.softmax
    assert words is not None and words.counts is not None and softmax is not None and softmax.clusters is None
    fewer = Vocabulary.build(dict(zip(words.words, words.counts, strict=True)), size=count)
    assert fewer.words == words.words[:count]
    kept = SoftmaxWeights(softmax.weight[:count], softmax.bias[:count])
    return replace(stored, vocabulary=fewer, softmax=kept)


def card(lang: str, stored: StoredModel, data: Path) -> dict[str, Any]:
    """The card: everything that the run recorded, and our notes; ``stored`` has the rounded weights."""
    told = with_its_base(stored.card)
    bias = BIAS if lang == "ko" else BIAS + OLD_PROSE
    return {
        **told,
        "training": told["training"] | NOTES.get(lang, {}),
        "name": f"polyseme-{lang}",
        "description": f"The {TITLES[lang]} model that comes with polyseme: `Elmo.from_pretrained({lang!r})`.",
        "words": WORDS[lang],
        **LICENCE,
        "measured": measured(lang, stored),
        "limits": {"text": TEXTS[lang], "bias": bias, **LIMITS},
        "sources": sources(told["training"]["data"], lang, data),
    }


def with_its_base(card: dict[str, Any]) -> dict[str, Any]:
    """The card of a model continued from another: tokens, hours and curve of both, in sequence."""
    before = card.get(BEFORE, {})
    if "curve" not in before:  # trained in one run, or already merged
        return card
    first, now = before["training"], card["training"]
    training = dict(now)
    for name in ("tokens_seen", "hours"):
        training[name] = round(first[name] + now[name], 2)
    later = [{**point, "tokens_seen": first["tokens_seen"] + point["tokens_seen"]} for point in card["curve"]]
    return {
        **card,
        "training": {"recipe_of_the_last": f"{now['tokens_seen']:,} tokens", **training},
        "curve": [*before["curve"], *later],
        BEFORE: {name: value for name, value in before.items() if name != "curve"},
    }


def sources(names: list[str], lang: str, data: Path) -> list[dict[str, str]]:
    """The source of each training text, and its licence."""
    manifest = json.loads((data / "corpora/manifest.json").read_text(encoding="utf-8"))
    by_name = {entry["file"]: entry for entry in manifest["files"]}
    entries = [by_name[f"{lang}/{name}"] for name in dict.fromkeys(names)]  # a text may be read twice
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
    """The main figures of benchmarks/models.py, if measured with these weights; else a note on where to find others."""
    path = RESULTS / f"model-{lang}.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if found.get("digest") != language_model_digest(stored):
        return {"figures": "none yet; for those of the run, see training"}
    parts = found["parts"]
    figures: dict[str, Any] = {"more": "docs/models.md"}
    if "perplexity" in parts:
        figures["perplexity"] = {name: one["average"] for name, one in parts["perplexity"]["files"].items()}
    if "senses" in parts:
        figures["same_sense_nearer"] = by_layer([one["share"] for one in parts["senses"]["layers"]])
    if "wsd" in parts:
        for name, part in parts["wsd"]["layers"].items():
            figures[f"word_senses_{name}_f1"] = by_layer(part["f1"]) | {"first sense": part["first_sense"]}
    for name, part in parts.items():
        if name.startswith("pos-"):
            treebank = name.removeprefix("pos-").replace("_", "-")
            figures[f"probe_{treebank}_dev"] = by_layer(part["layers"]["dev"])
    return figures


def by_layer(values: list[float]) -> dict[str, float]:
    return {layer_name(number): value for number, value in enumerate(values)}


if __name__ == "__main__":
    main()
