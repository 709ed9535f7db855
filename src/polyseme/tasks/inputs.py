"""Where ELMo enters: the vectors of tokens that every task model begins with, and may end with.

    input   [B, N, F] = word vectors ⊕ learned characters ⊕ ELMo         F = V + filters + W
    output  [B, N, O] = ELMo, by a second mix of the same layers         to be joined to what the task's encoder says

Sentences → ``Features`` → ``TokenBatch`` (no parameters) → ``TokenInputs`` (parameters) → ``TokenVectors``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

import numpy as np
import torch
from torch import Tensor, nn

from polyseme.elmo import Elmo
from polyseme.errors import ConfigError
from polyseme.nn.bilm import BiLM, BiLMState
from polyseme.nn.dropout import Dropout
from polyseme.nn.mix import ScalarMix, mix_together, normalise
from polyseme.sentence_reader import State
from polyseme.settings import Count, Natural, NotNegative, Share, checked
from polyseme.tasks.layer_cache import LayerCache
from polyseme.tasks.vectors.learned import LearnedWords, Spelling, SpellingCNN, TaskWordVectors
from polyseme.tasks.vectors.static import AUTO, StaticVectors
from polyseme.text.tokenization import PartedWords

Where = Literal["none", "input", "output", "both"]
#: Word vectors as their file has them; trained with the task from there; or both, side by side.
Tuning = Literal["frozen", "trained", "both"]


@dataclass(frozen=True, slots=True)
class InputChoices:
    """What the vectors of tokens are made of: the same choices for every task."""

    elmo: Where = "input"  #: where ELMo enters the task's network
    layers: str = "all"  #: of the biLM: a mix of all, the last, or one by its number
    mix_penalty: NotNegative = 0.001  #: λ of λ‖w‖² on the weights of the mix
    elmo_dropout: Share = 0.5
    layer_norm: bool = False  #: normalise each token's layers before they are mixed
    finetune: bool = False  #: train the biLM with the task instead of keeping it as it is
    model: str = "en"  #: anything that ``Elmo.from_pretrained`` takes
    options: str = ""  #: of HDF5 weights that have none beside them
    static: str = AUTO  #: a file of word vectors, the name of the package's, or "none"; GloVe for English unless given
    word_vectors: Tuning = "frozen"  #: with "none" and "trained" words have a vector that only the task has taught them
    word_dim: Count = 50  #: of such vectors; those of a file have their own size
    characters: Natural = 128  #: filters over the characters of a token; 0 for none
    character_dim: Count = 16

    def __post_init__(self) -> None:
        checked(self)
        if self.layers not in ("all", "last") and not (self.layers.isascii() and self.layers.isdecimal()):
            raise ConfigError(f"layers is {self.layers!r}, but should be all, last, or the number of a layer")
        if self.word_vectors == "both" and self.static == "none":
            raise ConfigError("word_vectors is both, but there are no frozen ones; give a file, or trained")
        if self.elmo == "none" and self.static == "none" and not self.trains_words and self.characters == 0:
            raise ConfigError("with no ELMo, no word vectors and no characters, a token has no vector at all")

    @property
    def trains_words(self) -> bool:
        return self.word_vectors != "frozen"

    @property
    def at_input(self) -> bool:
        return self.elmo in ("input", "both")

    @property
    def at_output(self) -> bool:
        return self.elmo in ("output", "both")

    def pick(self, layers: int) -> slice:
        """Which of a biLM's layers 0..L take part; L is ``layers``."""
        if self.layers == "all":
            return slice(None)
        number = layers if self.layers == "last" else int(self.layers)
        if number > layers:
            raise ConfigError(f"layers is {number}, but the model has layers 0 to {layers}")
        return slice(number, number + 1)


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """A batch of sentences as tensors, before any parameter has seen it."""

    lengths: Tensor  # [B]
    mask: Tensor  # [B, N] bool
    static: Tensor  # [B, N, S]
    words: Tensor  # [B, N] row of the vectors that are trained; 0 where there is none
    spellings: Tensor  # [R, C] each distinct token once, 0 behind its end
    which: Tensor  # [B, N] row of ``spellings``; 0 where no token stands
    layers: Tensor | None = None  # [layers picked, B, N, W] of a frozen biLM
    ids: Tensor | None = None  # [B, T, K] for a biLM that is trained with the task
    unit_shares: Tensor | None = None  # [B, N, U] of each unit in its word, where such a biLM reads smaller units


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """What a task's network works with."""

    input: Tensor  # [B, N, F], zeros where no token stands
    output: Tensor  # [B, N, O]; O is 0 where ELMo does not enter at the output
    mask: Tensor  # [B, N] bool
    lengths: Tensor  # [B]


