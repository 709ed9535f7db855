"""The choices of a recipe that matter most, in equal CPU time: learning rate, vocabulary, the unit of a language.

    python benchmarks/choices.py --data DIR --work FOLDER [--minutes 6] [--only NAME …]

Each choice first trains for a short while to learn its speed, then anew for as many tokens as fit into the minutes.
Minutes and seconds are those of one core that works for the run, so that other work on the machine does not count.
What is finished is kept in FOLDER, so the command can be stopped; results/choices.json and the table of docs/models.md
are written from all that is there. Perplexities of different units or vocabularies cannot be compared; bits per byte
can, as far as few tokens are unknown, and the probe of parts of speech on dev can.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pages import fill_in, table

from polyseme.analysis.reproduce.knowledge import measure_likelihood, measure_probe, read_splits
from polyseme.elmo import Elmo
from polyseme.files.atomic import replace_when_complete
from polyseme.formats.detect import load
from polyseme.pretrain.prepare import prepare
from polyseme.pretrain.recipe import change_recipe, load_recipe
from polyseme.pretrain.run import RunPlan, Watch, pretrain
from polyseme.tasks.data_files import find_data
from polyseme.tasks.frozen import BiLMVectors, Floats, Tokens
from polyseme.text.readers import read_documents
from polyseme.text.tokenization import split_text

RESULTS = Path(__file__).parent / "results/choices.json"
CALIBRATION_TOKENS = 150_000
HELD_OUT_TOKENS = 60_000
VALIDATION_TOKENS = 2_000  # that a run itself looks at: what counts is measured after it
SENTENCES = 4_000  # of the treebank that the probe is trained on


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing done in one way; all else as in the recipe compact without dropout."""

    name: str
    lang: str
    words: int  #: of the softmax
    changes: tuple[str, ...] = ()
    characters: bool = False  #: every Han character is a token


CHOICES = (
    Choice("en, rate 0.002", "en", 80_000, ("optimizer.rate=0.002",)),
    Choice("en, rate 0.004", "en", 80_000),
    Choice("en, rate 0.008", "en", 80_000, ("optimizer.rate=0.008",)),
    Choice("en, 50,000 words", "en", 50_000),
    Choice("ko, words of bytes", "ko", 88_000),
    Choice("ko, words of bytes, 50,000", "ko", 50_000),
    Choice(
        "ko, words of Unicode", "ko", 88_000, ("model.input=unicode", "model.filters=[[1,64],[2,128],[3,160],[4,160]]")
    ),
    Choice("zh, words of bytes", "zh", 88_000),
    Choice("zh, words of Unicode", "zh", 88_000, ("model.input=unicode", "model.filters=[[1,256],[2,192],[3,64]]")),
    Choice("zh, characters", "zh", 12_000, ("model.input=words", "softmax.kind=full"), characters=True),
)
TREEBANKS = {"en": "en_ewt", "ko": "ko_gsd", "zh": "zh_gsdsimp-derived-r1.3"}


@dataclass(frozen=True)
class ByCharacter:
    """Vectors of words from a model that reads single characters: the mean over the characters of a word."""

    vectors: BiLMVectors

    @property
    def layers(self) -> int:
        return self.vectors.layers

    @property
    def width(self) -> int:
        return self.vectors.width

    def stream(self, sentences: Iterable[Tokens]) -> Iterator[Floats]:
        kept = list(sentences)
        for tokens, layers in zip(kept, self.vectors.stream([apart(tokens) for tokens in kept]), strict=True):
            begins = np.cumsum([0, *(len(apart([token])) for token in tokens[:-1])])
            counts = np.diff([*begins, layers.shape[1]])
            yield np.add.reduceat(layers, begins, axis=1) / counts[:, None].astype(np.float32)


def apart(tokens: Tokens) -> list[str]:
    """Han characters one by one, other tokens as they are."""
    return [part for token in tokens for part in (token if "\u4e00" <= token[0] <= "\u9fff" else [token])]


