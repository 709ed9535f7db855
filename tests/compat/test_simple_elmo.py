"""ElmoModel gives the arrays that simple_elmo recorded, padding and averages included."""

from __future__ import annotations

import json

import numpy as np
import pytest

from helpers.golden import CONTAINERS, assert_same_as_golden, files, golden
from polyseme.compat.simple_elmo import ElmoModel
from polyseme.errors import ConfigError, InputError

SENTENCES = json.loads(golden("nlpl/sentences.json").read_text())


@pytest.mark.parametrize("size", [2, 32])
@pytest.mark.parametrize("name", files(*(f"nlpl/{name}_expected.npz" for name in CONTAINERS)))
def test_the_recorded_vectors(name: str, size: int) -> None:
    model, expected = ElmoModel(), np.load(golden(name))
    model.load(golden(f"nlpl/{CONTAINERS[name.removeprefix('nlpl/').removesuffix('_expected.npz')]}"), size)
    tolerance = 2e-5 if "maxchars16" in name else 1e-5
    for layers in ("all", "average", "top"):
        for warmup in (False, True):
            key = f"{layers}_warmup{int(warmup)}_bs{size}"
            found = model.get_elmo_vectors(SENTENCES, warmup=warmup, layers=layers)
            assert found.dtype == np.float64
            assert_same_as_golden(found, expected[f"vectors_{key}"], "compat simple_elmo", tolerance)
            if size == 32:
                found = model.get_elmo_vector_average(SENTENCES, warmup=warmup, layers=layers)
                assert_same_as_golden(found, expected[f"average_{key}"], "compat simple_elmo", tolerance)


def test_what_programs_ask_of_it() -> None:
    model = ElmoModel()
    with pytest.raises(ConfigError, match="call load"):
        model.get_elmo_vectors(SENTENCES)
    model.load(golden("nlpl/with_vocab.zip"), max_batch_size=4, limit=7)
    assert (model.batch_size, model.vector_size, model.n_layers, model.max_chars) == (4, 16, 3, 50)
    with pytest.raises(ConfigError, match="should be 'average', 'top' or 'all'"):
        model.get_elmo_vectors(SENTENCES, layers="bottom")
    with pytest.raises(InputError, match="no texts"):
        model.get_elmo_vectors([])
    with pytest.raises(ConfigError, match="substitutes"):
        model.load(golden("nlpl/with_vocab.zip"), full=True)


def test_a_session_goes_on_where_the_last_call_ended() -> None:
    model = ElmoModel()
    model.load(golden("nlpl/with_vocab.zip"))
    fresh = model.get_elmo_vectors(SENTENCES, warmup=False)
    session = object()
    np.testing.assert_array_equal(model.get_elmo_vectors(SENTENCES, warmup=False), fresh)
    assert np.abs(model.get_elmo_vectors(SENTENCES, warmup=False, session=session) - fresh).max() > 1e-3
    model.get_elmo_vectors(SENTENCES, warmup=False)
    model.warmup(session, SENTENCES)
    warm = model.get_elmo_vectors(SENTENCES, warmup=False, session=session)
    assert np.abs(warm - fresh).max() > 1e-3
