"""A recipe: everything about a training run that is a choice, in one TOML file.

    [model]       shapes of the biLM                    [optimizer]   rate, schedule, clipping
    [text]        sentences or windows, batch size      [budget]      how long, how often to look
    [softmax]     full, sampled or adaptive

``recipes/*.toml`` are shipped; ``--set optimizer.rate=0.002`` changes one value. A name that does not exist is refused.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from polyseme.errors import ConfigError

SHIPPED = Path(__file__).parent / "recipes"


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The biLM; names as in ``BiLMConfig``."""

    input: Literal["bytes", "unicode", "words"] = "bytes"
    cell: int = 512
    projection: int = 128
    layers: int = 2
    cell_clip: float | None = 3.0
    projection_clip: float | None = 3.0
    skip_connections: bool = True
    bidirectional: bool = True
    character_dim: int = 16
    max_characters: int = 50
    filters: tuple[tuple[int, int], ...] = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256))
    highways: int = 1
    activation: Literal["relu", "tanh"] = "relu"


@dataclass(frozen=True, slots=True)
class TextChoice:
    """How text becomes batches."""

    read: Literal["sentences", "windows"] = "sentences"
    tokens: int = 1280  #: sentences: positions in a batch, about
    max_length: int = 200  #: sentences: longer ones are read in pieces
    together: int = 1  #: sentences: so many neighbours are read as one
    capitals: float = 0.0  #: sentences: the share that is read as if it were written in capitals
    rows: int = 128  #: windows: streams of text
    steps: int = 20  #: windows: positions of each stream in a batch
    shuffle: bool = True  #: windows: shuffle the sentences


@dataclass(frozen=True, slots=True)
class SoftmaxChoice:
    """What a target competes with."""

    kind: Literal["full", "sampled", "adaptive"] = "sampled"
    negatives: int = 2048
    shared_negatives: bool = True  #: one draw for both directions
    share_words: bool = False  #: the softmax rows are the input's word table
    cutoffs: tuple[int, ...] = (4000, 20000)  #: adaptive: where the frequent words end


@dataclass(frozen=True, slots=True)
class OptimizerChoice:
    """How the weights move."""

    name: Literal["adamw", "adagrad"] = "adamw"
    rate: float = 4e-3
    schedule: Literal["cosine", "constant"] = "cosine"
    warmup: float = 0.02  #: share of the budget over which the rate rises
    final: float = 0.05  #: cosine: share of the rate that is left at the end
    beta1: float = 0.9
    beta2: float = 0.99
    decay: float = 0.01
    clip_norm: float | None = 1.0
    scale: float = 1.0  #: multiplies the loss; the original's is the number of steps in a window
    accumulate: int = 1  #: batches in one update
    average: float = 0.0  #: decay of a moving average of the weights, which is then what is kept; 0: none


@dataclass(frozen=True, slots=True)
class Budget:
    """How long to train and how often to look."""

    tokens: int = 10_000_000  #: seen in all, boundaries not counted
    validate_every: int = 1_000_000  #: tokens
    validate_on: int = 50_000  #: tokens of the held-out text, at most
    softmax_tokens: int = 0  #: of these, the first so many fit the softmax alone, while the biLM stays as it is
    patience: int | None = None  #: stop after so many validations without a better one
    checkpoint_minutes: float = 5.0


