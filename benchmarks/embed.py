"""How fast Elmo encodes, compared with running earlier programs: AllenNLP's ELMo and simple_elmo (bilm-tf's graph).

    python benchmarks/embed.py [--quick] [--sentences FILE]

All have the same random weights and read the same 1,000 sentences: WikiText-2 beside the checkout, or FILE with one
sentence of tokens per line. Each contestant is a separate process in its own environment (made once in
~/.cache/polyseme-bench), and they take turns, so that other work on the machine affects all of them. On one core the
figure is CPU time, which other programs disturb least; on two cores it is wall time.

Results: results/embed.json, from which embed_report.py writes the tables in docs/benchmarks.md and the chart.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from embed_peers import CACHE, python_of
from embed_report import report, write_report
from polyseme.bilm_config import BiLMConfig, CharacterConfig
from polyseme.formats.bilm_tf import save_bilm_tf
from polyseme.formats.model import StoredModel
from polyseme.text.characters import BYTE_ALPHABET, SENTENCE_BEGIN, SENTENCE_END, ByteScheme
from polyseme.text.vocabulary import Indexer
from shared_data import DATA

HERE = Path(__file__).parent
WIKITEXT = DATA / "lm/wikitext-2/wiki.test.tokens.xz"
RESULTS = HERE / "results/embed.json"

WIDE = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))
SIZES = {
    "compact": BiLMConfig(CharacterConfig(BYTE_ALPHABET, filters=WIDE[:5], highways=1), cell=512, projection=128),
    "small": BiLMConfig(CharacterConfig(BYTE_ALPHABET, filters=WIDE, highways=1), cell=1024, projection=128),
    "original": BiLMConfig(CharacterConfig(BYTE_ALPHABET, filters=WIDE, highways=2), cell=4096, projection=512),
}
#: The peers, and the batch sizes at which each is measured: AllenNLP is never faster with 64 than with 32.
BATCHES = {"simple_elmo": (32, 64), "allennlp": (32,)}
PEERS = tuple(BATCHES)

Sentences = list[list[str]]


@dataclass(frozen=True)
class Setting:
    """What a contestant does in one turn; ``batch`` 0 means all sentences in one call."""

    contestant: str
    batch: int
    order: str = "natural"
    cache: str = "warm"
    sentences: int = 1000


@dataclass(frozen=True)
class Turn:
    """The result of a turn."""

    size: str
    cores: int
    repeat: int
    setting: Setting
    tokens: int
    positions: int  #: tokens and sentence boundaries
    seconds: float
    cpu_seconds: float
    others: float  #: share of the machine's cores that other programs used meanwhile
    busy: bool = False  #: while a busy process of ours was running


class Worker:
    """A process that answers commands, both as lines of JSON; its first line says what it is."""

    def __init__(self, name: str, command: list[str], environment: Mapping[str, str]) -> None:
        self.name, self.log = name, CACHE / f"{name}.log"
        CACHE.mkdir(parents=True, exist_ok=True)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log.open("w"),
            text=True,
            env={**os.environ, **environment},
        )
        self.start = self._answer()

    def ask(self, **command: Any) -> dict[str, Any]:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} has ended; its last words are in {self.log}")
        answer: dict[str, Any] = json.loads(line)
        return answer


class Contestant(Worker):
    """A program that computes vectors, in its own environment."""

    def __init__(self, name: str, folder: Path, cores: int) -> None:
        python = sys.executable if name.startswith("polyseme") else str(python_of(name.split("-")[0]))
        command = [python, str(HERE / "embed_worker.py"), name, str(folder), str(cores)]
        super().__init__(name, command, {"OMP_NUM_THREADS": str(cores), "PYTHONWARNINGS": "ignore"})


def read_sentences(path: Path, count: int) -> Sentences:
    """The first sentences of a file: one per line, or WikiText's paragraphs, split after . ? and !"""
    if not path.exists():
        raise SystemExit(f"there is no {path}; give a file with one sentence of tokens per line: --sentences FILE")
    found: Sentences = []
    open_text = lzma.open if path.suffix == ".xz" else open
    with open_text(path, "rt", encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith(" ="):
                found += split_after_stops(line.split()) if path == WIKITEXT else [line.split()]
            if len(found) >= count:
                break
    return found[:count]


def split_after_stops(tokens: list[str]) -> Sentences:
    stops = [place + 1 for place, token in enumerate(tokens) if token in (".", "?", "!")]
    edges = [0, *stops, len(tokens)]
    return [tokens[a:b] for a, b in pairwise(edges) if a < b]


def make_model(size: str) -> Path:
    """A folder with random weights that every contestant can read."""
    folder = CACHE / "models" / size
    if not folder.exists():
        boundaries = {"<S>": SENTENCE_BEGIN, "</S>": SENTENCE_END}
        folder.parent.mkdir(parents=True, exist_ok=True)
        config = SIZES[size]
        save_bilm_tf(StoredModel(config, random_weights(config), Indexer(ByteScheme(50, boundaries))), folder)
    return folder


def random_weights(config: BiLMConfig) -> dict[str, Any]:
    import torch

    from polyseme.nn.bilm import BiLM

    torch.manual_seed(0)
    return BiLM(config).arrays()


def settings_for(size: str, cores: int, quick: bool) -> list[Setting]:
    """The turns of a round.

    Fewer sentences are read if the rate does not depend on their number: one at a time, by the large model, and by the
    peers in natural order. In sorted order everybody reads all of them, because that gives the peers less padding.
    """
    many = 48 if quick else {"original": 64}.get(size, 1000 if cores == 1 else 128)
    some, few = min(many, 256), 4 if quick else {"original": 8}.get(size, 64)
    found = [Setting("polyseme", 0, cache=cache, sentences=many) for cache in ("cold", "warm")]
    if cores == 2 and not quick and size == "small":
        found.append(Setting("polyseme", 0, sentences=1000))
    found += [Setting("polyseme", 32, cache=cache, sentences=many) for cache in ("cold", "warm")]
    found += [Setting("polyseme", 1, cache=cache, sentences=few) for cache in ("cold", "warm")]
    for peer, batches in BATCHES.items():
        found.append(Setting(peer, 1, sentences=few))
        found += [Setting(peer, batch, "sorted", sentences=many) for batch in batches]
        if size != "original":
            found += [Setting(peer, batch, "natural", sentences=some) for batch in batches]
    return found


def take_turn(
    contestant: Contestant, size: str, cores: int, repeat: int, setting: Setting, text: Sentences, busy: bool = False
) -> Turn:
    sentences = text[: setting.sentences]
    if setting.order == "sorted":
        sentences = sorted(sentences, key=len)
    if setting.cache == "cold":
        contestant.ask(do="forget")
    machine = machine_seconds()
    answer = contestant.ask(do="run", sentences=sentences, batch=setting.batch)
    used = machine_seconds() - machine
    others = (used - answer["cpu_seconds"]) / answer["seconds"] / (os.cpu_count() or 1)
    tokens = sum(map(len, sentences))
    turn = Turn(
        size, cores, repeat, setting, tokens, tokens + 2 * len(sentences), answer["seconds"], answer["cpu_seconds"],
        round(max(0.0, others), 3), busy,
    )  # fmt: skip
    print(
        f"{size:9}{cores} core{'s' if cores > 1 else ' '} {setting.contestant:12} batch {setting.batch:<3}"
        f"{setting.order:8} {setting.cache:5} {tokens / turn.cpu_seconds:9.0f} tokens/s CPU"
        f"{tokens / turn.seconds:9.0f} wall   others {turn.others:4.0%}{'   busy beside' if busy else ''}",
        file=sys.stderr,
    )
    return turn


def machine_seconds() -> float:
    """CPU seconds that all programs have used since the machine started; 0 if unknown."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0.0
    user, nice, system, _idle, _wait, irq, soft, *_ = map(int, stat.read_text().split("\n", 1)[0].split()[1:])
    return (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")


@contextmanager
def busy_process() -> Iterator[None]:
    """A program that keeps one core busy."""
    code = "import numpy as n\na = n.ones((512, 512), n.float32)\nwhile True: a = (a @ a) * 0 + 1"
    process = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "OMP_NUM_THREADS": "1"})
    try:
        time.sleep(2)
        yield
    finally:
        process.kill()
        process.wait()


def first_calls(contestants: dict[str, Contestant], text: Sentences) -> dict[str, Any]:
    """Seconds of the first call, and each peer's largest difference from us, while all states are still zero."""
    answers = {name: one.ask(do="check", sentences=text[:1]) for name, one in contestants.items()}
    (ours,) = answers["polyseme"]["layers"]
    return {
        "start": {
            name: one.start | {"first_call_seconds": answers[name]["seconds"]} for name, one in contestants.items()
        },
        "agreement": {
            peer: float(np.abs(np.array(answers[peer]["layers"][0]) - np.array(ours)).max()) for peer in PEERS
        },
    }


def lstm_flops(size: str) -> int:
    """Floating-point operations of the LSTM layers for one position: input, state and projection products."""
    config = SIZES[size]
    products = 2 * config.projection * 4 * config.cell + config.cell * config.projection
    return 2 * products * config.layers * config.directions


def measure(size: str, cores: int, text: Sentences, repeats: int, quick: bool) -> dict[str, Any]:
    """All turns of one model on one number of cores."""
    folder = make_model(size)
    with ExitStack() as stack:
        contestants = {}
        for name in ("polyseme", *PEERS):
            contestants[name] = Contestant(name, folder, cores)
            stack.callback(contestants[name].close)
        found: dict[str, Any] = {**first_calls(contestants, text), "gemm": [], "turns": []}
        for repeat in range(repeats):
            found["gemm"].append(contestants["polyseme"].ask(do="gemm")["gflops"])
            for setting in settings_for(size, cores, quick):
                one = contestants[setting.contestant]
                found["turns"].append(asdict(take_turn(one, size, cores, repeat, setting, text)))
            if cores == 2 and size == "small":
                setting = Setting("polyseme", 0, sentences=48 if quick else 1000)
                with busy_process():
                    turn = take_turn(contestants["polyseme"], size, cores, repeat, setting, text, busy=True)
                found["turns"].append(asdict(turn))
            found["gemm"].append(contestants["polyseme"].ask(do="gemm")["gflops"])
        found["peak_mb"] = {name: one.ask(do="memory")["peak_mb"] for name, one in contestants.items()}
    return found


def peak_memory(size: str, text: Sentences) -> float:
    """Peak MB of a new process that loads a model and encodes all sentences in one call."""
    one = Contestant("polyseme", make_model(size), 1)
    one.ask(do="run", sentences=text, batch=0)
    peak = float(one.ask(do="memory")["peak_mb"])
    one.close()
    return peak


def main() -> None:
    parser = argparse.ArgumentParser(description="Elmo compared with AllenNLP's ELMo and simple_elmo.")
    parser.add_argument(
        "--quick", action="store_true", help="few sentences, one repeat, results beside the peers: to check it works"
    )
    parser.add_argument("--sentences", type=Path, default=WIKITEXT, help="one sentence of tokens per line")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--cores", nargs="+", type=int, choices=(1, 2), default=[1, 2])
    parser.add_argument("--repeats", type=int, default=None, help="2 by default, 1 with --quick")
    options = parser.parse_args()
    out = CACHE / "quick/embed.json" if options.quick else RESULTS
    text = read_sentences(options.sentences, 48 if options.quick else 1000)
    repeats = options.repeats or (1 if options.quick else 2)
    parts = [
        {"size": size, "cores": cores, "lstm_flops": lstm_flops(size)}
        | measure(size, cores, text, repeats, options.quick)
        for size in options.sizes
        for cores in options.cores
    ]
    result = {
        "text": {"file": options.sentences.name, "sentences": len(text), "tokens": sum(map(len, text))},
        "distinct_tokens": len({token for sentence in text for token in sentence}),
        "machine": {"cores": os.cpu_count(), "processor": processor(), "python": platform.python_version()},
        "numpy": np.__version__,
        "quick": options.quick,
        "peak_mb": {size: peak_memory(size, text) for size in options.sizes},
        "parts": parts,
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(result, indent=1) + "\n")
    if options.quick:
        print(report(result))
    else:
        write_report(result)
    print(f"results: {out}", file=sys.stderr)


def processor() -> str:
    info = Path("/proc/cpuinfo")
    names = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
    return names[0] if names else platform.processor()


if __name__ == "__main__":
    main()
