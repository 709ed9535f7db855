"""The choices that choices.py compares, grouped by the question that they answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Unit = Literal["word", "character", "particle"]
Question = Literal["units", "sizes", "recipe"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to do one thing; everything else is as in the recipe compact without dropout."""

    name: str
    lang: str
    words: int  #: of the softmax
    changes: tuple[str, ...] = ()
    unit: Unit = "word"  #: of the text: a word, a Han character or Hangul syllable, a word without its particle
    question: Question = "units"  #: the question it answers; choices for one question are compared with each other
    everyday: int = 1  #: how often everyday text, dialogue and novels are read; the encyclopaedia is read once
    seed: int = 0


#: Settings of the trials of sizes and recipes, unless they change them.
BASE = (
    "model.cell=512",
    "model.projection=256",
    "text.tokens=1280",
    "optimizer.rate=0.004",
    "optimizer.average=0.9995",
)


def english(question: Question, name: str, *changes: str, everyday: int = 2, seed: int = 0) -> Choice:
    """A trial on all of the English text; changes override BASE."""
    return Choice(name, "en", 70_000, (*BASE, *changes), question=question, everyday=everyday, seed=seed)


def sizes(seed: int) -> Iterator[Choice]:
    for cell, size in ((512, 128), (512, 256), (1024, 128), (1024, 256)):
        name = f"cells {cell}, vectors {2 * size}{', second seed' if seed else ''}"
        yield english("sizes", name, f"model.cell={cell}", f"model.projection={size}", seed=seed)


KOREAN_CHARACTERS = ("model.input=unicode", "model.filters=[[1,64],[2,128],[3,160],[4,160]]")
CHOICES = (
    Choice("en, rate 0.002", "en", 80_000, ("optimizer.rate=0.002",)),
    Choice("en, rate 0.004", "en", 80_000),
    Choice("en, rate 0.008", "en", 80_000, ("optimizer.rate=0.008",)),
    Choice("en, 50,000 words", "en", 50_000),
    Choice("ko, words of bytes", "ko", 88_000),
    Choice("ko, words of bytes, 50,000", "ko", 50_000),
    Choice("ko, words of Unicode", "ko", 88_000, KOREAN_CHARACTERS),
    Choice(
        "ko, words of Unicode, particles apart",
        "ko",
        88_000,
        KOREAN_CHARACTERS,
        "particle",
    ),
    Choice("ko, syllables", "ko", 12_000, ("model.input=words", "softmax.kind=full"), "character"),
    Choice("zh, words of bytes", "zh", 88_000),
    Choice("zh, words of Unicode", "zh", 88_000, ("model.input=unicode", "model.filters=[[1,256],[2,192],[3,64]]")),
    Choice("zh, characters", "zh", 12_000, ("model.input=words", "softmax.kind=full"), "character"),
    *sizes(seed=0),
    *sizes(seed=1),
    english("recipe", "as it is: rate 0.004, batches of 1,280"),
    english("recipe", "rate 0.002", "optimizer.rate=0.002"),
    english("recipe", "rate 0.008", "optimizer.rate=0.008"),
    english("recipe", "batches of 640", "text.tokens=640"),
    english("recipe", "batches of 2,560", "text.tokens=2560"),
    english("recipe", "512 negatives", "softmax.negatives=512"),
    english("recipe", "8,192 negatives", "softmax.negatives=8192"),
    english("recipe", "no moving average", "optimizer.average=0"),
    english("recipe", "three sentences together", "text.together=3"),
    english("recipe", "a tenth in capitals", "text.capitals=0.1"),
    english("recipe", "everyday text once", everyday=1),
    english("recipe", "everyday text four times", everyday=4),
)
