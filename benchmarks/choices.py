"""The choices of a recipe that matter most, in equal CPU time: size, learning rate, vocabulary, the unit of a language.

    python benchmarks/choices.py --data DIR --work FOLDER [--minutes 6] [--threads 2] [--only NAME …]

Each choice first trains for a short while to learn its speed, then anew for as many tokens as fit into the minutes.
Minutes and seconds are those of one core that works for the run, so that other work on the machine does not count.
What is finished is kept in FOLDER, so the command can be stopped; results/choices.json and the table of docs/models.md
are written from all that is there. Perplexities of different units or vocabularies cannot be compared; bits per byte
can, as far as few tokens are unknown, the probe of parts of speech on dev can, and so can the share of senses.tsv (all
words) and of pseudo-words in which the same sense is nearer.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pages import fill_in, table
from polyseme.elmo import Elmo
from polyseme.formats.detect import load
from polyseme.jobs.atomic import replace_when_complete
from polyseme.pretrain.corpus.preparation import prepare
from polyseme.pretrain.recipe import change_recipe, load_recipe
from polyseme.pretrain.training.open_run import Watch
from polyseme.pretrain.training.pretraining import pretrain
from polyseme.pretrain.training.run_plan import RunPlan
from polyseme.probes.frozen import BiLMVectors, Floats, Tokens
from polyseme.reproduce.knowledge import measure_likelihood, measure_probe, read_splits
from polyseme.tasks.data_files import find_data
from polyseme.text.readers import read_documents
from polyseme.text.tokenization import split_text
from senses import measure_readouts

RESULTS = Path(__file__).parent / "results/choices.json"
CALIBRATION_TOKENS = 150_000
HELD_OUT_TOKENS = 60_000
VALIDATION_TOKENS = 2_000  # that a run itself looks at: what counts is measured after it
SENTENCES = 4_000  # of the treebank that the probe is trained on
#: What ends a Korean word and is a word by itself to grammar, behind two syllables at least: of shorter words many only
#: look as if they had a particle (마을). No list is complete.
PARTICLE = re.compile(
    "(?<=..)(?:은|는|이|가|을|를|의|에|도|만|로|과|와|나|에서|에게|한테|으로|까지|부터|보다|처럼|이나|에는|에도|에서는|에서도"
    "|으로는|으로도|에게는|에게서|로서|으로서|로써|으로써|이라고|라고|이라는|라는|이며|이고|이다|였다|이었다)$"
)

Unit = Literal["word", "character", "particle"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing done in one way; all else as in the recipe compact without dropout."""

    name: str
    lang: str
    words: int  #: of the softmax
    changes: tuple[str, ...] = ()
    unit: Unit = "word"  #: of the text: a word, each Han character or Hangul syllable, a word without its particle
    twice: bool = False  #: everyday text, dialogue and novels are read twice, the encyclopaedia once


KOREAN_CHARACTERS = ("model.input=unicode", "model.filters=[[1,64],[2,128],[3,160],[4,160]]")
CHOICES = (
    Choice("en, rate 0.002", "en", 80_000, ("optimizer.rate=0.002",)),
    Choice("en, rate 0.004", "en", 80_000),
    Choice("en, rate 0.008", "en", 80_000, ("optimizer.rate=0.008",)),
    Choice("en, 50,000 words", "en", 50_000),
    *(
        Choice(
            f"en, cells {cell}, vectors {2 * size}",
            "en",
            80_000,
            (f"model.cell={cell}", f"model.projection={size}"),
            twice=True,
        )
        for cell, size in ((512, 128), (512, 256), (1024, 128), (1024, 256))
    ),
    Choice("ko, words of bytes", "ko", 88_000),
    Choice("ko, words of bytes, 50,000", "ko", 50_000),
    Choice("ko, words of Unicode", "ko", 88_000, KOREAN_CHARACTERS),
    Choice(
        "ko, words of Unicode, particles apart",
        "ko",
        88_000,
        KOREAN_CHARACTERS,
        "particle",
    ),
    Choice("ko, syllables", "ko", 12_000, ("model.input=words", "softmax.kind=full"), "character"),
    Choice("zh, words of bytes", "zh", 88_000),
    Choice("zh, words of Unicode", "zh", 88_000, ("model.input=unicode", "model.filters=[[1,256],[2,192],[3,64]]")),
    Choice("zh, characters", "zh", 12_000, ("model.input=words", "softmax.kind=full"), "character"),
)
#: Names of files that are not the encyclopaedia, and few.
EVERYDAY = ("dialogue", "everyday", "novels", "reviews", "luxun")
TREEBANKS = {"en": "en_ewt", "ko": "ko_gsd", "zh": "zh_gsdsimp-derived-r1.3"}