def measure(choice: Choice, data: Path, work: Path, minutes: float) -> dict[str, Any]:
    """Train for so many minutes, and look at what was learnt."""
    held_out, corpus, lang = texts(choice, data, work)
    folder = work / choice.name.replace(",", "").replace(" ", "-")
    speed = calibrate(choice, corpus, held_out, folder)  # tokens a second
    tokens = int(speed * minutes * 60)
    train(choice, corpus, held_out, folder / "run", tokens)
    stored = load(folder / "run/model")
    likelihood = measure_likelihood(stored, held_out, lang=lang, most=HELD_OUT_TOKENS)
    vectors = BiLMVectors(Elmo(stored, device="cpu"))
    splits = read_splits(
        find_data(data / "pos" / TREEBANKS[choice.lang], (".conllu",)), "upos", test=False, most=SENTENCES
    )
    probe = measure_probe(ByCharacter(vectors) if choice.characters else vectors, splits)
    return {
        "choice": choice.name,
        "minutes": minutes,
        "tokens_per_second": round(speed),
        "tokens_seen": tokens,
        "vocabulary": len(stored.vocabulary or ()),
        "held_out": likelihood.to_dict(),
        "probe": probe["dev"],
    }


def calibrate(choice: Choice, corpus: Path, held_out: Path, folder: Path) -> float:
    """Tokens a second, of a short run that is not used otherwise."""
    path = folder / "speed.json"
    if not path.exists():
        moments: list[tuple[float, int]] = []
        watch = Watch(stepped=lambda report: moments.append((time.process_time(), report.tokens)))
        train(choice, corpus, held_out, folder / "calibration", CALIBRATION_TOKENS, watch)
        begin, end = moments[len(moments) // 3], moments[-1]  # the first steps make kernels
        path.write_text(json.dumps((end[1] - begin[1]) / (end[0] - begin[0])))
    speed: float = json.loads(path.read_text())
    return speed


def train(choice: Choice, corpus: Path, held_out: Path, out: Path, tokens: int, watch: Watch | None = None) -> None:
    """A run of its own; one that was stopped goes on."""
    budget = {"tokens": tokens, "validate_every": tokens, "validate_on": VALIDATION_TOKENS}
    changes = [*choice.changes, *(f"budget.{name}={value}" for name, value in budget.items()), "dropout=0.0"]
    recipe = change_recipe(load_recipe("compact"), changes)
    plan = RunPlan(corpus, out, recipe, valid=held_out, threads=1)
    pretrain(plan, resume=(out / "last.safetensors").exists(), watch=watch)


def texts(choice: Choice, data: Path, work: Path) -> tuple[Path, Path, str]:
    """The held-out text, the corpus to train on, and how both are split."""
    files = sorted((data / "corpora" / choice.lang).glob("*.txt*"))
    held_out = next(path for path in files if "heldout" in path.name)
    inputs, lang = [path for path in files if "heldout" not in path.name], choice.lang
    if choice.characters:
        held_out, *inputs = [write_characters(path, choice.lang, work) for path in (held_out, *inputs)]
        lang = "whitespace"
    corpus = work / f"corpus-{choice.lang}-{choice.words}{'-characters' if choice.characters else ''}"
    if not corpus.exists():
        prepare(inputs, corpus, lang=lang, vocabulary_size=choice.words)
    return held_out, corpus, lang


def write_characters(source: Path, lang: str, work: Path) -> Path:
    """The same text with spaces between characters, a sentence a line."""
    target = work / "characters" / source.name.removesuffix(".xz")
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with replace_when_complete(target) as file:
            for document in read_documents([source]):
                for sentence in split_text(document.text or "", lang):
                    file.write(f"{' '.join(apart(sentence.tokens))}\n".encode())
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
        ]
        for row in rows
    ]
    head = ["choice", "tokens/s", "tokens seen", "words", "unknown", "perplexity", "bits per byte", "probe, by layer"]
    minutes = ", ".join(sorted({f"{row['minutes']:g}" for row in rows}))
    fill_in("models.md", "choices", f"{minutes} minutes of one core each.\n\n{table(head, cells)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=6)
    parser.add_argument("--only", nargs="+", choices=[choice.name for choice in CHOICES], metavar="NAME")
    options = parser.parse_args()
    found = {row["choice"]: row for row in (json.loads(RESULTS.read_text()) if RESULTS.exists() else [])}
    for choice in CHOICES:
        if choice.name in options.only if options.only else choice.name not in found:
            print(choice.name, flush=True)
            found[choice.name] = measure(choice, options.data, options.work, options.minutes)
            text = json.dumps(in_order(found), indent=1, ensure_ascii=False)
            RESULTS.write_text(f"{text}\n", encoding="utf-8")
    write_page(in_order(found))


if __name__ == "__main__":
    main()
