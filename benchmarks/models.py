"""Every figure of docs/models.md in one command: what a model knows.

    python benchmarks/models.py en [ko zh] --data DIR [--model PATH] [--float32 PATH] [--test]

DIR is the folder with corpora/, pos/ and wsd/. Each part is written to benchmarks/results/model-<lang>.json when it is
done, so that an interrupted command can be resumed; ``--only PART`` computes parts again. Figures of different models
are never mixed: a part belongs to the weights it was measured with. Test splits are read only with ``--test``.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch

from models_page import write_page
from polyseme.elmo import Elmo
from polyseme.formats.detect import load
from polyseme.formats.model import StoredModel
from polyseme.jobs.atomic import replace_when_complete
from polyseme.probes.frozen import BiLMVectors, FrozenVectors, TableVectors
from polyseme.reproduce import knowledge
from polyseme.reproduce.budgets import FIVE_SETS
from polyseme.reproduce.knowledge import Figures
from polyseme.sentence_reader import State
from polyseme.tasks.data_files import find_data
from polyseme.tasks.treebank import TagColumn, TaggedSentence
from polyseme.text.readers import read_documents

RESULTS = Path(__file__).parent / "results"
GLOVE = "glove-6b-50d"
STATES: tuple[State, ...] = ("reset", "warm", "carry")
SAMPLE_TOKENS = 1 << 16  # of held-out text, for comparing models or states with each other
SPEED_TOKENS = 50_000
WSD_DEV = ("semeval2007",)
READS_TEST = ("pos-", "wsd")  # prefixes of the names of such parts


@dataclass(frozen=True, slots=True)
class Language:
    """Where a language's data are in the data folder."""

    held_out: tuple[str, ...]
    treebanks: tuple[tuple[str, TagColumn], ...]  #: the first one is used for comparing models
    wsd: bool = False
    glove: bool = False


LANGUAGES = {
    "en": Language(("en/enwiki-heldout",), (("en_ewt", "xpos"), ("en_ewt", "upos")), wsd=True, glove=True),
    "ko": Language(("ko/kowiki-heldout",), (("ko_gsd", "upos"),)),
    "zh": Language(
        ("zh/zhwiki-heldout-Hans", "zh/zhwiki-heldout-Hant"),
        (("zh_gsdsimp-derived-r1.3", "upos"), ("zh_gsd-r1.3", "upos")),
    ),
}


@dataclass
class Bench:
    """A model and everything needed to measure it."""

    lang: str
    stored: StoredModel
    data: Path
    float32: str | None
    test: bool
    threads: int

    @property
    def language(self) -> Language:
        return LANGUAGES[self.lang]

    @cached_property
    def elmo(self) -> Elmo:
        return Elmo(self.stored, device="cpu")

    def held_out(self) -> list[Path]:
        return [next(iter(self.data.glob(f"corpora/{name}.txt*"))) for name in self.language.held_out]

    def treebank(self, name: str, column: TagColumn, *, test: bool) -> dict[str, list[TaggedSentence] | None]:
        return knowledge.read_splits(find_data(self.data / "pos" / name, (".conllu",)), column, test=test)


def perplexity(bench: Bench) -> Figures:
    """Perplexity on every complete held-out file, each sentence from the zero state."""
    measured = {
        path.name: knowledge.measure_likelihood(bench.stored, path, lang=bench.lang) for path in bench.held_out()
    }
    files = {name: one.to_dict() for name, one in measured.items()}
    return {"files": files, "vocabulary": len(bench.stored.vocabulary or ())}


def tags(bench: Bench, name: str, column: TagColumn) -> Figures:
    """The probe on every layer, compared with the most frequent tag and GloVe."""
    splits = bench.treebank(name, column, test=bench.test)
    found: Figures = {
        "layers": knowledge.measure_probe(BiLMVectors(bench.elmo), splits),
        "most_frequent": knowledge.measure_most_frequent_tag(splits),
    }
    if bench.language.glove:
        found["glove"] = knowledge.measure_probe(TableVectors.load(GLOVE, knowledge.tokens_of(splits)), splits)
    return found


def states(bench: Bench) -> Figures:
    """Compare reset, warm and carry."""
    return side_by_side(bench, {state: (bench.stored, state) for state in STATES})


def float16(bench: Bench) -> Figures:
    """The model before its weights were rounded, under the same conditions."""
    assert bench.float32 is not None
    return side_by_side(bench, {"stored": (bench.stored, "reset"), "float32": (load(bench.float32), "reset")})


def side_by_side(bench: Bench, models: dict[str, tuple[StoredModel, State]]) -> Figures:
    """The perplexity on some held-out text, and the probe for the first tag set on dev."""
    path, (name, column) = bench.held_out()[0], bench.language.treebanks[0]
    splits = bench.treebank(name, column, test=False)
    found: Figures = {"file": path.name, "treebank": name, "column": column}
    for title, (stored, state) in models.items():
        likelihood = knowledge.measure_likelihood(stored, path, state=state, lang=bench.lang, most=SAMPLE_TOKENS)
        probe = knowledge.measure_probe(BiLMVectors(Elmo(stored, device="cpu", state=state)), splits)
        found[title] = {"perplexity": likelihood.to_dict(), "probe": probe}
    return found


