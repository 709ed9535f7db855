"""Words in a fixed order, optionally with counts: which id a word has, and which word an id.

On disk (native): UTF-8, one word a line, ``word`` or ``word<TAB>count``, ids are line numbers; either every line has a
count or none. A word is kept as it is, so it may hold blanks (even consist of one) but no tab, "\\n" or "\\r".
A bilm-tf vocabulary is looser: see `Vocabulary.read_bilm_tf`.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from polyseme.errors import ConfigError, InputError
from polyseme.jobs.atomic import replace_when_complete
from polyseme.text.characters import composed
from polyseme.text.lines import open_bytes, read_lines

BEGIN, END, UNKNOWN = "<S>", "</S>", "<UNK>"
SPECIALS = (BEGIN, END, UNKNOWN)
_NOT_WRITABLE = re.compile(r"[\t\n\r]")


@dataclass(frozen=True)
class Vocabulary:
    """``words[i]`` has id i. A word that stands there twice keeps both ids; its lookup gives the last one."""

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

        ``size`` bounds the number of entries, specials included. What is left out is counted as ``<UNK>``.
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
        """A native vocabulary file (also .gz): every word exactly as it stands there."""
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
        """A vocabulary file of bilm-tf (also .gz), by its rules.

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
        """The id of ``word``, as it is or composed, or None."""
        found = self._ids.get(word)
        return self._ids.get(composed(word)) if found is None and not word.isascii() else found

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """The ids of ``tokens``; an unknown one is ``<UNK>``."""
        unknown = self._ids.get(UNKNOWN)
        found = [unknown if (number := self.find(token)) is None else number for token in tokens]
        if unknown is None and None in found:
            raise ConfigError(f"the vocabulary has no {UNKNOWN}, so every token must be in it, but one is not")
        return [number for number in found if number is not None]

    def check_for_training(self) -> None:
        """Refuse what would train two outputs for one word, or none for a special."""
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
