"""Reading comprehension: paragraphs, questions, and the answers' places among the paragraph's tokens.

The file is SQuAD's JSON (v1.1): data → paragraphs → context, qas → id, question, answers → text, answer_start. Answers
are given in characters, but a model points at tokens. In Korean and Chinese, answers often begin or end inside a word
("서울" in "서울에서"), so the model also points at a character of the first and of the last token. In English, such an
answer becomes the whole token. An answer whose text is not at its answer_start has no span, and is not trained on.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyseme.errors import InputError
from polyseme.tasks.data_files import FileReading
from polyseme.tasks.definition import Split
from polyseme.tasks.squad.metrics import metric_of, refuse_other_script
from polyseme.text.lines import open_bytes
from polyseme.text.tokenization import Sentence

Span = tuple[int, int]

ENOUGH_TO_TELL = 2000  # characters of a file from which its script is detected


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A text and its tokens; ``text[a:b]`` is a token for each (a, b) of the offsets."""

    text: str
    tokens: tuple[str, ...]
    offsets: tuple[Span, ...]
    sentences: tuple[Span, ...]  # in tokens, one after another

    def characters(self, start: int, end: int, cut: Span = (0, 0)) -> Span:
        """The characters of the tokens [start, end), without those cut from both ends."""
        return self.offsets[start][0] + cut[0], self.offsets[end - 1][1] - cut[1]

    def answer(self, start: int, end: int, cut: Span = (0, 0)) -> str:
        """Their text."""
        first, last = self.characters(start, end, cut)
        return self.text[first:last]


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a paragraph.

    ``spans`` are its answers in tokens, where they could be located; ``cuts`` are how many characters of each one's
    first and last token do not belong to it, all 0 if answers are whole tokens.
    """

    id: str
    text: str
    tokens: tuple[str, ...]
    paragraph: Paragraph
    answers: tuple[str, ...]
    spans: tuple[Span, ...]
    cuts: tuple[Span, ...] = ()
    lang: str = "en"  # decides how answers are scored


def read_squad(path: str | Path, split: Split) -> list[Question]:
    """All questions of a file in SQuAD's format, in order, with texts split by ``split``."""
    source, lang = str(path), FileReading.of(split).lang
    metric_of(lang)  # refuse a language whose answers cannot be scored before reading anything
    seen = ""
    with open_bytes(source) as stream:
        try:
            content = json.load(stream)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{source} is not JSON ({error}); expected a SQuAD v1.1 file") from None
    questions = list[Question]()
    for number, article in enumerate(_list(content, "data", source)):
        for position, entry in enumerate(_list(article, "paragraphs", f"{source}, article {number}")):
            place = f"{source}, article {number}, paragraph {position}"
            context = _text(entry, "context", place)
            if len(seen) < ENOUGH_TO_TELL:
                refuse_other_script(lang, seen := seen + context)
            paragraph = paragraph_of(context, split(context))
            questions += [_question(item, paragraph, place, split, lang) for item in _list(entry, "qas", place)]
    if not questions:
        raise InputError(f"{source} has no question; expected a SQuAD v1.1 file")
    _refuse_repeated([question.id for question in questions], source)
    return questions


def paragraph_of(text: str, sentences: Sequence[Sentence]) -> Paragraph:
    """A text with its tokens, sentence by sentence."""
    tokens = tuple(token for sentence in sentences for token in sentence.tokens)
    offsets = tuple(offset for sentence in sentences for offset in sentence.offsets)
    spans, start = list[Span](), 0
    for sentence in sentences:
        spans.append((start, start + len(sentence.tokens)))
        start += len(sentence.tokens)
    return Paragraph(text, tokens, offsets, tuple(spans))


def token_span(offsets: Sequence[Span], start: int, end: int) -> Span | None:
    """The tokens that overlap the characters [start, end), or None if there are none."""
    first = bisect_right(offsets, start, key=lambda offset: offset[1])
    last = bisect_left(offsets, end, key=lambda offset: offset[0])
    return (first, last) if first < last else None


def _question(item: Any, paragraph: Paragraph, place: str, split: Split, lang: str) -> Question:
    identifier = _text(item, "id", place)
    place = f"{place}, question {identifier!r}"
    text = _text(item, "question", place)
    answers = _list(item, "answers", place) if "answers" in item else []  # a file to predict for has none
    by_character = metric_of(lang).by_character
    places = dict.fromkeys(
        (span, _cut(answer, span, paragraph) if by_character else (0, 0))
        for answer in answers
        if (span := _answer_span(answer, paragraph, place)) is not None
    )
    return Question(
        id=identifier,
        text=text,
        tokens=paragraph_of(text, split(text)).tokens,
        paragraph=paragraph,
        answers=tuple(_text(answer, "text", place) for answer in answers),
        spans=tuple(span for span, _ in places),
        cuts=tuple(cut for _, cut in places),
        lang=lang,
    )


def _cut(answer: Any, span: Span, paragraph: Paragraph) -> Span:
    """How many characters of the first and last token are not in the answer; blanks around it are in no token."""
    (first, _), (_, last) = paragraph.offsets[span[0]], paragraph.offsets[span[1] - 1]
    start = int(answer["answer_start"])
    return max(0, start - first), max(0, last - start - len(answer["text"]))


def _answer_span(answer: Any, paragraph: Paragraph, place: str) -> Span | None:
    text = _text(answer, "text", place)
    start = answer.get("answer_start")
    if not isinstance(start, int) or isinstance(start, bool):
        raise InputError(f"{place}: answer_start should be a whole number, but is {start!r}")
    found = token_span(paragraph.offsets, start, start + len(text)) if start >= 0 else None
    return found if paragraph.text[start : start + len(text)] == text else None


def _list(value: Any, field: str, place: str) -> list[Any]:
    found = value.get(field) if isinstance(value, dict) else None
    if not isinstance(found, list):
        raise InputError(f"{place} has no list {field!r}; expected a SQuAD v1.1 file")
    return found


def _text(value: Any, field: str, place: str) -> str:
    found = value.get(field) if isinstance(value, dict) else None
    if not isinstance(found, str) or not found.strip():
        raise InputError(f"{place} has no text {field!r}; expected a SQuAD v1.1 file")
    return found


def _refuse_repeated(ids: list[str], source: str) -> None:
    seen = set[str]()
    for identifier in ids:
        if identifier in seen:
            raise InputError(f"{source} has two questions with the id {identifier!r}; ids should be unique")
        seen.add(identifier)