def wsd(bench: Bench) -> Figures:
    """The nearest sense by layer, compared with the first sense and with GloVe."""
    folder, sets = bench.data / "wsd", FIVE_SETS if bench.test else WSD_DEV
    words = TableVectors.load(GLOVE, knowledge.sense_tokens(folder, sets))
    by_title: dict[str, FrozenVectors] = {"layers": BiLMVectors(bench.elmo), "glove": words}
    return {title: knowledge.measure_word_senses(vectors, folder, sets) for title, vectors in by_title.items()}


def senses(bench: Bench) -> Figures:
    """How well each layer separates the senses of ambiguous words."""
    return knowledge.measure_ambiguous_words(bench.elmo, bench.lang)


def speed(bench: Bench) -> Figures:
    """Tokens per second, the best of three readings of the same sentences, and with an empty cache."""
    sentences, tokens = list[list[str]](), 0
    for document in read_documents(bench.held_out()[:1]):
        for sentence in bench.elmo.split(document.text or ""):
            sentences.append(sentence.tokens)
            tokens += len(sentence.tokens)
        if tokens >= SPEED_TOKENS:
            break
    elmo = Elmo(bench.stored, device="cpu")
    turns = [_time(elmo, sentences) for _ in range(4)]
    return {
        "tokens": tokens,
        "threads": bench.threads,
        "load": os.getloadavg()[0],
        "cold": _rates(tokens, turns[0]),
        "cached": _rates(tokens, min(turns[1:])),
    }


def _time(elmo: Elmo, sentences: list[list[str]]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in elmo.stream(sentences):
        pass
    return time.perf_counter() - wall, time.process_time() - cpu


def _rates(tokens: int, seconds: tuple[float, float]) -> Figures:
    return {"tokens_per_second": tokens / seconds[0], "tokens_per_cpu_second": tokens / seconds[1]}


def curve(bench: Bench) -> Figures:
    """What was recorded in training, from the card."""
    return {name: [point[name] for point in bench.stored.card["curve"]] for name in ("tokens_seen", "perplexity")}


def parts_of(bench: Bench) -> dict[str, Callable[[], Figures]]:
    """All parts, the quick ones first."""
    parts: dict[str, Callable[[], Figures]] = {"senses": lambda: senses(bench), "speed": lambda: speed(bench)}
    if bench.stored.card.get("curve"):
        parts["curve"] = lambda: curve(bench)
    for name, column in bench.language.treebanks:
        parts[f"pos-{name}-{column}"] = lambda name=name, column=column: tags(bench, name, column)  # type: ignore[misc]
    parts["perplexity"] = lambda: perplexity(bench)
    if bench.language.wsd:
        parts["wsd"] = lambda: wsd(bench)
    parts["states"] = lambda: states(bench)
    if bench.float32 is not None:
        parts["float16"] = lambda: float16(bench)
    return parts


def measure(bench: Bench, results: Path, only: list[str] | None) -> None:
    """Measure every part that is not yet in the result file for these weights."""
    path, key = results / f"model-{bench.lang}.json", knowledge.language_model_digest(bench.stored)
    result = json.loads(path.read_text()) if path.exists() else {}
    known = result["parts"] if result.get("digest") == key else {}
    result = {"lang": bench.lang, "digest": key, **describe(bench.stored), "parts": known}
    parts = parts_of(bench)
    if only and (unknown := set(only) - set(parts)):
        raise SystemExit(f"there is no part {', '.join(sorted(unknown))}; there are: {', '.join(parts)}")
    for name, part in parts.items():
        there = result["parts"].get(name)
        test = bench.test and name.startswith(READS_TEST)
        enough = there is not None and (there["test"] or not test)
        if name not in only if only else enough:
            continue
        began = time.perf_counter()
        print(f"{bench.lang}: {name} …", end=" ", flush=True)
        figures = part()
        seconds = time.perf_counter() - began
        result["parts"][name] = {"test": test, "seconds": round(seconds, 1), **figures}
        with replace_when_complete(path) as file:
            file.write((json.dumps(result, indent=1, ensure_ascii=False) + "\n").encode())
        print(f"{seconds:.0f} s", flush=True)


def describe(stored: StoredModel) -> Figures:
    training = stored.card.get("training") or {}
    return {
        "name": stored.card.get("name"),
        "tokens_seen": training.get("tokens_seen"),
        "hours": training.get("hours"),
        "layers": stored.config.layers,
        "width": stored.config.width,
        "vocabulary": len(stored.vocabulary or ()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("langs", nargs="+", choices=LANGUAGES)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", help="a model other than the bundled one, for one language")
    parser.add_argument("--float32", help="the model before its weights were rounded to float16")
    parser.add_argument("--only", nargs="+", metavar="PART")
    parser.add_argument("--test", action="store_true", help="also read the test splits")
    parser.add_argument("--threads", type=int, default=min(2, torch.get_num_threads()))
    parser.add_argument("--results", type=Path, default=RESULTS, help="another folder; then no page is written")
    options = parser.parse_args()
    if len(options.langs) > 1 and (options.model or options.float32):
        parser.error("--model and --float32 belong to one language")
    options.results.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(options.threads)
    for lang in options.langs:
        stored = load(options.model or lang)
        bench = Bench(lang, stored, options.data, options.float32, options.test, options.threads)
        measure(bench, options.results, options.only)
    if options.results == RESULTS:
        write_page(RESULTS)


if __name__ == "__main__":
    main()
