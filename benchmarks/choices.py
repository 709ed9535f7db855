"""The choices of a recipe that matter most, in equal CPU time: unit and vocabulary, then size, then the recipe.

    python benchmarks/choices.py units|sizes|recipe --data DIR --work FOLDER [--minutes 6] [--threads 2] [--only NAME …]

Each choice first trains briefly to measure its speed, then again from the start for as many tokens as fit into the
minutes. Minutes and seconds are CPU time of one core, so other work on the machine does not count. Finished runs are
kept in FOLDER, so the command can be stopped; results/choices.json and the table in docs/models.md are written from all
of them. If started twice, the two processes share the work.

Perplexities of different units or vocabularies cannot be compared. Bits per byte can, if few tokens are unknown; so can
the part-of-speech probe on dev, how often the same sense is nearer in senses.tsv (all words) and for pseudo-words, and
word senses on the set that is reserved for choosing.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np

from choice_list import CHOICES, Choice, Question, Unit
from pages import fill_in, table
from polyseme.elmo import Elmo
from polyseme.errors import JobError
from polyseme.formats.detect import load
from polyseme.jobs.atomic import exclusive, in_turn, replace_when_complete
from polyseme.jobs.manifests import write_json
from polyseme.pretrain.corpus.preparation import prepare
from polyseme.pretrain.recipe import change_recipe, load_recipe
from polyseme.pretrain.training.open_run import Watch
from polyseme.pretrain.training.pretraining import pretrain
from polyseme.pretrain.training.run_plan import RunPlan
from polyseme.probes.frozen import BiLMVectors, Floats, Tokens
from polyseme.reproduce.knowledge import measure_likelihood, measure_probe, measure_word_senses, read_splits
from polyseme.tasks.data_files import find_data
from polyseme.text.readers import read_documents
from polyseme.text.tokenization import split_text
from senses import measure_readouts

RESULTS = Path(__file__).parent / "results/choices.json"
CALIBRATION_TOKENS = 150_000
HELD_OUT_TOKENS = 60_000
WSD_DEV = "semeval2007"
VALIDATION_TOKENS = 2_000  # that the run itself validates on; the real measurements come after it
SENTENCES = 4_000  # treebank sentences that the probe is trained on
#: Korean particles, grammatically separate words at the end of a word, after at least two syllables: many shorter words
#: only look as if they had one (마을). No list is complete.
PARTICLE = re.compile(
    "(?<=..)(?:은|는|이|가|을|를|의|에|도|만|로|과|와|나|에서|에게|한테|으로|까지|부터|보다|처럼|이나|에는|에도|에서는|에서도"
    "|으로는|으로도|에게는|에게서|로서|으로서|로써|으로써|이라고|라고|이라는|라는|이며|이고|이다|였다|이었다)$"
)

#: Parts of the names of files that are not from the encyclopaedia; there are few of these.
EVERYDAY = ("dialogue", "everyday", "novels", "reviews", "luxun")
TREEBANKS = {"en": "en_ewt", "ko": "ko_gsd", "zh": "zh_gsdsimp-derived-r1.3"}


@dataclass(frozen=True)
class ByPart(BiLMVectors):
    """Vectors of words from a model that reads parts of words: the mean over the parts."""

    unit: Unit

    def stream(self, sentences: Iterable[Tokens]) -> Iterator[Floats]:
        kept = [[parts_of(token, self.unit) for token in tokens] for tokens in sentences]
        for words, layers in zip(kept, super().stream([flat(words) for words in kept]), strict=True):
            counts = np.array([len(parts) for parts in words])
            begins = np.cumsum([0, *counts[:-1]])
            yield np.add.reduceat(layers, begins, axis=1) / counts[:, None].astype(np.float32)


def parts_of(token: str, unit: Unit) -> list[str]:
    """ "學校" → 學, 校; "사람들은" → 사, 람, 들, 은, or 사람들, 은; anything else stays whole."""
    is_hangul = "\uac00" <= token[0] <= "\ud7a3"
    if unit == "character" and (is_hangul or "\u4e00" <= token[0] <= "\u9fff"):
        return list(token)
    if unit == "particle" and is_hangul and (found := PARTICLE.search(token)):
        return [token[: found.start()], found.group()]
    return [token]


def flat(words: Iterable[list[str]]) -> list[str]:
    return [part for parts in words for part in parts]


def measure(choice: Choice, data: Path, work: Path, minutes: float, threads: int) -> dict[str, Any]:
    """Train for this many minutes, and measure what was learned."""
    held_out, corpus, lang = texts(choice, data, work)
    folder = work / folder_of(choice)
    speed = calibrate(choice, corpus, held_out, folder, threads)  # tokens per second
    tokens = int(speed * minutes * 60)
    train(choice, corpus, held_out, folder / "run", tokens, threads)
    stored = load(folder / "run/model")
    likelihood = measure_likelihood(stored, held_out, lang=lang, most=HELD_OUT_TOKENS)
    vectors = ByPart(Elmo(stored, device="cpu"), choice.unit)
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
        **(known_senses(Elmo(stored, device="cpu"), data) if choice.unit == "word" else {}),
    }


def folder_of(choice: Choice) -> str:
    return choice.name.replace(",", "").replace(":", "").replace(" ", "-")


def known_senses(elmo: Elmo, data: Path) -> dict[str, Any]:
    """How often the same sense is nearer, by set and readout; for English also the F1 of word senses by layer."""
    found, top = measure_readouts(elmo, data), f"layer {elmo.config.layers}"
    shares = {
        name: {readout: found[name][readout]["mean"] for readout in (top, "place", "substitutes")}
        for name in ("all", "pseudo-words")
    }
    if elmo.lang != "en":
        return {"senses": shares}
    judged = measure_word_senses(BiLMVectors(elmo), data / "wsd", (WSD_DEV,))
    return {"senses": shares, "wsd": judged[WSD_DEV]["f1"]}


def calibrate(choice: Choice, corpus: Path, held_out: Path, folder: Path, threads: int) -> float:
    """Tokens per second, from a short run that is not used for anything else."""
    path = folder / "speed.json"
    if not path.exists():
        moments: list[tuple[float, int]] = []
        watch = Watch(stepped=lambda report: moments.append((time.process_time(), report.tokens)))
        train(choice, corpus, held_out, folder / "calibration", CALIBRATION_TOKENS, threads, watch)
        begin, end = moments[len(moments) // 3], moments[-1]  # the first steps set up kernels
        path.write_text(json.dumps((end[1] - begin[1]) / (end[0] - begin[0])))
    speed: float = json.loads(path.read_text())
    return speed


def train(
    choice: Choice, corpus: Path, held_out: Path, out: Path, tokens: int, threads: int, watch: Watch | None = None
) -> None:
    """Train in a separate run, or resume one that was stopped."""
    budget = {"tokens": tokens, "validate_every": tokens, "validate_on": VALIDATION_TOKENS}
    changes = [*choice.changes, *(f"budget.{name}={value}" for name, value in budget.items()), "dropout=0.0"]
    recipe = change_recipe(load_recipe("compact"), changes)
    plan = RunPlan(corpus, out, recipe, valid=held_out, threads=threads, seed=choice.seed)
    pretrain(plan, resume=(out / "last.safetensors").exists(), watch=watch)


def texts(choice: Choice, data: Path, work: Path) -> tuple[Path, Path, str]:
    """The held-out text, the corpus to train on, and how both are split."""
    files = sorted((data / "corpora" / choice.lang).glob("*.txt*"))
    held_out = next(path for path in files if "heldout" in path.name)
    inputs, lang = [path for path in files if "heldout" not in path.name], choice.lang
    inputs += [path for path in inputs if any(name in path.name for name in EVERYDAY)] * (choice.everyday - 1)
    if choice.unit != "word":
        held_out, *inputs = [write_parts(path, choice, work) for path in (held_out, *inputs)]
        lang = "whitespace"
    corpus = work / f"corpus-{choice.lang}-{choice.words}-{choice.unit}s-{choice.everyday}"
    with in_turn(work / f"{corpus.name}.lock"):
        if not corpus.exists():
            prepare(inputs, corpus, lang=lang, vocabulary_size=choice.words)
    return held_out, corpus, lang


def write_parts(source: Path, choice: Choice, work: Path) -> Path:
    """The same text with spaces between units, one sentence per line."""
    target = work / f"{choice.unit}s" / source.name.removesuffix(".xz")
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with replace_when_complete(target) as file:
            for document in read_documents([source]):
                for sentence in split_text(document.text or "", choice.lang):
                    words = map(partial(parts_of, unit=choice.unit), sentence.tokens)
                    file.write(f"{' '.join(flat(words))}\n".encode())
    return target


def take_all(chosen: Sequence[Choice], options: argparse.Namespace) -> None:
    """Measure what is missing, except what another process is measuring."""
    for choice in chosen:
        path = options.work / f"{folder_of(choice)}.json"
        try:
            with exclusive(path.with_suffix(".lock"), choice.name):
                if not path.exists():
                    print(choice.name, flush=True)
                    row = measure(choice, options.data, options.work, options.minutes, options.threads)
                    write_json(path, row)
        except JobError as error:
            if str(error) != choice.name:
                raise


def keep_rows(chosen: Sequence[Choice], work: Path) -> dict[str, dict[str, Any]]:
    """Add new measurements to the results; rows are identified by name."""
    found = {row["choice"]: row for row in (json.loads(RESULTS.read_text(encoding="utf-8")))}
    paths = {choice.name: work / f"{folder_of(choice)}.json" for choice in chosen}
    found |= {name: json.loads(path.read_text(encoding="utf-8")) for name, path in paths.items() if path.exists()}
    rows = [found[choice.name] for choice in CHOICES if choice.name in found]
    RESULTS.write_text(f"{json.dumps(rows, indent=1, ensure_ascii=False)}\n", encoding="utf-8")
    return found


def write_page(question: Question, rows: list[dict[str, Any]]) -> None:
    head = ["choice", "tokens/s", "tokens seen", "words", "unknown", "perplexity", "bits per byte", "probe, by layer"]
    if question != "units":
        head += ["senses: top layer, place, substitutes", "pseudo-words, the same", "WSD, by layer"]
    minutes = ", ".join(sorted({f"{row['minutes']:g}" for row in rows}))
    cells = [cells_of(row)[: len(head)] for row in rows]
    fill_in("models.md", f"choices of {question}", f"{minutes} minutes of one core each.\n\n{table(head, cells)}")


def cells_of(row: dict[str, Any]) -> list[str]:
    senses = row.get("senses", {})
    return [
        row["choice"],
        f"{row['tokens_per_second']:,.0f}",
        f"{row['tokens_seen'] / 1e6:.2f} M",
        f"{row['vocabulary']:,}",
        f"{row['held_out']['unknown_rate']:.1%}",
        f"{row['held_out']['average']:.0f}",
        f"{row['held_out']['bits_per_byte']:.3f}",
        in_percent(row["probe"]),
        *(in_percent(senses.get(name, {}).values()) for name in ("all", "pseudo-words")),
        in_percent(row.get("wsd", ())),
    ]


def in_percent(shares: Iterable[float]) -> str:
    return " / ".join(f"{100 * share:.1f}" for share in shares)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question", choices=get_args(Question))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=6)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=[choice.name for choice in CHOICES], metavar="NAME")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    asked = [choice for choice in CHOICES if choice.question == options.question]
    take_all([choice for choice in asked if not options.only or choice.name in options.only], options)
    found = keep_rows(asked, options.work)
    write_page(options.question, [found[choice.name] for choice in asked if choice.name in found])


if __name__ == "__main__":
    main()
