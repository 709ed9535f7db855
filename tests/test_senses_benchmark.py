"""benchmarks/senses.py: pseudo-words are made from documents alone, and a model is measured with what there is."""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path

import pytest

import senses
from helpers.small_lms import small_lm
from polyseme.elmo import Elmo
from pseudo_words import USES, make_pseudo_words, read_sentences

#: Every document has a sentence about each of these; "the" and "." are its function words.
NOUNS = ("apple", "bread", "chair", "dress", "eagle", "flute")


def documents(count: int = 8) -> list[list[list[str]]]:
    return [[["the", noun, "was", "there", str(number), "."] for noun in NOUNS] for number in range(count)]


@pytest.fixture
def frequent(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a few sentences few tokens are frequent."""
    monkeypatch.setattr("pseudo_words.TOO_FREQUENT", 4)
    monkeypatch.setattr("pseudo_words.FUNCTION_WORDS", 4)


@pytest.mark.usefixtures("frequent")
def test_two_words_become_one_that_stands_in_the_places_of_both() -> None:
    found = make_pseudo_words(documents(), 10)
    assert len(found) == len(NOUNS) // 2
    for one in found:
        first, second = one.senses[0], one.senses[-1]
        assert one.word == first + second and one.senses == (first,) * USES + (second,) * USES
        assert {place.word for place in one.places} == {one.word}
        assert all(place.tokens[:1] == ["the"] and place.tokens[2:4] == ["was", "there"] for place in one.places)
        assert len({place.tokens[4] for place in one.places[:USES]}) == USES  # each from another document
    assert sorted(word for one in found for word in set(one.senses)) == sorted(NOUNS)
    assert make_pseudo_words(documents(), 10) == found
    assert make_pseudo_words(documents(), 2) == found[:2]


@pytest.mark.usefixtures("frequent")
def test_a_word_with_too_few_documents_is_left_alone() -> None:
    rare = [[["the", "goose", "was", "there", ".", "."]]] * (USES - 1)
    assert make_pseudo_words([*documents(), *rare], 10) == make_pseudo_words(documents(), 10)


def test_documents_are_read_from_compressed_text(tmp_path: Path) -> None:
    path = tmp_path / "text.txt.xz"
    path.write_bytes(lzma.compress(b"One here. Two.\n\nThree there.\n"))
    assert read_sentences([path], "en") == [[["One", "here", "."], ["Two", "."]], [["Three", "there", "."]]]


def test_every_readout_is_measured_and_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, out = tmp_path / "model", tmp_path / "out.json"
    Elmo(small_lm(), device="cpu").save_pretrained(folder)
    command = ["senses.py", "--model", str(folder), "--only", "readouts", "--data", str(tmp_path), "--json", str(out)]
    monkeypatch.setattr(sys, "argv", command)
    senses.main()
    found = json.loads(out.read_text(encoding="utf-8"))[str(folder)]["readouts"]
    assert {"layer 0", "layer 1", "layer 2", "place", "sentence", "substitutes"} <= set(found["all"])
    assert found["all"]["layer 0"] == {"mean": 0.5, "low": 0.5, "high": 0.5, "count": 60}
    halves = [found[half]["place"] for half in ("choosing", "reporting")]
    assert [half["count"] for half in halves] == [30, 30]
    assert found["all"]["place"]["mean"] == pytest.approx(sum(half["mean"] for half in halves) / 2, abs=1e-4)
    assert found["pseudo-words"].startswith("left out: there is no held-out text of the language 'en'")
