"""Words in a fixed order, optionally with counts; and sentences as the ids that a model reads.

A ``Vocabulary`` maps words to ids and ids to words. An ``Indexer`` makes a row for each token: its word id and its
character ids.

On disk (native): UTF-8, one word per line, ``word`` or ``word<TAB>count``, ids are line numbers; either every line has
a count or none has. A word is stored unchanged, so it may contain blanks (or be one) but no tab, "\\n" or "\\r".
A bilm-tf vocabulary is looser: see `Vocabulary.read_bilm_tf`.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from polyseme.errors import ConfigError, InputError
from polyseme.jobs.atomic import replace_when_complete
from polyseme.text.characters import Characters, composed
from polyseme.text.lines import open_bytes, read_lines

BEGIN, END, UNKNOWN = "<S>", "</S>", "<UNK>"
SPECIALS = (BEGIN, END, UNKNOWN)
_NOT_WRITABLE = re.compile(r"[\t\n\r]")
Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Vocabulary:
    """``words[i]`` has id i. A word that occurs twice keeps both ids; looking it up gives the last one."""

    words: tuple[str, ...]
    counts: tuple[int, ...] | None = None
    _ids: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.counts is not None and len(self.counts) != len(self.words):
            raise ConfigError(f"a vocabulary of {len(self.words)} words was given {len(self.counts)} counts")
        object.__setattr__(self, "_ids", {word: number for number, word in enumerate(self.words)})

    @classmethod
    def build(cls, counts: Mapping[str, int], *, size: int | None = None, min_count: int = 1) -> Vocabulary:
        """The specials, then the words by decreasing count (ties by code points), always in the same order.

        ``size`` limits the number of entries, including the specials. Words left out are counted as ``<UNK>``.
        """
        if size is not None and size < len(SPECIALS):
            raise ConfigError(
                f"a vocabulary needs at least its {len(SPECIALS)} special words; size={size} is too small"
            )
        kept = [(word, count) for word, count in counts.items() if count >= min_count and word not in SPECIALS]
        kept.sort(key=lambda entry: (-entry[1], entry[0]))
        kept = kept[: None if size is None else size - len(SPECIALS)]
        left_out = sum(counts.values()) - counts.get(BEGIN, 0) - counts.get(END, 0) - sum(n for _, n in kept)
        specials = [(BEGIN, counts.get(BEGIN, 0)), (END, counts.get(END, 0)), (UNKNOWN, left_out)]
        entries = specials + kept
        vocabulary = cls(tuple(word for word, _ in entries), tuple(count for _, count in entries))
        vocabulary._check_writable()
        return vocabulary

    @classmethod
    def read(cls, path: str | Path) -> Vocabulary:
        """Read a native vocabulary file (also .gz); every word is kept exactly as written."""
        words, counts = list[str](), list[int]()
        for number, line in enumerate(_lines(path), start=1):
            word, tab, count = line.partition("\t")
            if words and bool(tab) != bool(counts):
                raise InputError(f"{path}, line {number}: either every line has a count or none has")
            words.append(word)
            if tab:
                if not (count.isascii() and count.isdigit()):
                    raise InputError(f"{path}, line {number}: {count[:20]!r} is not a count; expected word, tab, count")
                counts.append(int(count))
        return cls(tuple(words), tuple(counts) if counts else None)

    @classmethod
    def read_bilm_tf(cls, path: str | Path) -> Vocabulary:
        """Read a bilm-tf vocabulary file (also .gz), by its rules.

        Each line is stripped of surrounding white space; ``!!!MAXTERMID`` is skipped and takes no id; a blank line is
        the empty token.
        """
        stripped = (line.strip() for line in _lines(path))
        return cls(tuple(word for word in stripped if word != "!!!MAXTERMID"))

    def write(self, path: str | Path) -> None:
        """Write it natively, with counts if there are any, compressed if the name ends in .gz."""
        self._check_writable()
        if self.counts is None:
            lines: Iterable[str] = self.words
        else:
            lines = (f"{word}\t{count}" for word, count in zip(self.words, self.counts, strict=True))
        data = "".join(f"{line}\n" for line in lines).encode()
        with replace_when_complete(Path(path)) as file:
            file.write(gzip.compress(data, mtime=0) if Path(path).suffix.lower() == ".gz" else data)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._ids

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} words{', with counts' if self.counts else ''})"

    def find(self, word: str) -> int | None:
        """The id of ``word``, as written or composed, or None."""
        found = self._ids.get(word)
        return self._ids.get(composed(word)) if found is None and not word.isascii() else found

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """The ids of ``tokens``; unknown ones get that of ``<UNK>``."""
        unknown = self._ids.get(UNKNOWN)
        found = [unknown if (number := self.find(token)) is None else number for token in tokens]
        if unknown is None and None in found:
            raise ConfigError(f"the vocabulary has no {UNKNOWN}, so every token must be in it, but one is not")
        return [number for number in found if number is not None]

    def check_for_training(self) -> None:
        """Refuse a vocabulary that would train two outputs for one word, or none for a special."""
        missing = [special for special in SPECIALS if special not in self]
        if missing:
            raise ConfigError(f"the vocabulary lacks {', '.join(missing)}; add a line for each")
        if len(self._ids) != len(self.words):
            twice = [word for word, times in Counter(self.words).items() if times > 1]
            listed = ", ".join(map(repr, twice[:5])) + (", …" if len(twice) > 5 else "")
            raise ConfigError(
                f"the vocabulary has {len(twice)} words more than once ({listed}); keep one line for each"
            )

    def _check_writable(self) -> None:
        for word in self.words:
            if _NOT_WRITABLE.search(word):
                raise InputError(
                    f"the word {word[:40]!r} holds a tab or a line break, which no vocabulary file can hold"
                )


def _lines(path: str | Path) -> Iterable[str]:
    with open_bytes(str(path)) as stream:
        yield from read_lines(stream, str(path))


@dataclass(frozen=True, slots=True)
class WordTable:
    """Word ids of a model that looks words up. ``ids`` are rows of its table, counted from 0."""

    ids: Mapping[str, int]
    unknown: str | None  #: what a word that is not there counts as; None: it cannot be read
    begin: str
    end: str
    longest: int | None = None  #: code points of a token that are looked up; ELMoForManyLangs cuts the rest off

    def __post_init__(self) -> None:
        for name in (self.unknown, self.begin, self.end):
            if name is not None and name not in self.ids:
                raise ConfigError(f"the vocabulary has no entry {name!r}, which a model of word ids needs")

    def id(self, token: str) -> int:
        """Row of the token plus one: 0 is padding."""
        found = self.ids.get(token if self.longest is None else token[: self.longest])
        if found is None and self.unknown is None:
            raise InputError(
                f"the token {token!r} is not in the model's vocabulary, which has no {UNKNOWN} either; "
                "leave it out, or use the model that reads characters"
            )
        return (self.ids[self.unknown or ""] if found is None else found) + 1


@dataclass(frozen=True, slots=True)
class Indexer:
    """What a model reads of a token, composed: a word id, character ids, or the word id before the character ids."""

    characters: Characters | None = None
    words: WordTable | None = None
    fold_width: bool = False  #: full-width and half-width forms are read as the usual ones

    def __post_init__(self) -> None:
        if self.characters is None and self.words is None:
            raise ConfigError("an indexer needs characters, words or both")

    @property
    def row_size(self) -> int:
        """K: ids in a row."""
        return (1 if self.words else 0) + (self.characters.max_characters if self.characters else 0)

    def row(self, token: str) -> list[int]:
        """The K ids of one token."""
        if not isinstance(token, str):
            raise InputError(f"a token should be a string, but {token!r} is of type {type(token).__name__}")
        spelled = composed(token, fold_width=self.fold_width)
        ids = [self.words.id(token if token in self.words.ids else spelled)] if self.words else []
        return ids + self.characters.row(spelled) if self.characters else ids

    def begin_row(self) -> list[int]:
        """The K ids for the beginning of a sentence."""
        ids = [self.words.id(self.words.begin)] if self.words else []
        return ids + self.characters.begin_row() if self.characters else ids

    def end_row(self) -> list[int]:
        """The K ids for the end of a sentence."""
        ids = [self.words.id(self.words.end)] if self.words else []
        return ids + self.characters.end_row() if self.characters else ids

    def rows(self, tokens: Sequence[str]) -> Ids:
        """[N, K] ids of tokens, without boundaries."""
        return np.array([self.row(t) for t in tokens], dtype=np.int64).reshape(len(tokens), self.row_size)

    def batch(self, sentences: Sequence[Sequence[str]]) -> Ids:
        """[B, T, K] ids of sentences with boundaries, zero rows as padding on the right."""
        longest = max((len(s) for s in sentences), default=0)
        ids = np.zeros((len(sentences), longest + 2, self.row_size), dtype=np.int64)
        begin, end = self.begin_row(), self.end_row()
        for b, sentence in enumerate(sentences):
            n = len(sentence)
            ids[b, 0] = begin
            ids[b, 1 : n + 1] = self.rows(sentence)
            ids[b, n + 1] = end
        return ids
