"""Reading comprehension with BiDAF and self-attention: which words of the paragraph answer the question?"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any

import torch

from polyseme.errors import InputError, quoted
from polyseme.tasks.data_files import FileReading
from polyseme.tasks.definition import Definition, Preset, Split, TrainingChoices, Vocabularies
from polyseme.tasks.inputs import Features, InputChoices, TokenInputs
from polyseme.tasks.parts.paragraphs import text_batch
from polyseme.tasks.scores import Scores
from polyseme.tasks.squad.data import Paragraph, Question, paragraph_of, read_squad
from polyseme.tasks.squad.metrics import metric_of
from polyseme.tasks.squad.network import Bidaf, BidafSizes, QuestionBatch

CHARACTERS = "characters"  # the unit at which answers begin and end, if it is not the token

PRESETS = {
    "paper": Preset(
        BidafSizes(),
        TrainingChoices(epochs=24, batch=45, rate=1.0, optimizer="adadelta", average=0.999, patience=5, halve_after=0),
        InputChoices(elmo="both", mix_penalty=0.0, characters=100, character_dim=20),
    ),
    "cpu": Preset(
        BidafSizes(hidden=50, longest_paragraph=150, paragraphs=0.32),
        TrainingChoices(epochs=4, batch=32, rate=0.002, average=0.999, patience=2, halve_after=1, looks=1000),
        InputChoices(elmo="both", elmo_dropout=0.1, characters=32),
    ),
}


class Squad(Definition[Question, BidafSizes]):
    """SQuAD v1.1 and files like it; KorQuAD and CMRC in the same format, with their own scores."""

    name = "squad"
    title = "reading comprehension"
    metric = "f1"
    suffixes = (".json",)
    presets = PRESETS

    def read(self, path: Path, split: Split) -> list[Question]:
        return read_squad(path, split)

    def examples(self, item: Any, split: Split) -> list[Question]:
        """An object with a context and a question or a list of questions; or both texts separated by a tab.

        Questions in a list get the object's id and their position as ids: a-0, a-1.
        """
        if isinstance(item, str) and item.count("\t") == 1:
            context, question = item.split("\t")
            item = {"context": context, "question": question}
        asked = item.get("question") if isinstance(item, dict) else None
        questions: list[Any] = asked if isinstance(asked, list) else [asked]
        if not isinstance(item, dict) or not all(map(_is_text, [item.get("context"), *questions])):
            raise InputError(
                "an answer needs an object with a context and a question (or both separated by a tab), "
                f"not {quoted(item)}"
            )
        paragraph = paragraph_of(item["context"], split(item["context"]))
        name = str(item.get("id", ""))
        numbered = isinstance(asked, list) and name
        return [
            Question(
                id=f"{name}-{place}" if numbered else name,
                text=text,
                tokens=paragraph_of(text, split(text)).tokens,
                paragraph=paragraph,
                answers=(),
                spans=(),
                lang=FileReading.of(split).lang,
            )
            for place, text in enumerate(questions)
        ]

    def sentences(self, example: Question) -> Sequence[Sequence[str]]:
        return [*_sentences(example.paragraph), example.tokens]

    def for_training(self, examples: list[Question], network: BidafSizes) -> list[Question]:
        """Questions whose answer was located, from a share of the paragraphs that are not too long.

        The share is of paragraphs and not of questions, because the biLM reads a paragraph once for all its questions.
        """
        fitting = [q for q in examples if q.spans and len(q.paragraph.tokens) <= network.longest_paragraph]
        return [q for q in fitting if _lot(q.paragraph.text) < network.paragraphs]

    def left_out(self, examples: list[Question], network: BidafSizes) -> str:
        """Counts in the order in which ``for_training`` filters; the share of paragraphs is chosen, so not reported."""
        longest = network.longest_paragraph
        reasons = {
            "without an answer": sum(not q.answers for q in examples),
            "whose answers are not where they say": sum(bool(q.answers) and not q.spans for q in examples),
            f"in paragraphs of more than {longest} tokens": sum(
                bool(q.spans) and len(q.paragraph.tokens) > longest for q in examples
            ),
        }
        told = [f"{number:,} {reason}" for reason, number in reasons.items() if number]
        return f"questions that are not trained on: {', '.join(told)}" if told else ""

    def check_gold(self, examples: Sequence[Question], source: str) -> None:
        for example in examples:
            if not example.answers:
                raise InputError(
                    f"{source}: the question {example.id!r} has no answers to compare with; leave out "
                    "the unanswerable ones of SQuAD 2.0"
                )

    def vocabularies(self, examples: Sequence[Question]) -> Vocabularies:
        by_character = any(metric_of(example.lang).by_character for example in examples)
        return {"answers": [CHARACTERS]} if by_character else {}

    def network(self, sizes: BidafSizes, vocabularies: Vocabularies, tokens: TokenInputs) -> Bidaf:
        return Bidaf(sizes, tokens, by_character=_by_character(vocabularies))

    def collate(self, examples: Sequence[Question], vocabularies: Vocabularies, features: Features) -> QuestionBatch:
        numbers: dict[Paragraph, int] = {}
        which = torch.tensor([numbers.setdefault(example.paragraph, len(numbers)) for example in examples])
        starts = ends = cuts = letters = None
        if all(example.spans for example in examples):
            starts = torch.tensor([example.spans[0][0] for example in examples])
            ends = torch.tensor([example.spans[0][1] - 1 for example in examples])
        paragraphs = text_batch([_sentences(paragraph) for paragraph in numbers], features)
        if _by_character(vocabularies):
            letters = torch.zeros(len(numbers), paragraphs.mask.shape[1], dtype=torch.int64)
            for row, paragraph in enumerate(numbers):
                letters[row, : len(paragraph.tokens)] = torch.tensor([b - a for a, b in paragraph.offsets])
            letters = letters[which]
            cuts = None if starts is None else torch.tensor([example.cuts[0] for example in examples]).T
        questions = features([example.tokens for example in examples])
        return QuestionBatch(paragraphs, questions, which, starts, ends, cuts, letters)

    def score(self, predictions: Sequence[Any], examples: Sequence[Question]) -> Scores:
        pairs = zip(examples, predictions, strict=True)
        answers = {example.id: _answer(example, found) for example, found in pairs}
        metric = metric_of(examples[0].lang if examples else "en")
        return Scores(metric.score(answers, {example.id: example.answers for example in examples}))

    def record(self, example: Question, prediction: Any) -> dict[str, Any]:
        start, end = prediction["span"]
        first, last = example.paragraph.characters(start, end, prediction.get("cut", (0, 0)))
        return {
            **({"id": example.id} if example.id else {}),
            "question": example.text,
            "answer": _answer(example, prediction),
            "start": first,
            "end": last,
            "probability": prediction["share"],
        }

    def write(self, pairs: Iterable[tuple[Question, Any]]) -> Iterator[str]:
        """The official predictions file: one JSON object, answers by the question's id.

        A question without an id gets its number or, if that is taken, the first free one of 3-0, 3-1, …
        """
        used, nameless, comma = set[str](), dict[int, str](), ""
        yield "{"
        for number, (example, prediction) in enumerate(pairs):
            answer = _answer(example, prediction)
            if not example.id:
                nameless[number] = answer
                continue
            if example.id in used:
                raise InputError(f"there are two questions with the id {example.id!r}; ids should be unique")
            used.add(example.id)
            yield comma + _entry(example.id, answer)
            comma = ","
        for number, answer in nameless.items():
            names = chain([str(number)], (f"{number}-{other}" for other in count()))
            name = next(name for name in names if name not in used)
            used.add(name)
            yield comma + _entry(name, answer)
            comma = ","
        yield "\n}\n"


def _answer(example: Question, prediction: Any) -> str:
    start, end = prediction["span"]
    return example.paragraph.answer(start, end, prediction.get("cut", (0, 0)))


def _by_character(vocabularies: Vocabularies) -> bool:
    return CHARACTERS in vocabularies.get("answers", ())


def _sentences(paragraph: Paragraph) -> list[Sequence[str]]:
    return [paragraph.tokens[start:end] for start, end in paragraph.sentences]


def _entry(name: str, answer: str) -> str:
    return f"\n{json.dumps(name, ensure_ascii=False)}: {json.dumps(answer, ensure_ascii=False)}"


def _lot(text: str) -> float:
    """A number in [0, 1), always the same for the same text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest()) / 2**32


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


TASK = Squad()
