"""Recipes: what is shipped loads, what is changed is checked, what does not exist is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from polyseme.errors import ConfigError
from polyseme.nn.bilm import BiLM
from polyseme.pretrain.recipe import SHIPPED, change_recipe, load_recipe, recipe_from_dict
from polyseme.pretrain.training.build import bilm_config
from polyseme.text.characters import ByteScheme
from polyseme.text.vocabulary import Indexer

NAMES = sorted(path.stem for path in SHIPPED.glob("*.toml"))


def test_these_recipes_are_shipped() -> None:
    assert NAMES == ["compact", "finetune", "medium", "original", "small", "tiny"]


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_recipe_loads_and_survives_json(name: str) -> None:
    recipe = load_recipe(name)
    assert recipe.name == name
    assert recipe_from_dict(recipe.to_dict()) == recipe


@pytest.mark.parametrize("name, weights", [("small", 13_593_296), ("medium", 28_027_728), ("original", 93_600_848)])
def test_the_released_shapes_have_the_released_number_of_weights(name: str, weights: int) -> None:
    config = bilm_config(load_recipe(name).model, Indexer(ByteScheme(50)))
    padding_row = 16
    assert sum(p.numel() for p in BiLM(config).parameters()) - padding_row == weights


def test_the_original_is_trained_as_its_authors_did() -> None:
    recipe = load_recipe("original")
    assert recipe.optimizer.name == "adagrad"
    assert recipe.optimizer.scale == recipe.text.steps == 20
    assert (recipe.optimizer.clip_norm, recipe.optimizer.rate, recipe.dropout) == (10.0, 0.2, 0.1)


def test_one_value_changes() -> None:
    recipe = load_recipe("compact", ["optimizer.rate=2e-3", "softmax.kind=full", "model.cell_clip=none"])
    assert (recipe.optimizer.rate, recipe.softmax.kind, recipe.model.cell_clip) == (0.002, "full", None)
    assert change_recipe(recipe, ["budget.tokens=5"]).budget.tokens == 5


@pytest.mark.parametrize(
    "change, message",
    [
        ("optimiser.rate=1", "a recipe has no 'optimiser.rate'; did you mean 'optimizer.rate'? it has: name, dropout"),
        ("optimizer.speed=1", "a recipe has no 'optimizer.speed'"),
        ("model.cell=3.5", "model.cell is 3.5, but should be a whole number"),
        ("cell=true", "model.cell is True, but should be a whole number"),
        ("softmax.kind=hierarchical", "softmax.kind is 'hierarchical', but should be one of 'full', 'sampled'"),
        ("dropout=1.0", "dropout is 1.0, but should be a number below 1"),
        ("optimizer.rate=-1", "optimizer.rate is -1, but should be a number above 0"),
        ("budget.tokens=0", "budget.tokens is 0, but should be a whole number of at least 1"),
        ("budget.patience=0", "budget.patience is 0, but should be a whole number of at least 1"),
        ("model=small", "a recipe has no 'model'; it has: name, dropout"),
        ("tokens=5", "'tokens' could be text.tokens or budget.tokens; give the full name"),
        ("softmax.share_words=true", "softmax.share_words needs model.input = 'words'"),
        ("rate", "--set takes key=value"),
    ],
)
def test_what_does_not_fit_is_refused(change: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        load_recipe("compact", [change])
    assert message in str(error.value)


def test_unknown_and_broken_recipes(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no recipe 'huge'; there are compact, finetune, medium, original"):
        load_recipe("huge")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_recipe(tmp_path / "mine.toml")
    (tmp_path / "mine.toml").write_text("[model\n")
    with pytest.raises(ConfigError, match="is not valid TOML"):
        load_recipe(tmp_path / "mine.toml")
