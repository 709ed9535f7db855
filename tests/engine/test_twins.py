"""One sentence read both ways at once: the bits of the ordinary way."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from engine.random_models import SMALL, random_model

from polyseme.engine.engine import Engine
from polyseme.engine.product import can_pack
from polyseme.engine.twins import diagonal, fits
from polyseme.nn.bilm import BiLMState

SENTENCE = ["the", "cat", "", "naïve", "x" * 60, "日本語"] * 7


@pytest.mark.skipif(not can_pack(), reason="torch has no oneDNN here")
@pytest.mark.parametrize(
    "config",
    [
        SMALL,
        replace(SMALL, layers=3, skip_connections=False),
        replace(SMALL, cell_clip=None, projection_clip=None),
        replace(SMALL, cell_clip=0.2, projection_clip=0.1),
        replace(SMALL, cell=37, projection=11),
    ],
)
def test_twins_and_directions_agree_to_the_last_bit(config: object, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = random_model(config)  # type: ignore[arg-type]
    engine, apart = Engine(stored), Engine(stored)
    assert engine._twins is not None
    apart._twins = None
    shape = (2, stored.config.layers, 1)
    start = BiLMState(torch.randn(*shape, stored.config.projection), torch.randn(*shape, stored.config.cell))
    for state in (None, start):
        (found,), final = engine.encode_carrying([SENTENCE], state, keep_boundaries=True)
        (expected,), expected_final = apart.encode_carrying([SENTENCE], state, keep_boundaries=True)
        assert torch.equal(found, expected)
        assert torch.equal(final.h, expected_final.h) and torch.equal(final.c, expected_final.c)


def test_the_diagonal_has_each_row_with_its_own_matrix() -> None:
    rows, matrices = torch.randn(2, 5), torch.randn(2, 5, 7)
    both = rows @ torch.cat(list(matrices), dim=1)
    torch.testing.assert_close(diagonal(both), torch.einsum("rk,rkn->rn", rows, matrices))


def test_which_models_have_twins() -> None:
    assert fits(SMALL)
    assert not fits(replace(SMALL, bidirectional=False))
    assert not fits(replace(SMALL, cell=8, projection=8))  # no projection
    assert not fits(replace(SMALL, cell=4096, projection=512))  # weights that take long to read
