"""Spans and tags: each scheme read and written, wrong lines refused, and F1 as another program computes it."""

from __future__ import annotations

import itertools
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyseme.errors import InputError
from polyseme.tasks.spans import Scheme, Span, find_scheme, may_follow, may_start, span_scores, spans_of, tags_of

SCHEMES: tuple[Scheme, ...] = ("IOB1", "IOB2", "BIOES", "BIOUL")


def place(sentence: int, token: int) -> str:
    return f"sentence {sentence}, token {token}"


@st.composite
def sentences(draw: st.DrawFn) -> tuple[list[Span], int]:
    spans, here = [], 0
    for _ in range(draw(st.integers(0, 5))):
        start = here + draw(st.integers(0, 2))
        here = start + draw(st.integers(1, 3))
        spans.append(Span(draw(st.sampled_from(["PER", "LOC", "AM-TMP"])), start, here))
    return spans, here + draw(st.integers(0, 2))


@given(sentence=sentences(), scheme=st.sampled_from(SCHEMES))
def test_tags_say_what_the_spans_are(sentence: tuple[list[Span], int], scheme: Scheme) -> None:
    spans, length = sentence
    tags = tags_of(spans, length, scheme)
    assert len(tags) == length
    assert spans_of(tags) == spans
    assert all(may_follow(a, b, scheme) for a, b in itertools.pairwise(tags))
    assert not tags or may_start(tags[0], scheme)


def test_the_four_schemes_on_one_sentence() -> None:
    spans = [Span("LOC", 3, 6), Span("LOC", 6, 7)]
    assert tags_of(spans, 7, "IOB1")[3:] == ["I-LOC", "I-LOC", "I-LOC", "B-LOC"]
    assert tags_of(spans, 7, "IOB2")[3:] == ["B-LOC", "I-LOC", "I-LOC", "B-LOC"]
    assert tags_of(spans, 7, "BIOES")[3:] == ["B-LOC", "I-LOC", "E-LOC", "S-LOC"]
    assert tags_of(spans, 7, "BIOUL")[3:] == ["B-LOC", "I-LOC", "L-LOC", "U-LOC"]


@given(found=st.lists(sentences(), min_size=1, max_size=6), scheme=st.sampled_from(SCHEMES))
def test_the_scheme_of_a_file_is_recognised(found: list[tuple[list[Span], int]], scheme: Scheme) -> None:
    tagged = [tags_of(spans, length, scheme) for spans, length in found]
    assert find_scheme(tagged, place)
    assert [spans_of(tags) for tags in tagged] == [spans for spans, _ in found]


@pytest.mark.parametrize(
    ("tags", "where"),
    [
        ([["O"], ["O", "B-X", "I-Y", "B-X"]], "sentence 1, token 2"),  # IOB1 fails before, so IOB2 was meant
        ([["B-X", "O", "E-X"]], "sentence 0, token 2"),  # one misfit in IOB2, two in BIOES
        ([["B-X", "I-X", "O", "S-X"], ["B-X", "O"]], "sentence 0, token 3"),  # a stray tag makes no file BIOES
        ([["B-X", "O", "U-Y"], ["U-X"], ["B-X", "L-X"]], "sentence 0, token 1"),  # nor does an open span unmake one
        ([["S-X", "B-X"]], "sentence 0, token 1"),
        ([["U-X", "L-X"]], "sentence 0, token 1"),
        ([["E-X", "U-X"]], "sentence 0, token 0"),
    ],
)
def test_tags_of_no_scheme_are_refused_with_their_place(tags: list[list[str]], where: str) -> None:
    with pytest.raises(InputError, match=where):
        find_scheme(tags, place)


@settings(max_examples=25)
@given(pairs=st.lists(st.tuples(sentences(), sentences()), min_size=1, max_size=6))
def test_f1_is_that_of_seqeval(pairs: list[tuple[tuple[list[Span], int], tuple[list[Span], int]]]) -> None:
    seqeval = pytest.importorskip("seqeval.metrics")
    schemes = pytest.importorskip("seqeval.scheme")
    lengths = [max(gold[1], found[1]) for gold, found in pairs]
    gold = [tags_of(g[0], n, "IOB2") for (g, _), n in zip(pairs, lengths, strict=True)]
    found = [tags_of(f[0], n, "IOB2") for (_, f), n in zip(pairs, lengths, strict=True)]
    ours = span_scores([g[0] for g, _ in pairs], [f[0] for _, f in pairs])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not any(tag != "O" for tags in gold + found for tag in tags):
            assert ours.values["f1"] == 0
            return
        theirs = seqeval.classification_report(
            gold, found, mode="strict", scheme=schemes.IOB2, output_dict=True, zero_division=0
        )
    for name, key in (("precision", "precision"), ("recall", "recall"), ("f1", "f1-score")):
        assert ours.values[name] == pytest.approx(100 * theirs["micro avg"][key])
        for label, scores in ours.classes.items():
            assert scores[name] == pytest.approx(100 * theirs[label][key])


def test_confusion_is_over_spans_in_the_same_place() -> None:
    gold = [[Span("PER", 0, 2), Span("LOC", 3, 4)]]
    found = [[Span("ORG", 0, 2), Span("LOC", 3, 5)]]
    confusion = span_scores(gold, found).confusion
    assert confusion is not None
    counts = {
        (a, b): confusion.counts[i][j]
        for i, a in enumerate(confusion.labels)
        for j, b in enumerate(confusion.labels)
        if confusion.counts[i][j]
    }
    assert counts == {("PER", "ORG"): 1, ("LOC", "O"): 1, ("O", "LOC"): 1}
