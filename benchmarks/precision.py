"""What fewer bits cost and save: task scores and memory with weights in float32, float16 and int8.

    python benchmarks/precision.py [--model en] [--sentences 2000]

Vectors are frozen, as everywhere on the models page: a linear probe for parts of speech (English EWT, dev); the nearest
sense on the five sets for word sense disambiguation, with means from the first sentences of SemCor; and the bundled NER
tagger (Universal NER, dev), which was trained on float32 vectors. Memory is that of a new process with a network of the
original size and random weights. Results: results/precision.json, and two tables in docs/engine.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from pages import fill_in, table
from shared_data import DATA

RESULTS = Path(__file__).parent / "results/precision.json"
PRECISIONS = ("float32", "float16", "int8")
NO_MODEL = "no model"
FIVE_SETS = ("senseval2", "senseval3", "semeval2007", "semeval2013", "semeval2015")
MEMORY = """
import json, sys
from pathlib import Path
from polyseme.elmo import Elmo
for precision in sys.argv[2:]:
    elmo = Elmo.from_pretrained(sys.argv[1], precision=precision, threads=1, lang="whitespace")
    elmo.encode_tokens([["Here", "is", "your", "present", "."]] * 8)
lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
print(json.dumps({line[0][:-1]: int(line[1]) / 1024 for line in lines if line[0] in ("VmRSS:", "VmHWM:")}))
"""


def measure_memory(model: Path) -> dict[str, dict[str, float]]:
    """Megabytes of a process after its first vectors, and at its peak; and of one without a model."""
    found = {}
    for precision in (NO_MODEL, *PRECISIONS):
        command = [sys.executable, "-c", MEMORY, str(model), *([precision] if precision != NO_MODEL else [])]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found[precision] = json.loads(done.stdout.splitlines()[-1])
        print(precision, found[precision], file=sys.stderr, flush=True)
    return found


def measure_scores(model: str, sentences: int) -> dict[str, dict[str, Any]]:
    """By precision: the share of right tags and the F1 of senses, in each layer."""
    from polyseme.elmo import Elmo
    from polyseme.probes.frozen import BiLMVectors
    from polyseme.reproduce.knowledge import measure_probe, measure_word_senses, read_splits
    from polyseme.tasks.data_files import find_data
    from polyseme.tasks.definition import find_task
    from polyseme.tasks.trained_task import Task

    names = find_task("ner").find(DATA / "ner/uner-ewt").dev
    splits = read_splits(find_data(DATA / "pos/en_ewt", (".conllu",)), "upos", test=False)
    splits["train"] = (splits["train"] or [])[:sentences]
    found = {}
    for precision in PRECISIONS:
        elmo = Elmo.from_pretrained(model, device="cpu", precision=precision)  # type: ignore[arg-type]
        vectors = BiLMVectors(elmo)
        probe = measure_probe(vectors, splits)
        senses = measure_word_senses(vectors, DATA / "wsd", FIVE_SETS, most=sentences)["ALL"]
        found[precision] = {
            "tags": probe["dev"],
            "senses": senses["f1"],
            "words": senses["words"],
            "names": Task.load(f"{model}/ner", elmo=elmo).evaluate(names).values["f1"],
        }
        print(precision, found[precision], file=sys.stderr, flush=True)
    return found


def write_page(result: dict[str, Any]) -> None:
    def percent(values: list[float]) -> str:
        return " / ".join(f"{100 * value:.2f}" for value in values)

    scores = [
        [name, percent(one["tags"]), percent(one["senses"]), f"{one['names']:.2f}"]
        for name, one in result["scores"].items()
    ]
    note = (
        f"Model `{result['model']}`, percent. The first two by layer, with {result['sentences']:,} sentences to learn "
        f"from ({next(iter(result['scores'].values()))['words']:,} words with senses); the third by the bundled tagger."
    )
    head = ["precision", "parts of speech, EWT dev", "senses, all five sets, F1", "names, EWT dev, F1"]
    fill_in("engine.md", "scores", f"{note}\n\n{table(head, scores)}")
    program = result["memory"][NO_MODEL]["VmRSS"]
    models = {name: one["VmRSS"] - program for name, one in result["memory"].items() if name != NO_MODEL}
    memory = [
        [
            name,
            f"{model:,.0f} MB",
            f"{model / models['float32']:.0%}",
            f"{result['memory'][name]['VmRSS']:,.0f} MB",
            f"{result['memory'][name]['VmHWM']:,.0f} MB",
        ]
        for name, model in models.items()
    ]
    head = ["precision", "the model", "of float32", "the process", "at its peak"]
    note = f"A process without a model has {program:,.0f} MB."
    fill_in("engine.md", "memory", f"{table(head, memory)}\n\n{note}")


def main() -> None:
    from embed import make_model

    parser = argparse.ArgumentParser(description="Scores and memory by precision.")
    parser.add_argument("--model", default="en")
    parser.add_argument("--sentences", type=int, default=2000)
    options = parser.parse_args()
    result = {
        "model": options.model,
        "sentences": options.sentences,
        "memory": measure_memory(make_model("original")),
        "scores": measure_scores(options.model, options.sentences),
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    write_page(result)


if __name__ == "__main__":
    main()
