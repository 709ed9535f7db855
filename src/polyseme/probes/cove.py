"""CoVe (McCann et al., 2017): the two LSTM layers of a translation model, as frozen vectors to compare with a biLM.

The weights are the released state dict of the encoder (MT-LSTM); it reads static vectors, GloVe 840B.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from polyseme.errors import ConfigError, FormatError
from polyseme.formats.arrays import ArrayFile
from polyseme.formats.torch_file import read_state_dict
from polyseme.probes.frozen import Floats, TableVectors, Tokens

LAYERS = 2


@dataclass(frozen=True)
class CoVeVectors:
    """Both layers of the encoder, forward and backward concatenated."""

    table: TableVectors  #: the input of the first layer
    lstms: tuple[nn.LSTM, ...]  #: one for each layer, so that the first one's output can be seen

    @classmethod
    def load(cls, weights: Path, table: TableVectors) -> CoVeVectors:
        arrays = read_state_dict(weights)
        lstms = tuple(_lstm(arrays, layer) for layer in range(LAYERS))
        if lstms[0].input_size != table.width:
            raise ConfigError(
                f"{weights.name} reads word vectors of {lstms[0].input_size} numbers, but {table.table.source} has "
                f"{table.width}; give those it was trained with (GloVe 840B, 300 numbers)"
            )
        return cls(table, lstms)

    @property
    def layers(self) -> int:
        return LAYERS

    @property
    def width(self) -> int:
        return 2 * self.lstms[0].hidden_size

    @torch.no_grad()
    def stream(self, sentences: Iterable[Tokens]) -> Iterator[Floats]:
        for vectors in self.table.stream(sentences):
            outputs = [torch.from_numpy(vectors)]  # [1, N, S]
            for lstm in self.lstms:
                outputs.append(lstm(outputs[-1])[0])  # [1, N, W]
            yield torch.cat(outputs[1:]).numpy()  # [2, N, W]


def _lstm(arrays: ArrayFile, layer: int) -> nn.LSTM:
    """One layer, both directions; a prefix of the names ("rnn.") does not matter."""
    pattern = re.compile(rf"(?:.*\.)?((?:weight|bias)_(?:ih|hh)_l){layer}((?:_reverse)?)")
    names = {f"{found[1]}0{found[2]}": name for name in arrays.arrays if (found := pattern.fullmatch(name))}
    if "weight_ih_l0" not in names:
        raise FormatError(f"{arrays.name} is not a CoVe encoder: it has no LSTM layer {layer}")
    gates, inputs = arrays.shape(names["weight_ih_l0"])
    lstm = nn.LSTM(inputs, gates // 4, batch_first=True, bidirectional=True)
    expected = {names.get(name, name): tuple(value.shape) for name, value in lstm.state_dict().items()}
    arrays.check(expected)
    lstm.load_state_dict({name: torch.from_numpy(arrays.read(names[name])) for name in lstm.state_dict()})
    return lstm.eval()