@dataclass(frozen=True, slots=True)
class Recipe:
    """One training run."""

    name: str = "custom"
    dropout: float = 0.1
    precision: Literal["auto", "float32", "bfloat16"] = (
        "auto"  #: of matrix products; auto: bfloat16 on devices that have it
    )
    model: ModelShape = field(default_factory=ModelShape)
    text: TextChoice = field(default_factory=TextChoice)
    softmax: SoftmaxChoice = field(default_factory=SoftmaxChoice)
    optimizer: OptimizerChoice = field(default_factory=OptimizerChoice)
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        for name, share in (
            ("dropout", self.dropout),
            ("text.capitals", self.text.capitals),
            ("optimizer.average", self.optimizer.average),
        ):
            if not 0 <= share < 1:
                raise ConfigError(f"{name} is {share}, but should be at least 0 and below 1")
        for name, value in (
            ("text.tokens", self.text.tokens),
            ("text.rows", self.text.rows),
            ("text.steps", self.text.steps),
            ("text.max_length", self.text.max_length),
            ("text.together", self.text.together),
            ("softmax.negatives", self.softmax.negatives),
            ("optimizer.accumulate", self.optimizer.accumulate),
            ("budget.tokens", self.budget.tokens),
            ("budget.validate_every", self.budget.validate_every),
        ):
            if value < 1:
                raise ConfigError(f"{name} is {value}, but should be at least 1")
        if self.budget.patience is not None and self.budget.patience < 1:
            raise ConfigError(f"budget.patience is {self.budget.patience}, but should be at least 1, or none")
        if self.budget.softmax_tokens < 0:
            raise ConfigError(f"budget.softmax_tokens is {self.budget.softmax_tokens}, but should be at least 0")
        if self.budget.softmax_tokens and self.softmax.share_words:
            raise ConfigError("budget.softmax_tokens needs a softmax of its own; leave out softmax.share_words")
        if not self.optimizer.rate > 0:
            raise ConfigError(f"optimizer.rate is {self.optimizer.rate}, but should be positive")
        if self.softmax.share_words and self.model.input != "words":
            raise ConfigError("softmax.share_words needs model.input = 'words': characters have no word table")

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; ``recipe_from_dict`` reads them back."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain


def load_recipe(name: str | Path, changes: Sequence[str] = ()) -> Recipe:
    """A shipped recipe by its name, or a TOML file; then ``key=value`` changes."""
    path = Path(name)
    if path.suffix != ".toml":
        path = SHIPPED / f"{name}.toml"
        if not path.is_file():
            names = ", ".join(sorted(p.stem for p in SHIPPED.glob("*.toml")))
            raise ConfigError(f"there is no recipe {str(name)!r}; there are {names}, or give a .toml file")
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"the recipe {path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"the recipe {path} is not valid TOML: {error}") from None
    values.setdefault("name", path.stem)
    for change in changes:
        _apply(values, change)
    return recipe_from_dict(values)


def change_recipe(recipe: Recipe, changes: Sequence[str]) -> Recipe:
    """The same with ``key=value`` changes: how a resumed run gets a longer budget or a lower rate."""
    values = recipe.to_dict()
    for change in changes:
        _apply(values, change)
    return recipe_from_dict(values)


def recipe_from_dict(values: Mapping[str, Any]) -> Recipe:
    """Names and values → a recipe; what does not exist or is of another kind is refused."""
    recipe: Recipe = _build(Recipe, values, "")
    return recipe


def _apply(values: dict[str, Any], change: str) -> None:
    key, equals, text = change.partition("=")
    if not equals:
        raise ConfigError(f"--set takes key=value, for example optimizer.rate=0.002, but got {change!r}")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = None if text in ("none", "null") else text  # a bare word is a string
    *sections, name = key.strip().split(".")
    for section in sections:
        values = values.setdefault(section, {})
        if not isinstance(values, dict):
            raise ConfigError(f"a recipe has no {key!r}: {section!r} is a value, not a section")
    values[name] = value


def _build(kind: Any, values: Any, where: str) -> Any:
    if not isinstance(values, Mapping):
        raise ConfigError(f"{where.rstrip('.') or 'a recipe'} should be a section, but is {values!r}")
    hints = get_type_hints(kind)
    known = [f.name for f in fields(kind)]
    for name in values:
        if name not in known:
            raise ConfigError(f"a recipe has no {where + name!r}; it has: {', '.join(where + k for k in known)}")
    return kind(**{name: _convert(value, hints[name], where + name) for name, value in values.items()})


def _convert(value: Any, hint: Any, where: str) -> Any:
    if is_dataclass(hint):
        return _build(hint, value, where + ".")
    options = get_args(hint)
    if get_origin(hint) is Literal:
        if value not in options:
            raise ConfigError(f"{where} is {value!r}, but should be one of {', '.join(map(repr, options))}")
        return value
    if get_origin(hint) is tuple:
        if not isinstance(value, (list, tuple)):
            raise ConfigError(f"{where} is {value!r}, but should be a list")
        inner = options[0]
        return tuple(tuple(v) if get_origin(inner) is tuple else v for v in value)
    kinds = tuple(option for option in options if option is not type(None)) or (hint,)
    if value is None and type(None) in options:
        return None
    if float in kinds and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise ConfigError(f"{where} is {value!r}, but should be of type {' or '.join(k.__name__ for k in kinds)}")
    return value