@dataclass(frozen=True)
class ByPart:
    """Vectors of words from a model that reads parts of them: the mean over the parts of a word."""

    vectors: BiLMVectors
    unit: Unit

    @property
    def layers(self) -> int:
        return self.vectors.layers

    @property
    def width(self) -> int:
        return self.vectors.width

    def stream(self, sentences: Iterable[Tokens]) -> Iterator[Floats]:
        kept = [[parts_of(token, self.unit) for token in tokens] for tokens in sentences]
        for words, layers in zip(kept, self.vectors.stream([flat(words) for words in kept]), strict=True):
            counts = np.array([len(parts) for parts in words])
            begins = np.cumsum([0, *counts[:-1]])
            yield np.add.reduceat(layers, begins, axis=1) / counts[:, None].astype(np.float32)


def parts_of(token: str, unit: Unit) -> list[str]:
    """ "學校" → 學, 校; "사람들은" → 사, 람, 들, 은, or 사람들, 은; what is neither Han nor Hangul stays whole."""
    is_hangul = "\uac00" <= token[0] <= "\ud7a3"
    if unit == "character" and (is_hangul or "\u4e00" <= token[0] <= "\u9fff"):
        return list(token)
    if unit == "particle" and is_hangul and (found := PARTICLE.search(token)):
        return [token[: found.start()], found.group()]
    return [token]


def flat(words: Iterable[list[str]]) -> list[str]:
    return [part for parts in words for part in parts]


def measure(choice: Choice, data: Path, work: Path, minutes: float, threads: int) -> dict[str, Any]:
    """Train for so many minutes, and look at what was learnt."""
    held_out, corpus, lang = texts(choice, data, work)
    folder = work / choice.name.replace(",", "").replace(" ", "-")
    speed = calibrate(choice, corpus, held_out, folder, threads)  # tokens a second
    tokens = int(speed * minutes * 60)
    train(choice, corpus, held_out, folder / "run", tokens, threads)
    stored = load(folder / "run/model")
    likelihood = measure_likelihood(stored, held_out, lang=lang, most=HELD_OUT_TOKENS)
    vectors = ByPart(BiLMVectors(Elmo(stored, device="cpu")), choice.unit)
    splits = read_splits(
        find_data(data / "pos" / TREEBANKS[choice.lang], (".conllu",)), "upos", test=False, most=SENTENCES
    )
    probe = measure_probe(vectors, splits)
    return {
        "choice": choice.name,
        "minutes": minutes,
        "tokens_per_second": round(speed),
        "tokens_seen": tokens,
        "vocabulary": len(stored.vocabulary or ()),
        "held_out": likelihood.to_dict(),
        "probe": probe["dev"],
        **({"senses": sense_shares(Elmo(stored, device="cpu"), data)} if choice.unit == "word" else {}),
    }


def sense_shares(elmo: Elmo, data: Path) -> dict[str, dict[str, float]]:
    """How often the same sense is nearer, by set and readout."""
    found = measure_readouts(elmo, data)
    return {
        name: {
            readout: found[name][readout]["mean"] for readout in (f"layer {elmo.config.layers}", "place", "substitutes")
        }
        for name in ("all", "pseudo-words")
    }


