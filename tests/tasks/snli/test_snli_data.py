"""read_snli: three layouts, the same pairs; what does not fit is refused with its line."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from helpers.paths import DATA, needs
from polyseme.errors import InputError
from polyseme.tasks.snli.data import SentencePair, read_snli

PAIRS = [
    SentencePair("A man eats.", "A man sleeps.", "contradiction"),
    SentencePair("Two dogs run", 'They "run".', "entailment"),
]
UNDECIDED = SentencePair("It rains.", "Is it late?", None)


def as_jsonl(pairs: list[SentencePair]) -> str:
    records = (
        {"gold_label": p.label or "-", "sentence1": p.premise, "sentence2": p.hypothesis, "pairID": "x"} for p in pairs
    )
    return "".join(json.dumps(record) + "\n" for record in records)


def as_official_text(pairs: list[SentencePair]) -> str:
    header = "gold_label\tsentence1_binary_parse\tsentence1\tsentence2\tcaptionID"
    return "\n".join([header, *(f"{p.label or '-'}\t( x )\t{p.premise}\t{p.hypothesis}\t7" for p in pairs)])


def as_columns(pairs: list[SentencePair]) -> str:
    return "".join(f"{p.label or '-'}\t{p.premise}\t{p.hypothesis}\n" for p in pairs)


LAYOUTS = [as_jsonl, as_official_text, as_columns]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_pairs(tmp_path: Path, layout: object) -> None:
    assert callable(layout)
    path = tmp_path / "pairs.xz"
    pairs = [PAIRS[0], UNDECIDED, PAIRS[1]]
    path.write_bytes(lzma.compress(layout(pairs).encode()))
    assert read_snli(path) == pairs


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("neutral\ta\tb\nmaybe\tc\td\n", "line 2 has the label 'maybe'"),
        ("neutral\ta\tb\nneutral\tc\n", "line 2 has 2 columns where 3"),
        ("neutral\ta\t \n", "line 1 has an empty hypothesis"),
        ('{"gold_label": "neutral", "sentence1": "a"}', "line 1 has no field 'sentence2'"),
        ('{"gold_label": "neutral", "sentence1": "a", "sentence2": 3}', "should be text"),
        ("{broken\n", "line 1 is not JSON"),
        ("gold_label\tsentence1\n", "line 1 should be a header with the columns"),
        ("", "has no pair"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_line(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text(content)
    with pytest.raises(InputError, match=said) as caught:
        read_snli(path)
    assert str(path) in str(caught.value)


@pytest.mark.shared
@needs(DATA / "snli")
def test_the_two_files_of_the_development_set_agree() -> None:
    from_json = read_snli(DATA / "snli" / "snli_1.0_dev.jsonl.xz")
    assert sum(pair.label is not None for pair in from_json) == 10_000 - 158
    assert from_json == read_snli(DATA / "snli" / "snli_1.0_dev.tsv.xz")
