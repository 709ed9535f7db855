"""How closely split_text follows the Universal Dependencies treebanks, and how fast it is.

    python benchmarks/tokenization.py [--split dev] [--data SHARED/data]

Token F1 compares character spans of words, sentence F1 those of sentences, on the running text of the treebank:
sentences joined with the spaces that the files imply, paragraphs and documents on separate lines. Speed is bytes of raw
UTF-8 per second of CPU time on one core, including sentence splitting, on the beginning of the corpus files.
Results: results/tokenization.json, and from it the table in docs/tokenization.md.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import platform
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from polyseme.text.tokenization import Span, split_text
from shared_data import DATA

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "tokenization.json"
PAGE = HERE.parent / "docs" / "tokenization.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"

TREEBANKS = {"en_ewt": "en", "ko_gsd": "ko-eojeol", "zh_gsd": "zh", "zh_gsdsimp": "zh"}
NAMES = {
    "en_ewt": "English EWT",
    "ko_gsd": "Korean GSD",
    "zh_gsd": "Chinese GSD, traditional",
    "zh_gsdsimp": "Chinese GSD, simplified",
}
RAW = {
    "en_ewt": ("en/enwiki-core-1", "en/en-dialogue"),
    "ko_gsd": ("ko/kowiki-1", "ko/ko-reviews"),
    "zh_gsd": ("zh/zhwiki-Hant",),
    "zh_gsdsimp": ("zh/zhwiki-Hans", "zh/zh-Hans-dialogue"),
}
RAW_CHARACTERS, REPEATS = 1_000_000, 3


@dataclass(frozen=True)
class Gold:
    """Running text of a treebank with the spans of its words and sentences."""

    text: str
    words: list[Span]
    sentences: list[Span]


def read_sentences(path: Path) -> Iterator[tuple[str, list[tuple[str, list[str]]], bool, bool]]:
    """For each sentence: its text, its surface tokens with their words, and whether a line or a space follows."""
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        blocks = file.read().split("\n\n")
    for block in filter(str.strip, blocks):
        lines = block.strip("\n").split("\n")
        text = next(line[len("# text = ") :] for line in lines if line.startswith("# text = "))
        new_line = any(line.startswith(("# newdoc", "# newpar")) for line in lines)
        tokens: list[tuple[str, list[str]]] = []
        inside_until, misc = 0, ""
        for number, form, *_, misc_field in (line.split("\t") for line in lines if line[0].isdigit()):
            if "." in number:
                continue  # an empty node
            if "-" in number:
                inside_until, misc = int(number.split("-")[1]), misc_field
                tokens.append((form, []))
            elif int(number) <= inside_until:
                tokens[-1][1].append(form)
            else:
                tokens.append((form, [form]))
                misc = misc_field
        yield text, tokens, new_line, "SpaceAfter=No" not in misc


def read_gold(path: Path) -> Gold:
    pieces: list[str] = []
    words: list[Span] = []
    sentences: list[Span] = []
    length, space = 0, ""
    for text, tokens, new_line, space_after in read_sentences(path):
        if pieces:
            pieces.append("\n" if new_line else space)
            length += len(pieces[-1])
        first, at = len(words), 0
        for form, parts in tokens:
            at = text.index(form, at)
            assert "".join(parts) == form, f"the words {parts} are not the surface {form!r}"
            for part in parts:
                words.append((length + at, length + at + len(part)))
                at += len(part)
        sentences.append((words[first][0], words[-1][1]))
        pieces.append(text)
        length += len(text)
        space = " " if space_after else ""
    return Gold("".join(pieces), words, sentences)


def f1(gold: list[Span], found: list[Span]) -> float:
    return round(200 * len(set(gold) & set(found)) / (len(gold) + len(found)), 2)


def compare(gold: Gold, lang: str) -> dict[str, float]:
    """Token and sentence F1 of split_text."""
    sentences = split_text(gold.text, lang)
    words = [span for sentence in sentences for span in sentence.offsets]
    spans = [(sentence.offsets[0][0], sentence.offsets[-1][1]) for sentence in sentences]
    return {"token_f1": f1(gold.words, words), "sentence_f1": f1(gold.sentences, spans)}


def treebank_file(data: Path, treebank: str, split: str) -> Path:
    return data / "pos" / treebank / f"{treebank}-ud-{split}.conllu.xz"


def measure_speed(path: Path, lang: str) -> float:
    """Megabytes of raw text per second, the best of REPEATS, since other work can only slow it down."""
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        text = file.read(RAW_CHARACTERS)
    size, best = len(text.encode()), float("inf")
    for _ in range(REPEATS):
        start = time.process_time()
        split_text(text, lang)
        best = min(best, time.process_time() - start)
    return round(size / best / 1e6, 2)


@dataclass(frozen=True)
class Row:
    """One treebank: F1 by split, that of the rules for all scripts on dev, and speed by raw text."""

    treebank: str
    lang: str
    splits: dict[str, dict[str, float]]
    other_language_dev_token_f1: float
    megabytes_per_second: dict[str, float]


def measure(data: Path, treebank: str, splits: dict[str, dict[str, float]], split: str) -> Row:
    lang = TREEBANKS[treebank]
    dev = read_gold(treebank_file(data, treebank, "dev"))
    gold = read_gold(treebank_file(data, treebank, split))
    return Row(
        treebank,
        lang,
        {**splits, split: compare(gold, lang)},
        compare(dev, "other")["token_f1"],
        {name: measure_speed(data / "corpora" / f"{name}.txt.xz", lang) for name in RAW[treebank]},
    )


def table(rows: list[dict[str, Any]]) -> str:
    """The rows of the result file as Markdown."""
    lines = [
        "| treebank | split | token F1 | sentence F1 | token F1 without a language | MB/s on one core |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        speed = " / ".join(f"{rate:.1f}" for rate in row["megabytes_per_second"].values())
        for split, scores in sorted(row["splits"].items()):
            other = f"{row['other_language_dev_token_f1']:.1f}" if split == "dev" else ""
            lines.append(
                f"| {NAMES[row['treebank']]} | {split} | {scores['token_f1']:.2f} | {scores['sentence_f1']:.2f} "
                f"| {other} | {speed if split == 'dev' else ''} |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    parser.add_argument("--data", type=Path, default=DATA)
    arguments = parser.parse_args()
    known = (
        {row["treebank"]: row["splits"] for row in json.loads(RESULTS.read_text())["rows"]} if RESULTS.exists() else {}
    )
    rows = [asdict(measure(arguments.data, name, known.get(name, {}), arguments.split)) for name in TREEBANKS]
    about = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({**about, "rows": rows}, indent=2) + "\n")
    before, after = PAGE.read_text().split(BEGIN)[0], PAGE.read_text().split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{table(rows)}\n{END}{after}")
    print(table(rows))


if __name__ == "__main__":
    main()
