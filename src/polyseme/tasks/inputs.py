"""Where ELMo enters a task model: the token vectors at its input, and optionally at its output.

    input   [B, N, F] = word vectors ⊕ learned characters ⊕ ELMo         F = V + filters + W
    output  [B, N, O] = ELMo, by a second mix of the same layers         appended to the output of the task's encoder

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
#: Word vectors as in their file; trained with the task, starting from them; or both, concatenated.
Tuning = Literal["frozen", "trained", "both"]


@dataclass(frozen=True, slots=True)
class InputChoices:
    """What token vectors are made of; every task has the same choices."""

    elmo: Where = "input"  #: where ELMo enters the task's network
    layers: str = "all"  #: of the biLM: "all" (a learned mix), "last", or the number of one layer
    mix_penalty: NotNegative = 0.001  #: λ in the penalty λ‖w‖² on the weights of the mix
    elmo_dropout: Share = 0.5
    layer_norm: bool = False  #: normalise each token's layers before they are mixed
    finetune: bool = False  #: train the biLM with the task instead of freezing it
    model: str = "en"  #: anything that ``Elmo.from_pretrained`` takes
    options: str = ""  #: the options file of HDF5 weights, if it is not beside them
    static: str = AUTO  #: a file of word vectors, the name of a package's, or "none"; by default, GloVe for English
    word_vectors: Tuning = "frozen"  #: with static "none" and "trained", vectors are learned from scratch
    word_dim: Count = 50  #: size of vectors learned from scratch; those of a file have their own
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
        """Which of a biLM's layers 0..L are used; L is ``layers``."""
        if self.layers == "all":
            return slice(None)
        number = layers if self.layers == "last" else int(self.layers)
        if number > layers:
            raise ConfigError(f"layers is {number}, but the model has layers 0 to {layers}")
        return slice(number, number + 1)


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """A batch of sentences as tensors, before any parameters are applied."""

    lengths: Tensor  # [B]
    mask: Tensor  # [B, N] bool
    static: Tensor  # [B, N, S]
    words: Tensor  # [B, N] row of the trained word vectors; 0 for none
    spellings: Tensor  # [R, C] each distinct token once, padded with 0
    which: Tensor  # [B, N] row of ``spellings``; 0 for padding
    layers: Tensor | None = None  # [layers used, B, N, W] of a frozen biLM
    ids: Tensor | None = None  # [B, T, K] for a biLM that is trained with the task
    unit_shares: Tensor | None = None  # [B, N, U] weight of each unit in its word, if such a biLM reads units


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """The inputs of a task's network."""

    input: Tensor  # [B, N, F], zeros for padding
    output: Tensor  # [B, N, O]; O is 0 if ELMo does not enter at the output
    mask: Tensor  # [B, N] bool
    lengths: Tensor  # [B]


class LearnedMix(TypedDict):
    """The numbers of a mix: the share of each layer used, and γ, by which their sum is multiplied."""

    shares: list[float]
    scale: float


class Features:
    """Sentences of tokens → ``TokenBatch``. It holds only data: word vectors, an alphabet, a biLM's layers."""

    def __init__(
        self,
        choices: InputChoices,
        static: StaticVectors,
        spelling: Spelling,
        cache: LayerCache | None,
        words: LearnedWords | None = None,
    ) -> None:
        self.choices, self.static, self.spelling, self.cache = choices, static, spelling, cache
        self.words = words or LearnedWords()  # words for which the network learns vectors
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
    """The weight of each unit in the vector of its word, which is the mean of its units: [B, words, U]."""
    shares = torch.zeros(len(parted), words, max(len(one.units) for one in parted))
    for number, one in enumerate(parted):
        counts = torch.tensor(one.counts, dtype=torch.int64)
        rows = torch.repeat_interleave(torch.arange(len(counts)), counts)
        shares[number, rows, torch.arange(len(rows))] = 1 / counts[rows]
    return shares


class TokenInputs(nn.Module):
    """The parameters between a ``TokenBatch`` and a task.

    Word vectors if they are trained, character filters, two mixes, and the biLM if it is fine-tuned.
    """

    start_h: Tensor  # [directions, L, 1, D], only if the biLM starts warm
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
        self.bilm: BiLM | None = None  # set if it is fine-tuned
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
        """New parameters for these features."""
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
            if (start := elmo.start(1)) is not None:  # saved with the network, because its sentences start from it
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
        """λ‖w‖² of both mixes, which is added to the task's loss."""
        return sum((mix.penalty(self.choices.mix_penalty) for mix in self._mixes()), torch.zeros(()))

    def shares(self) -> dict[str, LearnedMix]:
        """What each mix has learned, by the place where ELMo enters."""
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
        """The state from which ``sentences`` sentences start in a fine-tuned biLM; None for the zero state."""
        if not hasattr(self, "start_h"):
            return None
        return BiLMState(self.start_h, self.start_c).expand(sentences)


def open_elmo(choices: InputChoices, device: str = "cpu", state: State | None = None) -> Elmo | None:
    """The model that the choices name, or None if ELMo is not used."""
    if state == "carry":
        raise ConfigError("a task needs vectors that do not depend on earlier text; use the state reset or warm")
    if choices.elmo == "none":
        return None
    return Elmo.from_pretrained(choices.model, options=choices.options or None, device=device, state=state)
