"""Usages as languagechange's sources define them → one row each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from helpers.command_line import toy_model
from polyseme.errors import InputError
from polyseme.languagechange import ElmoUsages


@dataclass
class TargetUsage:
    """The two members that languagechange's models read; its own class keeps the text as ``text_``."""

    text_: str
    offsets: tuple[int | str, int | str]
    time: object = None

    def text(self) -> str:
        return self.text_


def test_a_row_is_the_vector_of_the_target_in_its_text() -> None:
    model = ElmoUsages(str(toy_model()))
    usages = [TargetUsage("Here is your birthday present.", (22, 29)), TargetUsage("The present!", ("4", "11"))]
    found = model.encode(usages)
    expected = [encoding["present"] for encoding in model.elmo.encode([usage.text() for usage in usages])]
    np.testing.assert_array_equal(found, np.stack(expected))
    np.testing.assert_array_equal(model.encode(usages[0]), found[:1])
    assert model.encode([]).shape == (0, model.elmo.config.width)


def test_a_target_of_two_tokens_has_their_mean_and_one_outside_the_text_is_refused() -> None:
    model = ElmoUsages(str(toy_model()))
    (row,) = model.encode([TargetUsage("a birthday present", (2, 18))])
    np.testing.assert_allclose(row, model.elmo.encode("a birthday present").vectors[1:].mean(axis=0), rtol=1e-6)
    with pytest.raises(InputError, match="there is no word at characters 40 to 44"):
        model.encode([TargetUsage("a birthday present", (40, 44))])
