"""The words of the softmax: the most frequent ones of the corpus, or those of a given file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from polyseme.errors import ConfigError
from polyseme.text.vocabulary import BEGIN, END, SPECIALS, UNKNOWN, Vocabulary


@dataclass(frozen=True)
class WordChoice:
    """Bounds for the words of a corpus, or the words themselves."""

    size: int | None = None  # including the specials
    min_count: int = 1
    given: Vocabulary | None = None

    def __post_init__(self) -> None:
        if self.given is not None and (self.size is not None or self.min_count != 1):
            raise ConfigError("a given vocabulary is used as it is; leave out its size and the smallest count")
        if self.size is not None and self.size <= len(SPECIALS):
            raise ConfigError(f"a vocabulary of {self.size} has no room for a word besides {', '.join(SPECIALS)}")
        if self.min_count < 1:
            raise ConfigError(f"the smallest count must be at least 1, not {self.min_count}")


def read_for_training(path: Path) -> Vocabulary:
    """A vocabulary file of bilm-tf, or a native one with counts (which are ignored)."""
    vocabulary = Vocabulary.read_bilm_tf(path)
    if any("\t" in word for word in vocabulary.words):
        vocabulary = Vocabulary.read(path)
    try:
        vocabulary.check_for_training()
    except ConfigError as problem:
        raise ConfigError(f"{path}: {problem}") from None
    return vocabulary


def choose_words(types: Sequence[str], counts: Sequence[int], sentences: int, choice: WordChoice) -> Vocabulary:
    """The words of the softmax with their counts in this corpus.

    Every sentence is framed by <S> and </S>, so these occur ``sentences`` times; all other types count as <UNK>.
    """
    occurs = dict(zip(types, counts, strict=True))
    total = sum(counts) + 2 * sentences
    for frame in (BEGIN, END):
        occurs[frame] = occurs.get(frame, 0) + sentences
    if choice.given is None:
        vocabulary = Vocabulary.build(occurs, size=choice.size, min_count=choice.min_count)
        if len(vocabulary) == len(SPECIALS):
            raise ConfigError(
                f"no word occurs {choice.min_count} times or more, the most frequent one {counts[0]} times; "
                "lower the smallest count"
            )
        return vocabulary
    known = [occurs.get(word, 0) if word != UNKNOWN else 0 for word in choice.given.words]
    unknown = total - sum(known)
    return Vocabulary(
        choice.given.words,
        tuple(unknown if word == UNKNOWN else count for word, count in zip(choice.given.words, known, strict=True)),
    )
