"""The tokenisers against the treebanks' development sets, and the published table against its result file."""

from __future__ import annotations

import importlib.util
import json
import sys
from types import ModuleType

import pytest

from helpers.paths import BENCHMARKS, DATA, needs


def load_benchmark(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", BENCHMARKS / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look for themselves
    spec.loader.exec_module(module)
    return module


benchmark = load_benchmark("tokenization")

# Sentence F1 is far below token F1 where a treebank has many sentences without any final mark.
AIMS = {"en_ewt": (98.0, 80.0), "ko_gsd": (99.0, 75.0), "zh_gsd": (90.0, 97.0), "zh_gsdsimp": (90.0, 97.0)}


@pytest.mark.shared
@needs(DATA / "pos")
@pytest.mark.parametrize(("treebank", "aims"), AIMS.items())
def test_words_and_sentences_are_those_of_the_treebank(treebank: str, aims: tuple[float, float]) -> None:
    gold = benchmark.read_gold(benchmark.treebank_file(DATA, treebank, "dev"))
    scores = benchmark.compare(gold, benchmark.TREEBANKS[treebank])
    assert scores["token_f1"] >= aims[0]
    assert scores["sentence_f1"] >= aims[1]


@pytest.mark.shared
@needs(DATA / "pos")
@pytest.mark.parametrize("treebank", AIMS)
def test_the_gold_text_is_covered_by_its_words(treebank: str) -> None:
    gold = benchmark.read_gold(benchmark.treebank_file(DATA, treebank, "dev"))
    covered = "".join(gold.text[start:end] for start, end in gold.words)
    assert covered == "".join(gold.text.split())


def test_the_published_table_is_that_of_the_result_file() -> None:
    rows = json.loads(benchmark.RESULTS.read_text())["rows"]
    assert f"{benchmark.BEGIN}\n{benchmark.table(rows)}\n{benchmark.END}" in benchmark.PAGE.read_text()


def test_the_published_table_of_morphemes_is_that_of_the_result_file() -> None:
    module = load_benchmark("korean_units")
    results = json.loads(module.RESULTS.read_text())
    assert f"{module.BEGIN}\n{module.table(results)}\n{module.END}" in module.PAGE.read_text()
