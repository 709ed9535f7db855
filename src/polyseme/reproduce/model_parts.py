"""Tables 4 to 6, and parts that the paper does not have, as trees of measurements of a frozen model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from polyseme.elmo import Elmo
from polyseme.errors import PolysemeError
from polyseme.jobs.manifests import sha256_of
from polyseme.probes.cove import CoVeVectors
from polyseme.probes.frozen import BiLMVectors, FrozenVectors, TableVectors
from polyseme.probes.linear_probe import ProbeChoices
from polyseme.reproduce.bench import Bench, name_model
from polyseme.reproduce.data_sets import HELD_OUT, TEXTS, files_below, find_senses, find_texts, find_treebank
from polyseme.reproduce.knowledge import (
    language_model_digest,
    measure_ambiguous_words,
    measure_likelihood,
    measure_most_frequent_tag,
    measure_probe,
    measure_word_senses,
    read_splits,
    sense_tokens,
    tokens_of,
)
from polyseme.reproduce.measurement import Measurement, Missing, Result, Tree
from polyseme.reproduce.neighbour_questions import measure_neighbours
from polyseme.senses.shipped import SENSES
from polyseme.tasks.data_files import DataFiles
from polyseme.tasks.treebank import TagColumn

COVE = "CoVe"
#: A function from sentences to vectors for their words.
Source = Callable[[Iterable[Sequence[str]]], FrozenVectors]


def table_4(bench: Bench) -> Tree:
    """Nearest neighbours in a text, of words by themselves and in their sentences."""
    files = find_texts(bench.data, TEXTS)
    if isinstance(files, Missing):
        return files
    budget = bench.budget
    return _measurement(
        "nearest neighbours",
        {
            "model": bench.elmo.identity,
            "static": bench.static_key,
            "files": _digests(files),
            "words": budget.indexed_words,
            "questions": bench.questions,
        },
        lambda: measure_neighbours(
            bench.elmo, files, bench.questions, bench.static, budget.indexed_words, bench.out / "index"
        ),
        seconds=20 + budget.indexed_words / 5000,
    )


def table_5(bench: Bench) -> Tree:
    """Word senses by the nearest mean vector, for each kind of vectors."""
    budget = bench.budget
    folder = find_senses(bench.data, budget.sense_sets)
    if isinstance(folder, Missing):
        return folder
    settings = {
        "files": _digests(files_below(folder, budget.sense_sets)),
        "sets": budget.sense_sets,
        "semcor_sentences": budget.semcor_sentences,
    }

    def scores(source: Source) -> Result:
        vectors = source(sense_tokens(folder, budget.sense_sets))
        return measure_word_senses(vectors, folder, budget.sense_sets, budget.semcor_sentences)

    seconds = (budget.semcor_sentences or 37_000) / 250
    return {
        title: _if_given(
            bench,
            title,
            _measurement(
                f"word senses, {title}", settings | {"vectors": key}, partial(scores, source), seconds=seconds
            ),
        )
        for title, (key, source) in _kinds_of_vectors(bench).items()
    }


def table_6(bench: Bench) -> Tree:
    """Parts of speech by a linear probe, for each kind of vectors; the tags of the Penn Treebank."""
    found = find_treebank(bench.data, "en")
    if isinstance(found, Missing):
        return found
    folder, files = found
    probes = {
        title: _if_given(bench, title, _probe(bench, f"en xpos, {title}", files, "xpos", key, source))
        for title, (key, source) in _kinds_of_vectors(bench).items()
    }
    return {"data": folder, "most frequent tag": _most_frequent(bench, "en", files, "xpos"), **probes}


def perplexity(bench: Bench) -> Tree:
    """Forward and backward perplexity with the full softmax, each sentence from the model's own initial state."""
    stored = bench.elmo.stored
    if stored.softmax is None or stored.vocabulary is None:
        return Missing("the model has no softmax, so it gives no probabilities")
    files = find_texts(bench.data, (HELD_OUT,))
    if isinstance(files, Missing):
        return files
    (path,) = files
    most = bench.budget.held_out_tokens
    warm = {} if bench.elmo.state == "reset" else {"state": bench.elmo.state}
    return _measurement(
        "perplexity",
        {"model": language_model_digest(stored), **warm, "files": _digests(files), "tokens": most},
        lambda: {
            "text": path.name,
            "vocabulary": len(stored.vocabulary or ()),
            **warm,
            **measure_likelihood(stored, path, state=bench.elmo.state, lang=bench.elmo.lang, most=most).to_dict(),
        },
        seconds=(most or 350_000) / 800,
    )


