"""A recipe: all choices of a training run, in one TOML file.

    [model]       shapes of the biLM                    [optimizer]   rate, schedule, clipping
    [text]        sentences or windows, batch size      [budget]      how long, how often to validate
    [softmax]     full, sampled or adaptive

``recipes/*.toml`` are bundled; ``--set optimizer.rate=0.002`` changes one value. Unknown names are refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from polyseme.errors import ConfigError
from polyseme.settings import (
    Count,
    Natural,
    NotNegative,
    Positive,
    Share,
    checked,
    read_toml,
    settings_from,
    with_changes,
)

SHIPPED = Path(__file__).parent / "recipes"
WHAT = "a recipe"

Part = Annotated[float, Meta(ge=0, le=1)]


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The shape of the biLM; names as in ``BiLMConfig``."""

    input: Literal["bytes", "unicode", "words"] = "bytes"
    cell: Count = 512
    projection: Count = 128
    layers: Count = 2
    cell_clip: Positive | None = 3.0
    projection_clip: Positive | None = 3.0
    skip_connections: bool = True
    bidirectional: bool = True
    character_dim: Count = 16
    max_characters: Count = 50
    filters: tuple[tuple[Count, Count], ...] = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256))
    highways: Natural = 1
    activation: Literal["relu", "tanh"] = "relu"

    def __post_init__(self) -> None:
        checked(self)


@dataclass(frozen=True, slots=True)
class TextChoice:
    """How text becomes batches."""

    read: Literal["sentences", "windows"] = "sentences"
    tokens: Count = 1280  #: sentences: approximate number of positions in a batch
    max_length: Count = 200  #: sentences: longer ones are split into pieces
    together: Count = 1  #: sentences: this many neighbours are read as one
    capitals: Share = 0.0  #: sentences: share that is read as if written in capitals
    rows: Count = 128  #: windows: number of parallel streams of text
    steps: Count = 20  #: windows: positions of each stream in a batch
    shuffle: bool = True  #: windows: shuffle the sentences

    def __post_init__(self) -> None:
        checked(self)


@dataclass(frozen=True, slots=True)
class SoftmaxChoice:
    """The words that a target competes with."""

    kind: Literal["full", "sampled", "adaptive"] = "sampled"
    negatives: Count = 2048
    shared_negatives: bool = True  #: one draw for both directions
    share_words: bool = False  #: the softmax rows are the input's word table
    cutoffs: tuple[Count, ...] = (4000, 20000)  #: adaptive: first word of each cluster of rarer words

    def __post_init__(self) -> None:
        checked(self)


@dataclass(frozen=True, slots=True)
class OptimizerChoice:
    """How the weights are updated."""

    name: Literal["adamw", "adagrad"] = "adamw"
    rate: Positive = 4e-3
    schedule: Literal["cosine", "constant"] = "cosine"
    warmup: Share = 0.02  #: share of the budget during which the rate rises
    final: Part = 0.05  #: cosine: final rate, as a share of the rate
    beta1: Share = 0.9
    beta2: Share = 0.99
    decay: NotNegative = 0.01
    clip_norm: Positive | None = 1.0
    scale: Positive = 1.0  #: multiplies the loss; the original's is the number of steps in a window
    accumulate: Count = 1  #: batches per update
    average: Share = 0.0  #: decay of a moving average of the weights, which is then validated and saved; 0: none

    def __post_init__(self) -> None:
        checked(self)


@dataclass(frozen=True, slots=True)
class Budget:
    """How long to train, and how often to validate."""

    tokens: Count = 10_000_000  #: tokens to train on in all, not counting boundaries
    validate_every: Count = 1_000_000  #: tokens
    validate_on: Count = 50_000  #: most tokens of held-out text
    softmax_tokens: Natural = 0  #: the first tokens of the budget, which fit only the softmax while the biLM is frozen
    patience: Count | None = None  #: early stopping: stop after this many validations without improvement
    checkpoint_minutes: Positive = 5.0

    def __post_init__(self) -> None:
        checked(self)


@dataclass(frozen=True, slots=True)
class Recipe:
    """One training run."""

    name: str = "custom"
    dropout: Share = 0.1
    precision: Literal["auto", "float32", "bfloat16"] = (
        "auto"  #: of matrix products; auto: bfloat16 on devices that support it
    )
    model: ModelShape = field(default_factory=ModelShape)
    text: TextChoice = field(default_factory=TextChoice)
    softmax: SoftmaxChoice = field(default_factory=SoftmaxChoice)
    optimizer: OptimizerChoice = field(default_factory=OptimizerChoice)
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        checked(self)
        if self.budget.softmax_tokens and self.softmax.share_words:
            raise ConfigError("budget.softmax_tokens needs a separate softmax; leave out softmax.share_words")
        if self.softmax.share_words and self.model.input != "words":
            raise ConfigError("softmax.share_words needs model.input = 'words': characters have no word table")

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; ``recipe_from_dict`` reads them back."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain


def load_recipe(name: str | Path, changes: Sequence[str] = ()) -> Recipe:
    """A bundled recipe by its name, or a TOML file, with ``key=value`` changes."""
    path = Path(name)
    if path.suffix != ".toml":
        path = SHIPPED / f"{name}.toml"
        if not path.is_file():
            names = ", ".join(sorted(p.stem for p in SHIPPED.glob("*.toml")))
            raise ConfigError(f"there is no recipe {str(name)!r}; there are {names}, or give a .toml file")
    return change_recipe(recipe_from_dict({"name": path.stem, **read_toml(path, "the recipe")}), changes)


def change_recipe(recipe: Recipe, changes: Sequence[str]) -> Recipe:
    """The recipe with ``key=value`` changes, which may give a resumed run a longer budget or a lower rate."""
    return with_changes(recipe, changes, WHAT)


def recipe_from_dict(values: Mapping[str, Any]) -> Recipe:
    """Names and values → a recipe; unknown names and values of the wrong type are refused."""
    return settings_from(Recipe, values, WHAT)
