"""benchmarks/bundle.py: what a model in the box says of its training, and how it is made smaller."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bundle import most_frequent_words, with_its_base
from helpers.small_lms import small_lm
from polyseme.text.vocabulary import Vocabulary


def test_a_model_that_goes_on_from_another_counts_its_tokens_hours_and_curve() -> None:
    first = {"tokens_seen": 14, "hours": 1.95}
    card = {
        "goes_on_from": {"name": "x", "training": first, "curve": [{"tokens_seen": 14, "perplexity": 190.0}]},
        "training": {"tokens_seen": 16, "hours": 2.1, "data": ["a.txt"]},
        "curve": [{"tokens_seen": 0, "perplexity": 190.0}, {"tokens_seen": 16, "perplexity": 170.0}],
    }
    both = with_its_base(card)
    assert both["training"] == {"recipe_of_the_last": "16 tokens", "tokens_seen": 30, "hours": 4.05, "data": ["a.txt"]}
    assert with_its_base(both) == both
    assert [point["tokens_seen"] for point in both["curve"]] == [14, 14, 30]
    assert both["goes_on_from"] == {"name": "x", "training": first}
    assert with_its_base({"training": first}) == {"training": first}


def test_fewer_words_are_the_first_ones_with_the_same_rows_of_the_softmax() -> None:
    known = small_lm().vocabulary
    assert known is not None and known.counts is not None
    words = Vocabulary.build(dict(zip(known.words, known.counts, strict=True)))
    model = replace(small_lm(), vocabulary=words)
    assert model.softmax is not None
    fewer = most_frequent_words(model, 6)
    assert fewer.vocabulary is not None and fewer.softmax is not None
    assert fewer.vocabulary.words == words.words[:6]
    assert fewer.vocabulary.counts is not None and sum(fewer.vocabulary.counts) == sum(known.counts)
    assert np.array_equal(fewer.softmax.weight, model.softmax.weight[:6])
    assert np.array_equal(fewer.softmax.bias, model.softmax.bias[:6])