class LearnedMix(TypedDict):
    """A mix in figures: the share of each layer that takes part, and γ, by which their sum is multiplied."""

    shares: list[float]
    scale: float


class Features:
    """Sentences of tokens → ``TokenBatch``. Holds data only: word vectors, an alphabet, a biLM's layers."""

    def __init__(
        self,
        choices: InputChoices,
        static: StaticVectors,
        spelling: Spelling,
        cache: LayerCache | None,
        words: LearnedWords | None = None,
    ) -> None:
        self.choices, self.static, self.spelling, self.cache = choices, static, spelling, cache
        self.words = words or LearnedWords()  # that the network has vectors of its own for
        self._static = torch.from_numpy(static.table)  # [R, S]
        self._pick = choices.pick(cache.elmo.config.layers) if cache is not None else slice(None)

    def __call__(self, sentences: Sequence[Sequence[str]]) -> TokenBatch:
        lengths = torch.tensor([len(s) for s in sentences], dtype=torch.int64)
        longest = int(lengths.max()) if len(lengths) else 0
        mask = torch.arange(longest)[None, :] < lengths[:, None]  # [B, N]
        spellings, which = self.spelling.batch(sentences, longest)
        rows, words = np.zeros((2, len(sentences), longest), dtype=np.int64)
        for number, sentence in enumerate(sentences):
            rows[number, : len(sentence)] = self.static.ids(sentence)
            words[number, : len(sentence)] = self.words.ids(sentence, self.static)
        layers = ids = shares = None
        if self.cache is not None and self.choices.finetune:
            parted = [found for sentence in sentences if (found := self.cache.elmo.part(sentence)) is not None]
            ids = self.cache.elmo.ids([found.units for found in parted] or sentences).cpu()
            shares = _unit_shares(parted, longest) if parted else None
        elif self.cache is not None:
            layers = torch.from_numpy(self.cache.layers(sentences, self._pick))
        static = self._static[torch.from_numpy(rows)]
        return TokenBatch(lengths, mask, static, torch.from_numpy(words), spellings, which, layers, ids, shares)


def _unit_shares(parted: Sequence[PartedWords], words: int) -> Tensor:
    """What each unit adds to the vector of its word, the mean of its units: [B, words, U]."""
    shares = torch.zeros(len(parted), words, max(len(one.units) for one in parted))
    for number, one in enumerate(parted):
        counts = torch.tensor(one.counts, dtype=torch.int64)
        rows = torch.repeat_interleave(torch.arange(len(counts)), counts)
        shares[number, rows, torch.arange(len(rows))] = 1 / counts[rows]
    return shares


