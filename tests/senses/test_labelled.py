"""Senses are told apart where vectors tell them apart, and static vectors reach one half by construction."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from helpers.tiny_models import tiny_elmo, tiny_model
from polyseme.elmo import Elmo
from polyseme.errors import ConfigError, InputError
from polyseme.senses.labelled import AmbiguousWord, closeness, judge, read_senses, tell_apart

BANK = AmbiguousWord("en", "bank", ("river", "river", "money", "money"), ("a [bank]", "b [bank]", "[bank]", "c [bank]"))
BAT = AmbiguousWord("en", "bat", ("animal", "club", "animal", "club"), ("a [bat]", "b [bat]", "c [bat]", "d [bat]"))


def test_mean_cosines_of_pairs() -> None:
    vectors = np.array([[1, 0], [3, 0], [0, 2], [1, 1]], np.float32)
    found = closeness(vectors, ("a", "a", "b", "b"))
    half = 2**-0.5
    assert found.same == pytest.approx((1 + half) / 2)
    assert found.cross == pytest.approx((0 + half + 0 + half) / 4)
    assert found.share == 7 / 8  # the last use is as near to both of the other sense as to its own: two ties of eight


def test_layers_words_and_failures() -> None:
    """Layer 0: the same vector everywhere; layer 1: by sense; layer 2: by place, so that only BANK is right.

    Of BAT, by place, the one use in the same sense is never nearer; of two in the other, one is and one is as far.
    """
    static = np.ones((8, 2))
    by_sense = np.eye(2)[[0, 0, 1, 1, 0, 1, 0, 1]]
    by_place = np.eye(2)[[0, 0, 1, 1, 0, 0, 1, 1]]
    reports = judge([BANK, BAT], np.stack([static, by_sense, by_place]).astype(np.float32))
    assert [report.share.mean for report in reports] == [0.5, 1.0, (1.0 + 0.25) / 2]
    assert [report.failed for report in reports] == [["bank", "bat"], [], ["bat"]]
    assert [report.margin for report in reports] == pytest.approx([0.0, 1.0, 0.25])


def test_the_token_layer_of_a_model_is_static() -> None:
    """The same word has the same token vector in all its sentences."""
    elmo = tiny_elmo(lang="en")
    words = read_senses(lang="en")
    token_layer, *others = tell_apart(elmo, words)
    assert token_layer.share.mean == token_layer.share.low == token_layer.share.high == 0.5
    assert token_layer.margin == pytest.approx(0, abs=1e-6)
    assert len(others) == 2
    assert all(0 <= report.share.mean <= 1 and report.margin != 0 for report in others)


def test_uses_are_compared_in_their_sentences() -> None:
    elmo = tiny_elmo(lang="en")
    (word,) = (one for one in read_senses(lang="en") if one.word == "bank")
    (_, _, top) = tell_apart(elmo, [word])
    cosines = [[elmo.similarity(a, b)[2] for b in word.sentences] for a in word.sentences]
    within = [cosines[a][b] for a, b in combinations(range(8), 2) if word.senses[a] == word.senses[b]]
    across = [cosines[a][b] for a, b in combinations(range(8), 2) if word.senses[a] != word.senses[b]]
    assert top.found[0].same == pytest.approx(np.mean(within), abs=1e-5)
    assert top.found[0].cross == pytest.approx(np.mean(across), abs=1e-5)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("en\tbank\triver\tno brackets\n", "line 1: expected language, word, sense"),
        ("# comment\n\nen\tbank\t[bank]\n", "line 3: expected language, word, sense"),
        ("en\tbank\triver\ta [bank]\nen\tbank\triver\tb [bank]\n", "'bank' needs two senses"),
        ("en\tbank\triver\ta [bank]\nen\tbank\tmoney\tb [bank]\n", "'bank' needs two senses, with two sentences"),
        ("ko\tx\ta\t[x]\nko\tx\ta\t[x]\nko\tx\tb\t[x]\n", "has no words of the language 'en'"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "senses.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=problem):
        read_senses(path, lang="en")


def test_carried_state_would_compare_other_things() -> None:
    with pytest.raises(ConfigError, match="carry"):
        tell_apart(Elmo(tiny_model(), state="carry"), [BANK])
