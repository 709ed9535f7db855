"""What frozen models and vectors know: perplexity, parts of speech, word senses; each as figures for JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from polyseme.elmo import Elmo
from polyseme.formats.model import StoredModel
from polyseme.jobs.progress import working
from polyseme.lm.likelihood import Likelihood
from polyseme.pretrain.training.evaluate_files import evaluate_files
from polyseme.pretrain.training.parallel import Runner, one_after_the_other, side_by_side
from polyseme.probes.frozen import FrozenVectors
from polyseme.probes.linear_probe import ProbeChoices, probe_tags
from polyseme.probes.wsd import SenseScore, evaluate_senses
from polyseme.probes.wsd_data import find_sense_files, read_sense_sentences
from polyseme.senses.labelled import SenseReport, read_senses, tell_apart
from polyseme.sentence_reader import State
from polyseme.tasks.data_files import DataFiles
from polyseme.tasks.treebank import MostFrequentTag, TagColumn, TaggedSentence, read_treebank
from polyseme.text.readers import read_documents

Figures = dict[str, Any]
#: Sentences by split: train, dev and, if it may be read, test.
Splits = Mapping[str, Sequence[TaggedSentence] | None]


def language_model_digest(stored: StoredModel) -> str:
    """A digest of everything that a perplexity depends on: the biLM, the softmax and its words."""
    made = hashlib.sha256(stored.fingerprint().encode())
    if stored.softmax is not None and stored.vocabulary is not None:
        made.update("\n".join(stored.vocabulary.words).encode("utf-8", "surrogatepass"))
        for array in (stored.softmax.weight, stored.softmax.bias):
            made.update(array.tobytes())
    return made.hexdigest()


def measure_likelihood(
    stored: StoredModel, path: Path, *, state: State = "reset", lang: str | None = None, most: int | None = None
) -> Likelihood:
    """The likelihood of a file's documents, or of the first ones, about ``most`` tokens."""

    def measure(run: Runner) -> Likelihood:
        total = Likelihood()
        size = sum(len((document.text or "").encode("utf-8", "replace")) for document in read_documents([path]))
        with working(f"predicting {path.name}", size) as work:
            for document in evaluate_files(stored, [path], state=state, unit="document", lang=lang, run=run):
                total += document.likelihood
                work.advance(document.likelihood.bytes, tokens=document.likelihood.tokens)
                if most is not None and total.tokens >= most:
                    break
        return total

    if torch.get_num_threads() == 1:
        return measure(one_after_the_other)
    with side_by_side() as run:
        return measure(run)


def read_splits(
    files: DataFiles, column: TagColumn, *, test: bool, most: int | None = None
) -> dict[str, list[TaggedSentence] | None]:
    """The sentences of a treebank; of train, at most the first ``most``."""
    return {
        "train": read_treebank(files.train, column)[:most],
        "dev": read_treebank(files.dev, column),
        "test": read_treebank(files.test, column) if test and files.test is not None else None,
    }


def tokens_of(splits: Splits) -> Iterator[tuple[str, ...]]:
    return (sentence.tokens for split in splits.values() for sentence in split or ())


def measure_probe(vectors: FrozenVectors, splits: Splits, choices: ProbeChoices | None = None) -> Figures:
    """A linear probe on every layer: the share of tokens that get the right tag."""
    return asdict(probe_tags(vectors, splits["train"] or [], splits["dev"] or [], splits["test"], choices))


def measure_most_frequent_tag(splits: Splits) -> Figures:
    """The baseline of each word's most frequent tag, which ignores context."""
    baseline, test = MostFrequentTag(splits["train"] or []), splits["test"]
    return {"dev": baseline.accuracy(splits["dev"] or []), "test": None if test is None else baseline.accuracy(test)}


def measure_word_senses(
    vectors: FrozenVectors, folder: Path, sets: Sequence[str], most: int | None = None
) -> dict[str, Figures]:
    """F1 of the nearest sense in each layer and of the first sense, by set, and over all if there are several."""
    semcor = islice(read_sense_sentences(find_sense_files(folder, "semcor")[0]), most)
    with working("reading SemCor", sum(len(sentence.tokens) for sentence in semcor)) as work:
        found: dict[str, SenseScore] = evaluate_senses(
            vectors, folder, sets, lambda read: work.reach(read, tokens=read), most=most
        )
    if len(found) > 1:
        first, *others = found.values()
        found = {**found, "ALL": sum(others, first)}
    return {
        name: {"f1": one.f1, "first_sense": one.first_sense_f1, "words": one.words, "seen": one.seen}
        for name, one in found.items()
    }


def sense_tokens(folder: Path, sets: Sequence[str]) -> Iterator[list[str]]:
    """The sentences of SemCor and of the sets, for vectors that are looked up by word."""
    for name in ("semcor", *sets):
        yield from (sentence.tokens for sentence in read_sense_sentences(find_sense_files(folder, name)[0]))


def measure_ambiguous_words(elmo: Elmo, lang: str) -> Figures:
    """How far apart the senses of the words in senses.tsv are in each layer, and how well they are distinguished."""
    reports = tell_apart(elmo, read_senses(lang=lang))
    return {"words": len(reports[0].words), "layers": [_layer(report) for report in reports]}


def _layer(report: SenseReport) -> Figures:
    share = report.share
    return {
        "share": share.mean,
        "interval": [share.low, share.high],
        "margin": report.margin,
        "same": fmean(one.same for one in report.found),
        "cross": fmean(one.cross for one in report.found),
        "failed": report.failed,
    }