class TokenInputs(nn.Module):
    """The parameters between a ``TokenBatch`` and a task.

    Word vectors if they are trained, character filters, two mixes, a biLM if it is fine-tuned.
    """

    start_h: Tensor  # [directions, L, 1, D], only with a biLM that starts warm
    start_c: Tensor  # [directions, L, 1, H]

    def __init__(
        self,
        choices: InputChoices,
        *,
        static_width: int,
        alphabet: int,
        words: int = 0,
        layers: int = 0,
        elmo_width: int = 0,
    ) -> None:
        super().__init__()
        self.choices = choices
        self.words = TaskWordVectors(choices.word_vectors, words, static_width, choices.word_dim)
        self.bilm: BiLM | None = None  # see ``finetune``
        mixed = len(range(layers + 1)[choices.pick(layers)]) if choices.elmo != "none" else 0
        self.characters = (
            SpellingCNN(alphabet, choices.character_dim, choices.characters) if choices.characters else None
        )
        self.input_mix = ScalarMix(mixed) if choices.at_input else None
        self.output_mix = ScalarMix(mixed) if choices.at_output else None
        self.dropout = Dropout(choices.elmo_dropout)
        self.input_width = self.words.width + choices.characters + (elmo_width if choices.at_input else 0)  # F
        self.output_width = elmo_width if choices.at_output else 0  # O
        if self.input_width == 0:
            raise ConfigError("ELMo enters only at the output, so the input needs word vectors or characters")

    @classmethod
    def of(cls, features: Features) -> TokenInputs:
        """New parameters for the given data."""
        elmo = features.cache.elmo if features.cache is not None else None
        tokens = cls(
            features.choices,
            static_width=features.static.width,
            alphabet=features.spelling.size,
            words=features.words.size,
            layers=elmo.config.layers if elmo else 0,
            elmo_width=elmo.config.width if elmo else 0,
        )
        if elmo is not None and features.choices.finetune:
            tokens.bilm = BiLM.of(elmo.stored).requires_grad_()
            if (start := elmo.start(1)) is not None:  # kept with the network: it is what its sentences start from
                tokens.register_buffer("start_h", torch.as_tensor(start.h).clone())
                tokens.register_buffer("start_c", torch.as_tensor(start.c).clone())
        return tokens

    def forward(self, batch: TokenBatch) -> TokenVectors:
        parts = [self.words(batch.static, batch.words)]
        if self.characters is not None:
            parts.append(self.characters(batch.spellings)[batch.which] * batch.mask[:, :, None])
        mixed = self._mixed(batch)
        if self.input_mix is not None:
            parts.append(mixed[0])
        output = mixed[-1] if self.output_mix is not None else batch.static.new_zeros(*batch.mask.shape, 0)
        return TokenVectors(torch.cat(parts, dim=2), output, batch.mask, batch.lengths)

    def _mixed(self, batch: TokenBatch) -> list[Tensor]:
        """[B, N, W] of each mix."""
        layers = self._layers(batch)  # [layers, B, N, W]
        mixes = self._mixes()
        if layers is None or not mixes:
            return []
        if self.choices.layer_norm:
            layers = normalise(layers, batch.mask, "token") * batch.mask[:, :, None]
        mixed: Tensor = self.dropout(mix_together(mixes, layers))
        return list(mixed.unbind(0))

    def penalty(self) -> Tensor:
        """λ‖w‖² of both mixes, to be added to a task's loss."""
        return sum((mix.penalty(self.choices.mix_penalty) for mix in self._mixes()), torch.zeros(()))

    def shares(self) -> dict[str, LearnedMix]:
        """What the mixes have learned, by the place where ELMo enters."""
        mixes = {"input": self.input_mix, "output": self.output_mix}
        return {
            name: {
                "shares": [round(share, 4) for share in mix.shares().tolist()],
                "scale": round(mix.scale.item(), 4),
            }
            for name, mix in mixes.items()
            if mix is not None
        }

    def _mixes(self) -> list[ScalarMix]:
        return [mix for mix in (self.input_mix, self.output_mix) if mix is not None]

    def _layers(self, batch: TokenBatch) -> Tensor | None:
        if self.bilm is None:
            return None if batch.layers is None else batch.layers.float()
        assert batch.ids is not None
        layers, _ = self.bilm(batch.ids, self._start(len(batch.ids))).without_boundaries()  # [L+1, B, N, W]
        picked: Tensor = layers[self.choices.pick(self.bilm.config.layers)]
        return picked if batch.unit_shares is None else batch.unit_shares @ picked  # [layers, B, N, W]

    def _start(self, sentences: int) -> BiLMState | None:
        """Where so many sentences of a biLM that is trained with the task start; None for the zero state."""
        if not hasattr(self, "start_h"):
            return None
        return BiLMState(self.start_h, self.start_c).expand(sentences)


def open_elmo(choices: InputChoices, device: str = "cpu", state: State | None = None) -> Elmo | None:
    """The model that the choices name, if ELMo takes part at all."""
    if state == "carry":
        raise ConfigError("a task needs vectors that do not depend on what came before; use the state reset or warm")
    if choices.elmo == "none":
        return None
    return Elmo.from_pretrained(choices.model, options=choices.options or None, device=device, state=state)
