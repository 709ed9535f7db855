"""AllenNLP's biLM in PyTorch: ids without boundaries in, every layer with boundaries out, state kept between calls."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from polyseme.compat.elmo_characters import character_ids, load_characters
from polyseme.errors import ConfigError
from polyseme.formats.allennlp import CHARACTERS
from polyseme.formats.names import ALLENNLP
from polyseme.formats.renaming import expand
from polyseme.nn.bilm import BiLM, BiLMState
from polyseme.nn.numpy_weights import array_of, tensors_of


class CarriedState:
    """The states of the rows of a batch, kept between calls; programs know it as the inner ``_elmo_lstm``."""

    def __init__(self) -> None:
        self.stateful = True
        self._rows: BiLMState | None = None

    def start(self, count: int, device: torch.device) -> BiLMState | None:
        """The states from which ``count`` sentences start; None for the zero state."""
        if self._rows is None or not self.stateful:
            return None
        rows = self._rows.rows(count)
        return BiLMState(rows.h.to(device), rows.c.to(device))

    def keep(self, final: BiLMState) -> None:
        if self.stateful:
            final = BiLMState(final.h.detach(), final.c.detach())
            before = None if self._rows is None else BiLMState(*(x.to(final.h) for x in (self._rows.h, self._rows.c)))
            self._rows = final if before is None else before.replace_rows(final)

    @property
    def _states(self) -> tuple[Tensor, Tensor] | None:
        """The states in AllenNLP's form: outputs [L, rows, 2·D] and cells [L, rows, 2·H], forward before backward."""
        if self._rows is None:
            return None
        both = (x.permute(1, 2, 0, 3).flatten(2) for x in (self._rows.h, self._rows.c))
        return next(both), next(both)

    def reset_states(self, mask: Tensor | None = None) -> None:
        """Reset all rows, or those selected by ``mask`` [rows]."""
        if mask is None or self._rows is None:
            self._rows = None
            return
        kept = (~mask.bool())[None, None, :, None].to(self._rows.h)
        self._rows = BiLMState(self._rows.h * kept, self._rows.c * kept)


class _ElmoBiLm(nn.Module):
    """``_ElmoBiLm(options_file, weight_file)(ids)`` → activations of every layer, and their mask."""

    _begin: Tensor  # [M]
    _end: Tensor  # [M]
    _cached: Tensor | None  # [V, M]

    def __init__(
        self,
        options_file: str,
        weight_file: str,
        requires_grad: bool = False,
        vocab_to_cache: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        stored, scheme = load_characters(options_file, weight_file)
        self._bilm: BiLM = BiLM.of(stored).requires_grad_(requires_grad)
        self._elmo_lstm = CarriedState()
        self.register_buffer("_begin", torch.tensor(scheme.begin_row()), persistent=False)
        self.register_buffer("_end", torch.tensor(scheme.end_row()), persistent=False)
        # Words of the vocabulary are looked up by id; the network then encodes each distinct word once.
        cached = None if vocab_to_cache is None else torch.from_numpy(character_ids([vocab_to_cache], scheme)[0])
        if cached is not None:
            cached[0] = 0  # the padding token
        self.register_buffer("_cached", cached, persistent=False)
        self.register_load_state_dict_pre_hook(_rename_weights)  # type: ignore[no-untyped-call]

    @property
    def num_layers(self) -> int:
        """The number of layers, including the token layer."""
        return self._bilm.config.layers + 1

    def get_output_dim(self) -> int:
        return self._bilm.config.width

    def forward(self, inputs: Tensor | None, word_inputs: Tensor | None = None) -> dict[str, list[Tensor] | Tensor]:
        """[B, N, M] ids without boundaries → "activations": L+1 of [B, N+2, W], "mask": [B, N+2].

        ``word_inputs`` [B, N] are word ids in ``vocab_to_cache``; for ids out of range, the characters are used.
        """
        ids = add_boundaries(self._characters(inputs, word_inputs), self._begin, self._end)
        output = self._bilm(ids, self._elmo_lstm.start(len(ids), ids.device))
        self._elmo_lstm.keep(output.state)
        return {"activations": list(output.layers.unbind(0)), "mask": output.mask.long()}

    def _characters(self, inputs: Tensor | None, word_inputs: Tensor | None) -> Tensor:
        if self._cached is not None and word_inputs is not None and bool((word_inputs < len(self._cached)).all()):
            return self._cached[word_inputs]
        if inputs is None:
            raise ConfigError("a word that is not cached needs its characters; pass the ids of characters too")
        return inputs


def _rename_weights(bilm: _ElmoBiLm, state_dict: dict[str, Tensor], prefix: str, *_: object) -> None:
    """Convert a state dict saved by AllenNLP's module to this module's names; others are unchanged."""
    if prefix + CHARACTERS not in state_dict:
        return
    state_dict.pop(f"{prefix}_token_embedder._word_embedding.weight", None)  # cached words: computed again here
    for entry in expand(ALLENNLP, bilm._bilm.config):
        if (saved := state_dict.pop(prefix + entry.theirs, None)) is not None:
            for name, weights in tensors_of(entry.load(array_of(saved))).items():
                state_dict[f"{prefix}_bilm.{name}"] = weights


def add_boundaries(ids: Tensor, begin: Tensor, end: Tensor) -> Tensor:
    """[B, N, M] ids → [B, N+2, M]: each sentence between its boundaries, padded with zeros."""
    sizes = (ids > 0).any(dim=2).sum(dim=1)  # [B]
    framed = ids.new_zeros(ids.shape[0], ids.shape[1] + 2, ids.shape[2])
    framed[:, 1:-1] = ids
    framed[:, 0] = begin
    framed[torch.arange(len(ids), device=ids.device), sizes + 1] = end
    return framed