def senses(bench: Bench) -> Tree:
    """How far apart two senses of a word are, layer by layer, for the bundled words."""
    return _measurement(
        "ambiguous words",
        {"model": bench.elmo.identity, "lang": "en", "sentences": sha256_of(SENSES)},
        lambda: measure_ambiguous_words(bench.elmo, "en"),
        seconds=5,
    )


def languages(bench: Bench) -> Tree:
    """Universal parts of speech: the report's model for English, the bundled models for Korean and Chinese."""
    rows: dict[str, Any] = {}
    for lang in ("en", "ko", "zh"):
        found = find_treebank(bench.data, lang)
        if isinstance(found, Missing):
            rows[lang] = found
            continue
        try:
            elmo = bench.elmo if lang == "en" else Elmo.from_pretrained(lang, device="cpu")
        except PolysemeError as error:
            rows[lang] = Missing(str(error))
            continue
        folder, files = found
        probe = _probe(bench, f"{lang} upos, biLM", files, "upos", elmo.identity, _layers_of(elmo))
        rows[lang] = {
            "data": folder,
            "model": name_model(elmo, bench.model if lang == "en" else lang),
            "most frequent tag": _most_frequent(bench, lang, files, "upos"),
            "biLM": probe,
        }
    return rows


def _kinds_of_vectors(bench: Bench) -> dict[str, tuple[Any, Source]]:
    """Title → what identifies the vectors, and a function that computes them."""
    kinds: dict[str, tuple[Any, Source]] = {"static": (bench.static_key, partial(TableVectors.load, bench.static))}
    if (digest := bench.cove_digest) is not None:
        kinds[COVE] = ([digest, bench.static_key], partial(_cove, bench))
    kinds["biLM"] = (bench.elmo.identity, _layers_of(bench.elmo))
    return kinds


def _cove(bench: Bench, sentences: Iterable[Sequence[str]]) -> FrozenVectors:
    assert bench.cove is not None  # otherwise nothing is measured with CoVe
    return CoVeVectors.load(bench.cove, TableVectors.load(bench.static, sentences))


def _if_given(bench: Bench, title: str, measurement: Measurement) -> Tree:
    """The measurement; without CoVe's weights, those of CoVe are kept if already made, and missing if not."""
    if title != COVE or bench.cove is not None or bench.shelf.record(measurement) is not None:
        return measurement
    return Missing("the weights of CoVe are not given (--cove)")


def _layers_of(elmo: Elmo) -> Source:
    return lambda sentences: BiLMVectors(elmo)


def _probe(bench: Bench, title: str, files: DataFiles, column: TagColumn, vectors: Any, source: Source) -> Measurement:
    budget = bench.budget

    def measure() -> Result:
        splits = read_splits(files, column, test=budget.test, most=budget.treebank_sentences)
        return measure_probe(source(tokens_of(splits)), splits, ProbeChoices(steps=budget.probe_steps))

    settings = _tag_settings(bench, files, column) | {"vectors": vectors, "steps": budget.probe_steps}
    return _measurement(f"parts of speech, {title}", settings, measure, seconds=5 + budget.probe_steps / 10)


def _most_frequent(bench: Bench, lang: str, files: DataFiles, column: TagColumn) -> Measurement:
    def measure() -> Result:
        splits = read_splits(files, column, test=bench.budget.test, most=bench.budget.treebank_sentences)
        return measure_most_frequent_tag(splits)

    settings = _tag_settings(bench, files, column)
    return _measurement(f"most frequent tag, {lang} {column}", settings, measure, seconds=2)


def _tag_settings(bench: Bench, files: DataFiles, column: TagColumn) -> dict[str, Any]:
    read = [files.train, files.dev, *([files.test] if bench.budget.test and files.test is not None else [])]
    return {"files": _digests(read), "column": column, "sentences": bench.budget.treebank_sentences}


def _measurement(title: str, settings: dict[str, Any], measure: Callable[[], Result], *, seconds: float) -> Measurement:
    kind = title.partition(",")[0]
    return Measurement(title, {"kind": kind, **settings}, lambda watch: measure(), kind, seconds)


def _digests(files: Iterable[Path]) -> list[str]:
    return [sha256_of(path) for path in files]
