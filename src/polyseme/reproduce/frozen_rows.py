"""What Tables 4 to 6 and what is beside the paper share: measurements of a frozen model, and their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from polyseme.elmo import Elmo
from polyseme.jobs.manifests import sha256_of
from polyseme.probes.cove import CoVeVectors
from polyseme.probes.frozen import BiLMVectors, FrozenVectors, TableVectors
from polyseme.probes.linear_probe import ProbeChoices
from polyseme.reproduce.bench import Bench
from polyseme.reproduce.comparison import failures, plain
from polyseme.reproduce.document import Block, Section, section_of
from polyseme.reproduce.knowledge import measure_most_frequent_tag, measure_probe, read_splits, tokens_of
from polyseme.reproduce.measurement import Measurement, Missing, Result, Tree
from polyseme.reproduce.paper import layer_title
from polyseme.tasks.data_files import DataFiles
from polyseme.tasks.treebank import TagColumn

COVE = "CoVe"
#: Vectors for the words of some sentences.
Source = Callable[[Iterable[Sequence[str]]], FrozenVectors]
Figures = Mapping[str, Any]


def kinds_of_vectors(bench: Bench) -> dict[str, tuple[Any, Source]]:
    """By title: what tells them apart, and how they are had."""
    kinds: dict[str, tuple[Any, Source]] = {"static": (bench.static_key, partial(TableVectors.load, bench.static))}
    if (digest := bench.cove_digest) is not None:
        kinds[COVE] = ([digest, bench.static_key], partial(_cove, bench))
    kinds["biLM"] = (bench.elmo.identity, layers_of(bench.elmo))
    return kinds


def _cove(bench: Bench, sentences: Iterable[Sequence[str]]) -> FrozenVectors:
    assert bench.cove is not None  # else nothing is measured with it
    return CoVeVectors.load(bench.cove, TableVectors.load(bench.static, sentences))


def if_given(bench: Bench, title: str, measurement: Measurement) -> Tree:
    """Without its weights, what was measured with CoVe before keeps its place, and nothing more can be measured."""
    if title != COVE or bench.cove is not None or bench.shelf.record(measurement) is not None:
        return measurement
    return Missing("the weights of CoVe are not given (--cove)")


def layers_of(elmo: Elmo) -> Source:
    return lambda sentences: BiLMVectors(elmo)


def tag_probe(
    bench: Bench, title: str, files: DataFiles, column: TagColumn, vectors: Any, source: Source
) -> Measurement:
    budget = bench.budget

    def measure() -> Result:
        splits = read_splits(files, column, test=budget.test, most=budget.treebank_sentences)
        return measure_probe(source(tokens_of(splits)), splits, ProbeChoices(steps=budget.probe_steps))

    settings = _tag_settings(bench, files, column) | {"vectors": vectors, "steps": budget.probe_steps}
    return frozen_measurement(f"parts of speech, {title}", settings, measure, seconds=5 + budget.probe_steps / 10)


def most_frequent_tag(bench: Bench, lang: str, files: DataFiles, column: TagColumn) -> Measurement:
    def measure() -> Result:
        splits = read_splits(files, column, test=bench.budget.test, most=bench.budget.treebank_sentences)
        return measure_most_frequent_tag(splits)

    settings = _tag_settings(bench, files, column)
    return frozen_measurement(f"most frequent tag, {lang} {column}", settings, measure, seconds=2)


def _tag_settings(bench: Bench, files: DataFiles, column: TagColumn) -> dict[str, Any]:
    read = [files.train, files.dev, *([files.test] if bench.budget.test and files.test is not None else [])]
    return {"files": digests(read), "column": column, "sentences": bench.budget.treebank_sentences}


def frozen_measurement(
    title: str, settings: dict[str, Any], measure: Callable[[], Result], *, seconds: float
) -> Measurement:
    kind = title.partition(",")[0]
    return Measurement(title, {"kind": kind, **settings}, lambda watch: measure(), kind, seconds)


def digests(files: Iterable[Path]) -> list[str]:
    return [sha256_of(path) for path in files]


def frozen_section(
    title: str, lead: str, blocks: Sequence[Block], figures: Figures, notes: Sequence[str | None] = ()
) -> Section:
    lines = [*notes]
    if isinstance(figures.get("missing"), str):
        lines.append(f"Skipped: {figures['missing']}.")
    lines += [f"Failed: {sentence}." for sentence in dict.fromkeys(failures(figures))]
    return section_of(title, lead, blocks, lines)


def first_set(found: Figures) -> Figures:
    first = next(iter(found.values()), None)
    return first if isinstance(first, Mapping) else {}


def by_layer(kinds: Figures) -> list[tuple[str, Figures, int]]:
    """ "static", "biLM, token layer", "biLM, layer 1", …, with the figures and the number of the layer in them."""
    found = []
    for kind, figures in kinds.items():
        shares = first_set(figures)["f1"] if "f1" in first_set(figures) else figures["dev"]
        for layer in range(len(shares)):
            below = 0 if kind == "biLM" else 1  # CoVe has no token layer
            title = kind if len(shares) == 1 else f"{kind}, {layer_title(layer + below)}"
            found.append((title, figures, layer))
    return found


def beside_the_paper(
    ours: Mapping[str, Sequence[float | None]], theirs: Mapping[str, float], columns: int
) -> list[list[str]]:
    """Our rows, then those that only the paper has."""
    names = [*ours, *(name for name in theirs if name not in ours)]
    empty: Sequence[float | None] = [None] * max(1, columns)
    return [[name, *(plain(value) for value in ours.get(name, empty)), plain(theirs.get(name))] for name in names]


def column_of(ours: Mapping[str, Sequence[float | None]], column: int) -> dict[str, float]:
    """One column of our figures, where it is there."""
    found = {name: values[column] for name, values in ours.items() if values}
    return {name: value for name, value in found.items() if value is not None}


def last_layer(total: Mapping[str, float]) -> str:
    """The name of the biLM's last layer."""
    return max((name for name in total if name.startswith("biLM, layer")), default="biLM, layer 2")


def ahead(total: Mapping[str, float], first: str, second: str) -> float | None:
    """By how much one row is higher than another."""
    return total[first] - total[second] if first in total and second in total else None
