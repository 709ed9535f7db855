"""Occurrences are collected from texts of any size, and of a frequent word each has the same chance."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from helpers.tiny_models import tiny_elmo
from polyseme.index.vector_index import Index
from polyseme.prepared_text import as_documents
from polyseme.senses.collect import LONGEST, WordSample, sample_words

ELMO = tiny_elmo(lang="en")
TEXTS = ["The Bank is old. I sat there.", "No river here.", "A bank, and another bank.", "The river rose."]


def test_the_occurrences_are_those_of_an_index() -> None:
    samples = sample_words(ELMO, ["bank", "river", "zebra"], as_documents(TEXTS), 10)
    index = Index.in_memory(ELMO, TEXTS)
    for word, sample in samples.items():
        expected = index.occurrences(word)
        assert [one.marked for one in sample.kept] == [one.marked for one in expected]
        assert sample.total == len(expected)
    assert [one.marked for one in samples["river"].kept] == ["No [river] here.", "The [river] rose."]


def test_tokens_may_come_split_and_very_long_sentences_are_left_out() -> None:
    long = ["bank"] * (LONGEST + 1)
    sample = sample_words(ELMO, ["bank"], as_documents([["a", "bank"], long]), 10)["bank"]
    assert [one.tokens for one in sample.kept] == [["a", "bank"]]


def test_each_occurrence_has_the_same_chance() -> None:
    (one,) = sample_words(ELMO, ["river"], as_documents(["The river rose."]), 1)["river"].kept
    drawn = Counter[int]()
    for seed in range(2000):
        random, sample = np.random.default_rng(seed), WordSample(3)
        for number in range(12):
            sample.offer(replace(one, row=number), random)
        assert sample.total == 12 and len(sample.kept) == 3
        drawn.update(kept.row for kept in sample.kept)
    expected = 2000 * 3 / 12
    assert all(abs(drawn[number] - expected) < 6 * expected**0.5 for number in range(12))


def test_a_word_asked_for_in_two_spellings_has_the_same_sample() -> None:
    found = sample_words(ELMO, ["Bank", "bank"], as_documents(["The bank rose."]), 10)
    assert found["Bank"].total == found["bank"].total == 1
