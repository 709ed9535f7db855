"""The tables of names: every parameter has exactly one place, and the way there and back is the identity."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.small_models import SMALL, configs, small_model
from polyseme.bilm_config import BiLMConfig, WordConfig
from polyseme.errors import FormatError
from polyseme.formats import allennlp, bilm_tf, manylangs, names, renaming, tf_checkpoint
from polyseme.formats.arrays import Array, ArrayFile, Floats, parameter_shapes
from polyseme.formats.names import ALLENNLP, BILM_TF, BILM_TF_WITH_PADDING, MANYLANGS
from polyseme.formats.options_json import config_from_shapes
from polyseme.formats.renaming import (
    Gates,
    Layout,
    Step,
    choose_layout,
    expand,
    file_arrays,
    read_tensors,
    shapes_by_name,
)
from polyseme.nn.bilm import BiLM

STEPS: list[Step] = [
    renaming.ReverseAxes(),
    renaming.NegateLowerHalf(),
    renaming.ForgetBias(),
    Gates("igfo", axis=0),
    Gates("ifgo", axis=0),
    Gates("igfo", axis=-1),
]


def file_of(arrays: dict[str, Floats]) -> ArrayFile:
    found = {n: Array(x.shape, str(x.dtype), x.dtype.kind == "f", lambda x=x: x) for n, x in arrays.items()}
    return ArrayFile("memory", found, sum(4 * x.size for x in arrays.values()))


@pytest.mark.parametrize("step", STEPS, ids=[f"{type(step).__name__} {n}" for n, step in enumerate(STEPS)])
def test_a_step_can_be_undone(step: Step) -> None:
    x = np.arange(64.0, dtype=np.float32).reshape(8, 8)  # whole numbers, so that adding a constant rounds nothing
    x = x if not isinstance(step, renaming.ForgetBias) else x[0]
    assert np.array_equal(step.save(step.load(x)), x)
    assert np.array_equal(step.load(step.save(x)), x)
    assert not np.array_equal(step.load(x), x)


def test_gates_by_name() -> None:
    i, j, f, o = (np.full((2,), float(n)) for n in range(4))
    assert np.array_equal(Gates("igfo", 0).load(np.concatenate([i, j, f, o])), np.concatenate([i, f, o, j]))
    assert np.array_equal(Gates("ifgo", 0).load(np.concatenate([i, f, j, o])), np.concatenate([i, f, o, j]))


def layouts_for(config: BiLMConfig) -> list[Layout]:
    """The layouts of TensorFlow's files that can hold this network."""
    fitting = []
    for layout in (*BILM_TF, *BILM_TF_WITH_PADDING):
        try:
            theirs = [entry.theirs for entry in expand(layout.table, config)]
        except FormatError:
            continue
        if len(set(theirs)) == len(theirs) and layout.directions == config.directions:
            fitting.append(layout)
    return fitting


@given(configs(), st.data())
@settings(max_examples=50)
def test_tensorflow_there_and_back(config: BiLMConfig, data: st.DataObject) -> None:
    layout = data.draw(st.sampled_from(layouts_for(config)))
    model = small_model(config)
    file = file_of(file_arrays(model.tensors, layout.table, config))
    for name, values in read_tensors(file, layout.table, config).items():
        assert np.array_equal(values, model.tensors[name]), name
    family = BILM_TF if layout in BILM_TF else BILM_TF_WITH_PADDING
    chosen = choose_layout(file, family)
    assert [e.theirs for e in expand(chosen.table, config)] == [e.theirs for e in expand(layout.table, config)]


@given(configs().filter(lambda config: config.bidirectional and config.characters is not None))
@settings(max_examples=30)
def test_torch_there_and_back(config: BiLMConfig) -> None:
    model = small_model(config)
    for table in (ALLENNLP, MANYLANGS):
        file = file_of(file_arrays(model.tensors, table, config))
        for name, values in read_tensors(file, table, config).items():
            np.testing.assert_allclose(values, model.tensors[name], rtol=0, atol=3e-7)  # 1.0 was added and taken off


@given(configs().filter(lambda config: config.characters is not None))
@settings(max_examples=30)
def test_shapes_alone_tell_the_network(config: BiLMConfig) -> None:
    assert config.characters is not None
    layout = next(iter(layouts_for(config)))
    file = file_of(file_arrays(small_model(config).tensors, layout.table, config))
    found = config_from_shapes(shapes_by_name(file, layout.table), "memory")
    released = replace(config.characters, activation="relu", max_characters=50)
    expected = replace(config, characters=released, cell_clip=3.0, projection_clip=3.0, skip_connections=True)
    assert found == expected


@given(configs())
@settings(max_examples=30)
def test_shapes_are_those_of_the_network(config: BiLMConfig) -> None:
    expected = {name: tuple(x.shape) for name, x in BiLM(config).state_dict().items()}
    assert parameter_shapes(config) == expected


def test_shapes_of_a_network_of_words_and_characters() -> None:
    config = replace(SMALL, words=WordConfig(5, 3))
    expected = {name: tuple(x.shape) for name, x in BiLM(config).state_dict().items()}
    assert parameter_shapes(config) == expected


def test_every_parameter_has_one_place() -> None:
    shapes = parameter_shapes(SMALL)
    for table in (BILM_TF[0].table, ALLENNLP, MANYLANGS):
        places = [part for entry in expand(table, SMALL) for part in entry.parts]
        assert sorted(places) == sorted(shapes)


def test_what_a_layout_cannot_hold_is_said() -> None:
    one_layer = BILM_TF[1]
    with pytest.raises(FormatError, match=r"no place for the parameter 'directions\.0\.cells\.1"):
        list(expand(one_layer.table, SMALL))


@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (2**31, 2**31, 2**31)])
def test_shapes_that_cannot_be(shape: tuple[int, ...]) -> None:
    array = Array(shape, "float32", True, lambda: np.empty(0))
    name = "RNN_0/RNN/MultiRNNCell/Cell0/LSTMCell/W_0"
    file = ArrayFile("memory", {name: array, "char_embed": array}, 10)
    with pytest.raises(FormatError):
        config_from_shapes(shapes_by_name(file, BILM_TF[0].table), "memory")


@pytest.mark.parametrize("module", [allennlp, bilm_tf, manylangs, tf_checkpoint])
def test_loaders_leave_names_to_the_tables(module: object) -> None:
    """A loader that took names of weights apart by hand would drift away from the one that writes them."""
    source = inspect.getsource(module)  # type: ignore[arg-type]
    for word in ("LSTMCell", "lstm_cell", "W_P_0", "_linearity", "W_cnn", "char_conv", "_highways"):
        assert word not in source
        assert word in inspect.getsource(names)
