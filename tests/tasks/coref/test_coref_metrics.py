"""Coreference scores: the worked example of the reference scorer's paper, and brute force for the alignment."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.tasks.coref.metrics import Chain, b_cubed, ceaf, muc, score_chains

pytest.importorskip("scipy")


def chains(text: str) -> list[Chain]:
    """ "abc de" → two chains of mentions named by letters."""
    return [[(ord(letter), ord(letter) + 1) for letter in chain] for chain in text.split()]


#: Pradhan et al., 2014, "Scoring Coreference Partitions of Predicted Mentions: A Reference Implementation".
KEY, RESPONSE = chains("abc defg"), chains("ab cd fghi")


def test_muc_of_the_published_example() -> None:
    shares = muc(RESPONSE, KEY)
    assert (shares.recall, shares.precision, shares.f1) == pytest.approx((2 / 5, 2 / 5, 2 / 5))


def test_b_cubed_of_the_published_example() -> None:
    shares = b_cubed(RESPONSE, KEY)
    assert shares.recall == pytest.approx((4 / 3 + 1 / 3 + 1 / 4 + 4 / 4) / 7)
    assert shares.precision == pytest.approx((4 / 2 + 1 / 2 + 1 / 2 + 4 / 4) / 8)
    assert round(shares.f1, 2) == 0.45 or round(shares.f1, 2) == 0.46


def test_ceaf_of_the_published_example() -> None:
    shares = ceaf(RESPONSE, KEY)
    assert (shares.recall, shares.precision) == pytest.approx((1.3 / 2, 1.3 / 3))
    assert round(shares.f1, 2) == 0.52


@pytest.mark.parametrize(
    ("response", "recall", "precision"),
    [("ab cde", 3 / 4, 3 / 3), ("abcde", 1, 4 / 4), ("a b c d e", 0, 0), ("abcdefgh", 1, 4 / 7)],
)
def test_muc_counts_links(response: str, recall: float, precision: float) -> None:
    """Vilain et al., 1995: one true chain of five."""
    shares = muc(chains(response), chains("abcde"))
    assert (shares.recall, shares.precision) == pytest.approx((recall, precision))


def test_b_cubed_of_bagga_and_baldwin() -> None:
    """Truth {1-5} {6 7} {8-12}: joining the two large chains loses less than joining a large and the small one."""
    truth = chains("abcde fg hijkl")
    assert b_cubed(chains("abcde fghijkl"), truth).precision == pytest.approx(16 / 21)
    assert b_cubed(chains("abcdehijkl fg"), truth).precision == pytest.approx(7 / 12)


@st.composite
def partitions(draw: st.DrawFn) -> list[Chain]:
    places = draw(st.dictionaries(st.integers(0, 7), st.integers(0, 4)))
    groups: dict[int, list[tuple[int, int]]] = {}
    for mention, group in places.items():
        groups.setdefault(group, []).append((mention, mention + 1))
    return list(groups.values())


def best_by_brute_force(predicted: list[Chain], gold: list[Chain]) -> float:
    few, many = sorted((predicted, gold), key=len)
    return max(
        sum(2 * len({*a} & {*b}) / (len(a) + len(b)) for a, b in zip(few, order, strict=True))
        for order in permutations(many, len(few))
    )


@given(partitions(), partitions())
def test_ceaf_is_the_best_of_all_alignments(predicted: list[Chain], gold: list[Chain]) -> None:
    shares = ceaf(predicted, gold)
    best = best_by_brute_force(predicted, gold)
    assert shares.recall_part == shares.precision_part == pytest.approx(best)
    assert (shares.recall_whole, shares.precision_whole) == (len(gold), len(predicted))


@given(partitions(), partitions())
def test_precision_is_recall_with_the_sides_changed(predicted: list[Chain], gold: list[Chain]) -> None:
    for metric in (muc, b_cubed, ceaf):
        assert metric(predicted, gold).precision == pytest.approx(metric(gold, predicted).recall)


@given(partitions())
def test_the_truth_scores_100(gold: list[Chain]) -> None:
    scores = score_chains([(gold, gold)])
    assert scores["b3"] == pytest.approx(100 if gold else 0)
    assert scores["muc"] == pytest.approx(100 if any(len(chain) > 1 for chain in gold) else 0)


def test_documents_add_up_before_the_mean_is_taken() -> None:
    scores = score_chains([(RESPONSE, KEY), (chains("abcde"), chains("abcde"))])
    assert scores["muc_recall"] == pytest.approx(100 * (2 + 4) / (5 + 4))
    assert scores["conll"] == pytest.approx((scores["muc"] + scores["b3"] + scores["ceaf"]) / 3)


def test_nothing_found_scores_nothing() -> None:
    assert set(score_chains([([], KEY)]).values()) == {0}
