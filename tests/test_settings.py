"""Settings say what is allowed; whatever way a wrong value comes, the sentence has its name, the value, the bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from polyseme.errors import ConfigError
from polyseme.settings import Count, Positive, Share, checked, read_toml, settings_from, with_changes, with_values


@dataclass(frozen=True, slots=True)
class Optimizer:
    name: Literal["adamw", "adagrad"] = "adamw"
    rate: Positive = 4e-3
    clip: float | None = 1.0
    filters: tuple[tuple[int, int], ...] = ((1, 32),)
    __post_init__ = checked


@dataclass(frozen=True, slots=True)
class Plan:
    seed: int
    name: str = "custom"
    dropout: Share = 0.1
    layers: str = "all"
    mode: Literal["none", "some"] = "some"
    optimizer: Optimizer = field(default_factory=Optimizer)
    parts: Mapping[str, Optimizer] = field(default_factory=dict)
    accumulate: Count = 1
    __post_init__ = checked


WRONG = [
    ({"optimizer": {"rate": "fast"}}, "optimizer.rate is 'fast', but should be a number"),
    ({"optimizer": {"rate": -1}}, "optimizer.rate is -1, but should be a number above 0"),
    ({"optimizer": {"rate": float("inf")}}, "optimizer.rate is inf, but should be a number that is finite"),
    ({"optimizer": {"name": "sgd"}}, "optimizer.name is 'sgd', but should be 'adamw' or 'adagrad'"),
    ({"optimizer": {"filters": [[1, 2], [3]]}}, "optimizer.filters.1 is [3], but should be a list of 2 values"),
    ({"optimizer": {"filters": [[1, "x"]]}}, "optimizer.filters.0.1 is 'x', but should be a whole number"),
    ({"optimizer": {"clip": "x"}}, "optimizer.clip is 'x', but should be a number or none"),
    ({"optimizer": 5}, "optimizer is 5, but should be a section"),
    ({"accumulate": True}, "accumulate is True, but should be a whole number"),
    ({"accumulate": 0}, "accumulate is 0, but should be a whole number of at least 1"),
    ({"dropout": 1}, "dropout is 1, but should be a number below 1"),
    ({"seed": None}, "seed is None, but should be a whole number"),
    ({"parts": {"a": {"rate": 0}}}, "a value in parts should be a number above 0"),
    (
        {"optimizer": {"rat": 1}},
        "a plan has no 'optimizer.rat'; did you mean 'optimizer.rate'? "
        "it has: optimizer.name, optimizer.rate, optimizer.clip, optimizer.filters",
    ),
    ({"parts": {"a": {"colour": 1}}}, "a plan has no 'parts.colour'; it has: parts.name"),
]


def refusal(make: Any) -> str:
    with pytest.raises(ConfigError) as refused:
        make()
    return str(refused.value)


@pytest.mark.parametrize(("values", "sentence"), WRONG, ids=lambda value: str(value)[:40])
def test_wrong_values_of_a_file_are_named(values: dict[str, Any], sentence: str) -> None:
    assert sentence in refusal(lambda: settings_from(Plan, {"seed": 1, **values}, "a plan"))


def test_a_value_that_is_missing_or_no_section() -> None:
    assert refusal(lambda: settings_from(Plan, {}, "a plan")) == "a plan lacks 'seed', which has no default"
    assert refusal(lambda: settings_from(Plan, 5, "a plan")) == "a plan is 5, but should be a section"


def test_right_values_of_a_file() -> None:
    made = settings_from(Plan, {"seed": 1, "optimizer": {"rate": 1, "filters": [[2, 3]]}}, "a plan")
    assert made == Plan(1, optimizer=Optimizer(rate=1.0, filters=((2, 3),)))


def test_python_is_refused_in_the_same_words() -> None:
    assert refusal(lambda: Optimizer(rate=-1)) == "rate is -1, but should be a number above 0"
    assert refusal(lambda: Optimizer(name="x")) == "name is 'x', but should be 'adamw' or 'adagrad'"  # type: ignore[arg-type]
    assert refusal(lambda: Plan("one")) == "seed is 'one', but should be a whole number"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("optimizer.rate=0.002", Plan(1, optimizer=Optimizer(rate=0.002))),
        ("rate=1", Plan(1, optimizer=Optimizer(rate=1.0))),
        ("name=mine", Plan(1, name="mine")),
        ('name="5"', Plan(1, name="5")),
        ("optimizer.name=adagrad", Plan(1, optimizer=Optimizer(name="adagrad"))),
        ("layers=1", Plan(1, layers="1")),
        ("mode=none", Plan(1, mode="none")),
        ("clip=none", Plan(1, optimizer=Optimizer(clip=None))),
        ("filters=[[1, 2], [3, 4]]", Plan(1, optimizer=Optimizer(filters=((1, 2), (3, 4))))),
    ],
)
def test_a_change(change: str, expected: Plan) -> None:
    assert with_changes(Plan(1), [change], "a plan") == expected


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("rate", "--set takes key=value, for example seed=1, but got 'rate'"),
        ("rate=fast", "optimizer.rate is 'fast', but should be a number"),
        ("optimizer.nam=5", "a plan has no 'optimizer.nam'; did you mean 'optimizer.name'?"),
        ("dropuot=5", "a plan has no 'dropuot'; did you mean 'dropout'?"),
        ("nam=5", "a plan has no 'nam'; did you mean 'optimizer.name'?"),
        ("accumulate=0", "accumulate is 0, but should be a whole number of at least 1"),
        ("colour=red", "a plan has no 'colour'; it has: seed, name, dropout"),
    ],
)
def test_a_wrong_change(change: str, sentence: str) -> None:
    assert refusal(lambda: with_changes(Plan(1), [change], "a plan")).startswith(sentence)


def test_a_name_that_occurs_twice_is_written_out() -> None:
    @dataclass(frozen=True)
    class Two:
        first: Optimizer = field(default_factory=Optimizer)
        second: Optimizer = field(default_factory=Optimizer)

    assert (
        refusal(lambda: with_changes(Two(), ["rate=1"]))
        == "'rate' could be first.rate or second.rate; give the full name"
    )


def test_changes_are_judged_together() -> None:
    """Either alone would be refused."""

    @dataclass(frozen=True)
    class Range:
        low: int = 0
        high: int = 9

        def __post_init__(self) -> None:
            if self.low >= self.high:
                raise ConfigError("low should be below high")

    assert with_changes(Range(), ["low=20", "high=30"]) == Range(20, 30)
    assert refusal(lambda: with_changes(Range(), ["low=20"])) == "low should be below high"


def test_values_on_top_of_settings_nested_or_by_the_name_alone() -> None:
    values = {"optimizer": {"rate": 3, "name": "adagrad"}, "dropout": 0, "clip": 2}
    made = with_values(Plan(1), values, "a plan")
    assert made == Plan(1, dropout=0.0, optimizer=Optimizer("adagrad", 3.0, 2.0))
    assert "a plan has no 'optimizer.size'" in refusal(
        lambda: with_values(Plan(1), {"optimizer": {"size": 1}}, "a plan")
    )


def test_a_file_that_is_no_toml(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    assert "the plan" in refusal(lambda: read_toml(path, "the plan"))
    path.write_text("rate = = 3")
    assert "plan.toml is not valid TOML" in refusal(lambda: read_toml(path, "the plan"))
    path.write_bytes(b"\xff")
    assert "is not valid TOML" in refusal(lambda: read_toml(path, "the plan"))
    path.write_text("[optimizer]\nrate = 3")
    assert read_toml(path, "the plan") == {"optimizer": {"rate": 3}}