def calibrate(choice: Choice, corpus: Path, held_out: Path, folder: Path, threads: int) -> float:
    """Tokens a second, of a short run that is not used otherwise."""
    path = folder / "speed.json"
    if not path.exists():
        moments: list[tuple[float, int]] = []
        watch = Watch(stepped=lambda report: moments.append((time.process_time(), report.tokens)))
        train(choice, corpus, held_out, folder / "calibration", CALIBRATION_TOKENS, threads, watch)
        begin, end = moments[len(moments) // 3], moments[-1]  # the first steps make kernels
        path.write_text(json.dumps((end[1] - begin[1]) / (end[0] - begin[0])))
    speed: float = json.loads(path.read_text())
    return speed


def train(
    choice: Choice, corpus: Path, held_out: Path, out: Path, tokens: int, threads: int, watch: Watch | None = None
) -> None:
    """A run of its own; one that was stopped goes on."""
    budget = {"tokens": tokens, "validate_every": tokens, "validate_on": VALIDATION_TOKENS}
    changes = [*choice.changes, *(f"budget.{name}={value}" for name, value in budget.items()), "dropout=0.0"]
    recipe = change_recipe(load_recipe("compact"), changes)
    plan = RunPlan(corpus, out, recipe, valid=held_out, threads=threads)
    pretrain(plan, resume=(out / "last.safetensors").exists(), watch=watch)


def texts(choice: Choice, data: Path, work: Path) -> tuple[Path, Path, str]:
    """The held-out text, the corpus to train on, and how both are split."""
    files = sorted((data / "corpora" / choice.lang).glob("*.txt*"))
    held_out = next(path for path in files if "heldout" in path.name)
    inputs, lang = [path for path in files if "heldout" not in path.name], choice.lang
    if choice.twice:
        inputs += [path for path in inputs if any(name in path.name for name in EVERYDAY)]
    if choice.unit != "word":
        held_out, *inputs = [write_parts(path, choice, work) for path in (held_out, *inputs)]
        lang = "whitespace"
    corpus = work / f"corpus-{choice.lang}-{choice.words}-{choice.unit}s{'-twice' if choice.twice else ''}"
    if not corpus.exists():
        prepare(inputs, corpus, lang=lang, vocabulary_size=choice.words)
    return held_out, corpus, lang


def write_parts(source: Path, choice: Choice, work: Path) -> Path:
    """The same text with spaces between the units, a sentence a line."""
    target = work / f"{choice.unit}s" / source.name.removesuffix(".xz")
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with replace_when_complete(target) as file:
            for document in read_documents([source]):
                for sentence in split_text(document.text or "", choice.lang):
                    words = map(partial(parts_of, unit=choice.unit), sentence.tokens)
                    file.write(f"{' '.join(flat(words))}\n".encode())
    return target


def in_order(found: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [found[choice.name] for choice in CHOICES if choice.name in found]


def write_page(rows: list[dict[str, Any]]) -> None:
    cells = [
        [
            row["choice"],
            f"{row['tokens_per_second']:,.0f}",
            f"{row['tokens_seen'] / 1e6:.2f} M",
            f"{row['vocabulary']:,}",
            f"{row['held_out']['unknown_rate']:.1%}",
            f"{row['held_out']['average']:.0f}",
            f"{row['held_out']['bits_per_byte']:.3f}",
            " / ".join(f"{100 * accuracy:.1f}" for accuracy in row["probe"]),
            *(
                " / ".join(f"{100 * share:.1f}" for share in row["senses"][name].values()) if "senses" in row else "–"
                for name in ("all", "pseudo-words")
            ),
        ]
        for row in rows
    ]
    head = ["choice", "tokens/s", "tokens seen", "words", "unknown", "perplexity", "bits per byte", "probe, by layer"]
    head += ["senses: top layer, place, substitutes", "pseudo-words"]
    minutes = ", ".join(sorted({f"{row['minutes']:g}" for row in rows}))
    fill_in("models.md", "choices", f"{minutes} minutes of one core each.\n\n{table(head, cells)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=6)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=[choice.name for choice in CHOICES], metavar="NAME")
    options = parser.parse_args()
    found = {row["choice"]: row for row in (json.loads(RESULTS.read_text()) if RESULTS.exists() else [])}
    for choice in CHOICES:
        if choice.name in options.only if options.only else choice.name not in found:
            print(choice.name, flush=True)
            found[choice.name] = measure(choice, options.data, options.work, options.minutes, options.threads)
            text = json.dumps(in_order(found), indent=1, ensure_ascii=False)
            RESULTS.write_text(f"{text}\n", encoding="utf-8")
    write_page(in_order(found))


if __name__ == "__main__":
    main()
