"""A few lines of data for each task, in its official format, with something in them that can be learned."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from polyseme.tasks.coref.data import CorefDocument, document_lines, new_document
from polyseme.tasks.spans import Span
from polyseme.tasks.srl.data import Frame, SrlSentence, new_sentence, sentence_lines

NAMES = ["Ada", "Bob", "Cleo", "Dan", "Eve", "Finn"]
CITIES = ["Oslo", "Rome", "Paris", "Delhi", "Lima", "Quito"]
VERBS = ["sees", "hears", "knows"]
LABEL_OF_WORD = {"yes": "entailment", "no": "contradiction", "perhaps": "neutral"}
SUBJECTS = ["A dog barks.", "Two men sit in a boat", "The sun is up."]


def write_pairs(path: Path, times: int) -> Path:
    """The last word of the hypothesis tells the label."""
    rows = [f"{label}\t{subject}\tIt is {word}" for subject in SUBJECTS for word, label in LABEL_OF_WORD.items()]
    path.write_text("\n".join(rows * times))
    return path


def write_squad(path: Path, count: int, seed: int) -> Path:
    """ "What does Ada like?" is answered by the city in the sentence with Ada."""
    dice, paragraphs = random.Random(seed), list[Any]()
    for number in range(count):
        facts = list(zip(dice.sample(NAMES, 3), dice.sample(CITIES, 3), strict=True))
        context = " ".join(f"Here {name} likes {city}." for name, city in facts)
        name, city = dice.choice(facts)
        answers = [{"text": city, "answer_start": context.index(city)}]
        qas = [{"id": f"q{number}", "question": f"What does {name} like?", "answers": answers}]
        paragraphs.append({"context": context, "qas": qas})
    path.write_text(json.dumps({"data": [{"title": "t", "paragraphs": paragraphs}]}))
    return path


KOREAN_NAMES, KOREAN_CITIES = ["영희", "철수", "민수", "지우"], ["서울", "부산", "대구", "광주"]


def write_korquad(path: Path, count: int, seed: int) -> Path:
    """Answers are names of cities without the particles that follow them, of one character or two."""
    dice, paragraphs = random.Random(seed), list[Any]()
    for number in range(count):
        facts = list(
            zip(
                dice.sample(["영희", "철수", "민수", "지우"], 3),
                dice.sample(["서울", "부산", "대구", "광주"], 3),
                strict=True,
            )
        )
        context = " ".join(f"{name}는 {city}{dice.choice(['에서', '에'])} 산다." for name, city in facts)
        name, city = dice.choice(facts)
        answers = [{"text": city, "answer_start": context.index(city)}]
        qas = [{"id": f"q{number}", "question": f"{name}는 어디 사는가?", "answers": answers}]
        paragraphs.append({"context": context, "qas": qas})
    content = {"version": "KorQuAD_v1.0_train", "data": [{"title": "t", "paragraphs": paragraphs}]}
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return path


def write_roles(path: Path, times: int) -> Path:
    """Who does it stands before the verb, to whom behind it."""
    made: list[SrlSentence] = []
    for one in NAMES[:4]:
        for verb in VERBS:
            words = [one, verb, "the", "old", NAMES[(NAMES.index(one) + 1) % 4], "."]
            spans = (Span("A0", 0, 1), Span("V", 1, 2), Span("A1", 2, 5))
            made.append(new_sentence(words, [Frame(1, verb, spans)], is_first=not made))
    made.append(new_sentence(["Yes", "!"], []))
    write_srl(path, [*made, *(new_sentence(s.words, s.frames) for s in made * (times - 1))])
    return path


def write_srl(path: Path, sentences: Iterable[SrlSentence]) -> None:
    path.write_bytes("".join(f"{line}\n" for sentence in sentences for line in sentence_lines(sentence)).encode())


def write_documents(path: Path, count: int, seed: int) -> Path:
    """The same name is the same person."""
    dice, documents = random.Random(seed), []
    for number in range(count):
        names = dice.sample(NAMES[:4], 2)
        said = [dice.choice(names) for _ in range(5)]
        sentences = [[name, "sleeps", "here", "."] for name in said]
        chains = {
            n: tuple((4 * i, 4 * i + 1) for i, name in enumerate(said) if name == one) for n, one in enumerate(names)
        }
        documents.append(new_document(f"d{number}", sentences, {n: m for n, m in chains.items() if m}))
    write_coref(path, documents)
    return path


def write_coref(path: Path, documents: Iterable[CorefDocument]) -> None:
    path.write_bytes("".join(f"{line}\n" for document in documents for line in document_lines(document)).encode())
