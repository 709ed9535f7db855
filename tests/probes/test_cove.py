"""CoVe's layers are those of torch's own two-layer LSTM."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from polyseme.errors import ConfigError, FormatError
from polyseme.probes.cove import CoVeVectors
from polyseme.probes.frozen import TableVectors
from polyseme.tasks.vectors.static import StaticVectors

WORDS = ["the", "bank", "of", "river"]


@pytest.fixture
def table() -> TableVectors:
    vectors = np.random.default_rng(0).normal(size=(5, 6)).astype(np.float32)
    vectors[0] = 0
    return TableVectors(StaticVectors("made", {word: row for row, word in enumerate(WORDS, start=1)}, vectors))


def save(path: Path, lstm: nn.LSTM, prefix: str = "") -> Path:
    torch.save({prefix + name: value for name, value in lstm.state_dict().items()}, path)
    return path


@pytest.mark.parametrize("prefix", ["", "rnn."])
def test_the_second_layer_is_the_output_of_both(tmp_path: Path, table: TableVectors, prefix: str) -> None:
    torch.manual_seed(0)
    both = nn.LSTM(6, 4, num_layers=2, bidirectional=True, batch_first=True)
    first = nn.LSTM(6, 4, bidirectional=True, batch_first=True)
    first.load_state_dict({name: value for name, value in both.state_dict().items() if "l0" in name})
    cove = CoVeVectors.load(save(tmp_path / "cove.pth", both, prefix), table)
    sentences = [["the", "bank"], ["bank", "of", "unknown", "river"]]
    assert (cove.layers, cove.width) == (2, 8)
    for tokens, found in zip(sentences, cove.stream(sentences), strict=True):
        inputs = torch.from_numpy(next(iter(table.stream([tokens]))))
        with torch.no_grad():
            np.testing.assert_allclose(found[0], first(inputs)[0][0].numpy(), atol=1e-6)
            np.testing.assert_allclose(found[1], both(inputs)[0][0].numpy(), atol=1e-6)


def test_other_vectors_and_other_files_are_refused(tmp_path: Path, table: TableVectors) -> None:
    wide = save(tmp_path / "wide.pth", nn.LSTM(300, 4, num_layers=2, bidirectional=True))
    with pytest.raises(ConfigError, match=r"reads word vectors of 300 numbers, but made has 6; give .*GloVe 840B"):
        CoVeVectors.load(wide, table)
    one_layer = save(tmp_path / "one.pth", nn.LSTM(6, 4, bidirectional=True))
    with pytest.raises(FormatError, match=r"one\.pth is not a CoVe encoder: it has no LSTM layer 1"):
        CoVeVectors.load(one_layer, table)
    one_way = save(tmp_path / "way.pth", nn.LSTM(6, 4, num_layers=2))
    with pytest.raises(FormatError, match="reverse"):
        CoVeVectors.load(one_way, table)
