"""Spans as tags, in the schemes that files use; F1 over spans; and predictions with their confidence.

I live in New York City      IOB1   O O O I-LOC I-LOC I-LOC     B- only where a span touches one of its own class
San Jose                     IOB2   O O O B-LOC I-LOC I-LOC     every span begins with B-
                             BIOES  O O O B-LOC I-LOC E-LOC     S- is a span of one token
                             BIOUL  O O O B-LOC I-LOC L-LOC     the same with U- and L-

A predicted label or span equals the same gold one, so scores, files and JSON treat both alike, while a record can add
the confidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from polyseme.errors import InputError
from polyseme.tasks.scores import Confusion, Scores, precision_recall_f1

Scheme = Literal["IOB1", "IOB2", "BIOES", "BIOUL"]


class Span(NamedTuple):
    """The tokens [start, end) are one ``label``."""

    label: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Letters:
    """A scheme's letters for a token, by its position in a span."""

    single: str
    first: str
    inside: str
    last: str


LETTERS: dict[Scheme, Letters] = {
    "IOB1": Letters("I", "I", "I", "I"),
    "IOB2": Letters("B", "B", "I", "I"),
    "BIOES": Letters("S", "B", "I", "E"),
    "BIOUL": Letters("U", "B", "I", "L"),
}
_BY_LIKELIHOOD: tuple[Scheme, ...] = ("IOB2", "IOB1", "BIOES", "BIOUL")


def may_start(tag: str, scheme: Scheme) -> bool:
    """Whether a sentence can begin with this tag."""
    return may_follow("O", tag, scheme)


def may_end(tag: str, scheme: Scheme) -> bool:
    """Whether a sentence can end with this tag."""
    return scheme in ("IOB1", "IOB2") or tag[:1] not in ("B", "I")


def may_follow(before: str, tag: str, scheme: Scheme) -> bool:
    """Whether one tag can follow another."""
    (a, label_before), (b, label) = split_tag(before), split_tag(tag)
    if scheme == "IOB1":
        return b != "B" or label == label_before
    if scheme == "IOB2":
        return b != "I" or (a in ("B", "I") and label == label_before)
    if a in ("B", "I"):  # a span is open: it continues or ends, with the same label
        return b in ("I", LETTERS[scheme].last) and label == label_before
    return b not in ("I", LETTERS[scheme].last)


def split_tag(tag: str) -> tuple[str, str]:
    """ "B-LOC" → ("B", "LOC"), "O" → ("O", "")"""
    letter, _, label = tag.partition("-")
    return letter, label


def is_tag(text: str) -> bool:
    letter, label = split_tag(text)
    return text == "O" or (letter in tuple("BIESUL") and bool(label))


def find_scheme(sentences: Sequence[Sequence[str]], place: Callable[[int, int], str]) -> Scheme:
    """The scheme that all these tags follow; else InputError with the ``place(sentence, token)`` of a misfit.

    If none fits, the one with the fewest misfits was probably meant: a single S-LOC does not make a file BIOES.
    """
    fits = next((scheme for scheme in _BY_LIKELIHOOD if next(_misfits(sentences, scheme), None) is None), None)
    if fits is not None:
        return fits
    wrong = {scheme: list(_misfits(sentences, scheme)) for scheme in _BY_LIKELIHOOD}
    fewest = min(map(len, wrong.values()))
    (sentence, token), scheme = max((found[0], scheme) for scheme, found in wrong.items() if len(found) == fewest)
    tags = sentences[sentence]
    if token == len(tags):
        raise InputError(
            f"{place(sentence, token - 1)}: the sentence ends inside a span, which {scheme} does not allow"
        )
    before = tags[token - 1] if token else "the beginning of a sentence"
    raise InputError(
        f"{place(sentence, token)}: the tag {tags[token]!r} cannot follow {before!r} in {scheme}; "
        "tags should follow one scheme throughout: IOB1, IOB2, BIOES or BIOUL"
    )


