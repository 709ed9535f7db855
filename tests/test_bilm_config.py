"""Settings: what fits is kept and read back, what does not fit is refused with one sentence."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.bilm_config import BiLMConfig, CharacterConfig, WordConfig
from polyseme.errors import ConfigError

NAN, INFINITY = float("nan"), float("inf")

CHARACTERS = {
    "alphabet": [0, -1, 2.5, "261", True, None],
    "dim": [0, -4, 16.0, None, True],
    "max_characters": [2, 0, -1, 50.0, "50", None, True],
    "highways": [-1, 1.0, "2", None, False],
    "activation": ["sigmoid", "ReLU", "", None, 1, ["relu"]],
    "filters": [
        *((), None, 3, "ab", (1, 2), ((1,),), ((1, 2, 3),), ((0, 4),), ((1, 0),), ((51, 4),), ((-1, 4),)),
        *(((1.0, 4),), (("1", 4),), ((1, 4.5),), ((True, 4),), ((1, None),), ((1, 4), (1, -4))),
    ],
}
WORDS = {"size": [0, -1, 1.5, "9", None, True], "dim": [0, -1, 1.5, "9", None, False]}
MODEL = {
    "cell": [0, -1, 2.0, "64", None, True],
    "projection": [0, -1, 2.0, "64", None, True, 65],
    "layers": [0, -1, 2.0, "2", None, True],
    "cell_clip": [0, 0.0, -3, NAN, INFINITY, "3", True, False, [3]],
    "projection_clip": [0, 0.0, -3, NAN, INFINITY, "3", True, False, [3]],
    "skip_connections": [None, 1, 0, "true", "no"],
    "project_tokens": [None, 1, 0, "true"],
    "bidirectional": [None, 1, 0, "yes"],
    "characters": [{"alphabet": 261}, 261, "bytes", WordConfig(3, 4)],
    "words": [{"size": 3, "dim": 4}, 3, CharacterConfig(261)],
}


def every(table: dict[str, list[Any]]) -> list[Any]:
    return [pytest.param(name, value, id=f"{name}={value!r}") for name, values in table.items() for value in values]


def assert_one_sentence(message: str, *parts: str) -> None:
    assert "\n" not in message
    assert 20 < len(message) < 300
    for part in parts:
        assert part in message


@pytest.mark.parametrize(("name", "value"), every(CHARACTERS))
def test_characters_that_do_not_fit(name: str, value: Any) -> None:
    with pytest.raises(ConfigError) as refused:
        CharacterConfig(**{"alphabet": 261, name: value})
    assert_one_sentence(str(refused.value), name if name != "filters" else "filter")


@pytest.mark.parametrize(("name", "value"), every(WORDS))
def test_words_that_do_not_fit(name: str, value: Any) -> None:
    with pytest.raises(ConfigError) as refused:
        WordConfig(**{"size": 9, "dim": 4, name: value})
    assert_one_sentence(str(refused.value), name)


@pytest.mark.parametrize(("name", "value"), every(MODEL))
def test_models_that_do_not_fit(name: str, value: Any) -> None:
    with pytest.raises(ConfigError) as refused:
        BiLMConfig(**{"characters": CharacterConfig(261), "cell": 64, "projection": 8, name: value})
    assert_one_sentence(str(refused.value), name)


def test_a_model_reads_something() -> None:
    with pytest.raises(ConfigError, match="neither characters nor words"):
        BiLMConfig()


@pytest.mark.parametrize("words", [None, WordConfig(9, 8)])
def test_without_a_projection_the_sizes_must_agree(words: WordConfig | None) -> None:
    characters = CharacterConfig(261, filters=((1, 8),)) if words is None else None
    BiLMConfig(characters=characters, words=words, cell=64, projection=8, project_tokens=False)
    with pytest.raises(ConfigError, match="gives 8 values and the LSTM takes 9"):
        BiLMConfig(characters=characters, words=words, cell=64, projection=9, project_tokens=False)


def test_clips_may_be_whole_or_missing() -> None:
    config = BiLMConfig(characters=CharacterConfig(261), cell_clip=3, projection_clip=None)
    assert (config.cell_clip, config.projection_clip) == (3, None)


def test_sizes_that_follow() -> None:
    characters = CharacterConfig(261, max_characters=16, filters=((1, 32), (2, 16)))
    both = BiLMConfig(characters=characters, words=WordConfig(9, 5), cell=64, projection=8)
    assert (both.encoded_size, both.row_size, both.width, both.directions) == (53, 17, 16, 2)
    assert both.has_projection
    alone = BiLMConfig(words=WordConfig(9, 5), cell=8, projection=8, bidirectional=False)
    assert (alone.encoded_size, alone.row_size, alone.width, alone.directions) == (5, 1, 8, 1)
    assert not alone.has_projection


def test_the_defaults_are_the_original_model() -> None:
    config = BiLMConfig(characters=CharacterConfig(alphabet=261))
    assert (config.cell, config.projection, config.layers, config.cell_clip, config.projection_clip) == (
        *(4096, 512, 2),
        *(3.0, 3.0),
    )
    assert config.characters is not None
    assert config.characters.filter_count == 2048


def test_a_config_does_not_change() -> None:
    config = BiLMConfig(words=WordConfig(9, 5))
    with pytest.raises(FrozenInstanceError):
        config.cell = 3  # type: ignore[misc]


def test_lists_of_filters_are_tuples_afterwards() -> None:
    """So that configs from a JSON file and from Python are equal and can be keys."""
    listed = CharacterConfig(261, filters=[[1, 8], [2, 4]])  # type: ignore[arg-type]
    assert listed == CharacterConfig(261, filters=((1, 8), (2, 4)))
    assert hash(listed) == hash(CharacterConfig(261, filters=((1, 8), (2, 4))))


# to_dict and from_dict

CHARACTER_CONFIGS = st.builds(
    CharacterConfig,
    alphabet=st.integers(1, 5000),
    dim=st.integers(1, 64),
    max_characters=st.integers(3, 60),
    filters=st.lists(st.tuples(st.integers(1, 3), st.integers(1, 99)), min_size=1, max_size=4).map(tuple),
    highways=st.integers(0, 3),
    activation=st.sampled_from(["relu", "tanh"]),
)
CLIPS = st.none() | st.floats(0.001, 100)
CONFIGS = st.builds(
    BiLMConfig,
    characters=CHARACTER_CONFIGS,
    words=st.none() | st.builds(WordConfig, st.integers(1, 99), st.integers(1, 99)),
    cell=st.integers(50, 99),
    projection=st.integers(1, 50),
    layers=st.integers(1, 5),
    cell_clip=CLIPS,
    projection_clip=CLIPS,
    skip_connections=st.booleans(),
    bidirectional=st.booleans(),
)


@given(CONFIGS)
def test_what_is_written_as_json_is_read_back(config: BiLMConfig) -> None:
    assert BiLMConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"cells": 4}, "the model has no setting 'cells'; it has: bidirectional, cell,"),
        ({"words": {"size": 3}}, "the settings of words lack 'dim'"),
        ({"characters": {}}, "the settings of characters lack 'alphabet'"),
        ({"characters": {"alphabet": 9, "n_characters": 262}}, "characters has no setting 'n_characters'"),
        ({"characters": 261}, "the settings of characters are 261, but should be names and values"),
        ({"characters": {"alphabet": 9, "filters": [[1]]}}, "filters is [[1]], but should be a list of"),
        ({"cell": "4096"}, "cell is '4096', but should be a whole number of at least 1"),
        ({"characters": None}, "neither characters nor words"),
    ],
)
def test_json_that_does_not_fit(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        BiLMConfig.from_dict({"characters": {"alphabet": 261}} | changes)
    assert_one_sentence(str(refused.value), said)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x, max_size=2)))
def test_anything_but_names_and_values_is_refused(values: Any) -> None:
    with pytest.raises(ConfigError):
        BiLMConfig.from_dict(values)


@given(
    st.dictionaries(
        st.sampled_from(["characters", "words", "cell", "projection", "layers", "cell_clip", "skip_connections"]),
        st.none() | st.booleans() | st.integers(-2, 9) | st.floats() | st.text(max_size=3) | st.just({}),
    )
)
def test_random_values_never_give_another_error(values: dict[str, Any]) -> None:
    try:
        BiLMConfig.from_dict({"words": {"size": 3, "dim": 4}} | values)
    except ConfigError as refused:
        assert_one_sentence(str(refused))
