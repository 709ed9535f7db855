"""Is this the same? Equal values have equal digests whatever their form, and a difference is named with both values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.errors import JobError
from polyseme.jobs.identity import canonical, digest, refuse_other
from polyseme.jobs.input_files import InputFile


@dataclass(frozen=True)
class Choice:
    layers: str
    scale: float = 3.0
    words: tuple[str, ...] = ()
    more: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ChoiceOfTomorrow:
    layers: str
    speed: int = 5
    scale: float = 3.0
    words: tuple[str, ...] = ()
    more: dict[str, int] = field(default_factory=dict)


def test_canonical_json_leaves_out_defaults_and_has_one_form() -> None:
    assert canonical(Choice("all", 3)) == b'{"layers":"all"}'
    assert canonical(Choice("ä", 2.0, ("b", "a"), {"z": 1, "y": 2})) == (
        rb'{"layers":"\u00e4","more":{"y":2,"z":1},"scale":2,"words":["b","a"]}'
    )
    assert canonical("\ud800") == rb'"\ud800"'


def test_a_later_class_with_a_new_default_has_the_same_digest() -> None:
    assert digest(ChoiceOfTomorrow("top", scale=1.5)) == digest(Choice("top", scale=1.5))
    assert digest(ChoiceOfTomorrow("top", speed=6)) != digest(Choice("top"))


@given(st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3) | st.none(), max_size=4))
def test_the_order_of_names_does_not_matter(values: dict[str, Any]) -> None:
    assert digest(dict(reversed(values.items()))) == digest(values)


def refusal(before: Any, now: Any, **options: Any) -> str:
    with pytest.raises(JobError) as refused:
        refuse_other(before, now, what="it is another job", remedy="undo that", **options)
    return str(refused.value)


def test_equal_descriptions_pass_and_so_does_what_may_change() -> None:
    refuse_other(Choice("all"), Choice("all", 3), what="", remedy="")
    refuse_other({"a": {"b": 1, "c": 2}}, {"a": {"b": 3, "c": 4}}, what="", remedy="", free=("a",))
    assert "a.c was 2 and is 4" in refusal({"a": {"b": 1, "c": 2}}, {"a": {"b": 3, "c": 4}}, free=("a.b",))
    assert "ab was 1 and is 2" in refusal({"ab": 1}, {"ab": 2}, free=("a",))


def test_a_difference_is_named_with_both_values() -> None:
    assert refusal({"job": Choice("all")}, {"job": Choice("top", words=("a",))}) == (
        'it is another job: job.layers was "all" and is "top"; job.words was [] and is ["a"]; undo that'
    )
    assert refusal({"model": None}, {"model": "en"}) == 'it is another job: model was none and is "en"; undo that'
    assert refusal({}, {"seed": 0}) == "it is another job: seed was none and is 0; undo that"


def test_files_are_named() -> None:
    before = {"inputs": (InputFile("a.txt", 3, "00"), InputFile("b.txt", 4, "11"))}
    now = {"inputs": (InputFile("a.txt", 3, "00"), InputFile("b.txt", 4, "22"))}
    assert refusal(before, now) == 'it is another job: sha256 of b.txt was "11" and is "22"; undo that'
    other_order = {"inputs": tuple(reversed(before["inputs"]))}
    assert 'inputs was ["a.txt", "b.txt"] and is ["b.txt", "a.txt"]' in refusal(before, other_order)


def test_many_differences_are_counted_and_long_values_shortened() -> None:
    said = refusal({str(n): n for n in range(9)}, {str(n): "x" * 100 for n in range(9)})
    assert said.count(" was ") == 3
    assert said.endswith("; and 6 more; undo that")
    assert len(said) < 300