def _misfits(sentences: Sequence[Sequence[str]], scheme: Scheme) -> Iterator[tuple[int, int]]:
    """(sentence, token) of every tag that is not allowed there; one past the last token if a span is left open."""
    letters = LETTERS[scheme]
    known = {"O", "B", "I", letters.last, letters.single}
    for number, tags in enumerate(sentences):
        for token, (before, tag) in enumerate(zip(["O", *tags], tags, strict=False)):
            if tag[:1] not in known or not may_follow(before, tag, scheme):
                yield number, token
        if tags and not may_end(tags[-1], scheme):
            yield number, len(tags)


def spans_of(tags: Sequence[str]) -> list[Span]:
    """The spans of tags of any scheme; of tags that follow none, as the CoNLL scorer reads them.

    An I- where nothing is open begins a span.
    """
    spans: list[Span] = []
    start, open_label = 0, ""
    for token, tag in enumerate([*tags, "O"]):
        letter, label = split_tag(tag)
        begins = letter != "O" and (letter in ("B", "S", "U") or label != open_label)
        if open_label and (begins or letter == "O"):
            spans.append(Span(open_label, start, token))
            open_label = ""
        if begins:
            start, open_label = token, label
        if letter in ("E", "L", "S", "U"):
            spans.append(Span(open_label, start, token + 1))
            open_label = ""
    return spans


def tags_of(spans: Sequence[Span], length: int, scheme: Scheme) -> list[str]:
    """The tags of ``length`` tokens with these spans, which do not overlap."""
    tags, letters = ["O"] * length, LETTERS[scheme]
    for span in sorted(spans, key=lambda span: span.start):
        inner = [letters.inside] * (span.end - span.start - 2)
        row = [letters.single] if span.end - span.start == 1 else [letters.first, *inner, letters.last]
        tags[span.start : span.end] = [f"{letter}-{span.label}" for letter in row]
        if scheme == "IOB1" and span.start and tags[span.start - 1].endswith(f"-{span.label}"):
            tags[span.start] = f"B-{span.label}"
    return tags


def span_scores(gold: Sequence[Sequence[Span]], predicted: Sequence[Sequence[Span]]) -> Scores:
    """Precision, recall and F1 of exact spans with their labels, over all and for each label."""
    right: Counter[str] = Counter()
    gold_counts = Counter(span.label for spans in gold for span in spans)
    predicted_counts = Counter(span.label for spans in predicted for span in spans)
    for expected, found in zip(gold, predicted, strict=True):
        right.update(span.label for span in set(expected) & set(found))
    labels = sorted({*gold_counts, *predicted_counts})
    overall = precision_recall_f1(right.total(), predicted_counts.total(), gold_counts.total())
    return Scores(
        {name: value for name, value in overall.items() if name != "support"},
        {label: precision_recall_f1(right[label], predicted_counts[label], gold_counts[label]) for label in labels},
        span_confusion(gold, predicted),
    )


def span_confusion(gold: Sequence[Sequence[Span]], predicted: Sequence[Sequence[Span]]) -> Confusion:
    """Labels of spans with the same tokens; "O" if the other side has no such span."""
    pairs: list[tuple[str, str]] = []
    for expected, found in zip(gold, predicted, strict=True):
        by_place = {(span.start, span.end): span.label for span in expected}
        answers = {(span.start, span.end): span.label for span in found}
        pairs += [(by_place.get(key, "O"), answers.get(key, "O")) for key in {**by_place, **answers}]
    return Confusion.of([a for a, _ in pairs], [b for _, b in pairs])


class FoundLabel(str):
    """A predicted label and its probability."""

    confidence: float

    @classmethod
    def of(cls, label: str, confidence: float) -> FoundLabel:
        found = cls(label)
        found.confidence = round(confidence, 4)
        return found


class FoundSpan(Span):
    """A predicted span and the probability of its least certain tag."""

    confidence: float

    @classmethod
    def of(cls, span: Span, confidences: list[float]) -> FoundSpan:
        """``confidences`` has one number for each tag of the sentence."""
        found = cls(*span)
        found.confidence = round(min(confidences[span.start : span.end]), 4)
        return found


def sure(found: object) -> dict[str, float]:
    """The confidence for a record; empty if the label or span was not predicted by a network."""
    confidence = getattr(found, "confidence", None)
    return {} if confidence is None else {"confidence": confidence}
