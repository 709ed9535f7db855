"""Files of torch.save: every tensor is read as torch reads it, nothing is run, and damage is said in one sentence."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
import zipfile
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.golden import files, golden
from helpers.refusals import refused
from polyseme.errors import FormatError
from polyseme.formats.plain_pickle import DamagedPickle, ForeignPickle, read_pickle
from polyseme.formats.torch_file import is_torch_file, read_state_dict

DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")
GOLDEN = (
    "manylangs/model/encoder.pkl",
    "manylangs/model_char_only/classifier.pkl",
    "allennlp/token_embedder_projection.th",
)


def saved(path: Path, value: Any, *, legacy: bool = False) -> Path:
    torch.save(value, path, _use_new_zipfile_serialization=not legacy)
    return path


def assert_read_as_by_torch(path: Path) -> None:
    expected = torch.load(path, weights_only=True)
    found = read_state_dict(path)
    assert list(found.arrays) == list(expected)
    for name, tensor in expected.items():
        array = found.arrays[name]
        assert (array.shape, array.kind) == (tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."))
        assert array.floating == tensor.is_floating_point()
        plain = tensor.detach().float() if tensor.dtype == torch.bfloat16 else tensor.detach()
        np.testing.assert_array_equal(array.read(), plain.numpy())


@st.composite
def views(draw: st.DrawFn) -> torch.Tensor:
    """Tensors of every type, some of them a part of a larger one, turned, spread or trained."""
    dtype = getattr(torch, draw(st.sampled_from(DTYPES)))
    shape = draw(st.lists(st.integers(0, 4), max_size=3))
    x = (8 * torch.randn(shape, generator=torch.Generator().manual_seed(draw(st.integers(0, 99))))).to(dtype)
    if x.ndim and draw(st.booleans()):
        x = x[draw(st.integers(0, 2)) :: draw(st.integers(1, 2))]
    if x.ndim and draw(st.booleans()):
        x = x.permute(*reversed(range(x.ndim)))
    if draw(st.booleans()):
        x = x[None].expand(3, *x.shape)
    return torch.nn.Parameter(x) if x.is_floating_point() and draw(st.booleans()) else x


@given(st.dictionaries(st.text(max_size=8), views(), min_size=1, max_size=4), st.booleans())
@settings(max_examples=60)
def test_tensors_of_every_kind(
    tmp_path_factory: pytest.TempPathFactory, tensors: dict[str, torch.Tensor], legacy: bool
) -> None:
    path = saved(tmp_path_factory.mktemp("torch") / "x.th", OrderedDict(tensors), legacy=legacy)
    assert is_torch_file(path)
    assert_read_as_by_torch(path)


@pytest.mark.parametrize("legacy", [False, True])
def test_the_state_dict_of_a_module_with_shared_weights(tmp_path: Path, legacy: bool) -> None:
    module = torch.nn.Sequential(torch.nn.LSTM(3, 5, 2, bidirectional=True), torch.nn.BatchNorm1d(4))
    state = module.state_dict()
    state["again"] = state["0.weight_ih_l0"]
    state["part"] = state["0.weight_ih_l0"][1:, :2]
    assert_read_as_by_torch(saved(tmp_path / "x.th", state, legacy=legacy))


@pytest.mark.parametrize("name", files(*GOLDEN))
def test_golden_files(name: str) -> None:
    assert_read_as_by_torch(golden(name))


@pytest.mark.parametrize("name", files(*GOLDEN))
@given(data=st.data())
@settings(max_examples=80)
def test_a_damaged_file_is_read_or_refused_in_one_sentence(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    content = bytearray(golden(name).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        # Most of a file is weights; what the reader has to understand stands at its beginning or end.
        place = data.draw(st.integers(-3000, 2999))
        content[place % len(content)] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    path = tmp_path_factory.mktemp("mutants") / "x.th"
    path.write_bytes(content)
    try:
        for array in read_state_dict(path).arrays.values():
            if array.bytes < 1 << 24:
                array.read()
    except FormatError as error:
        assert "\n" not in str(error)


class Harm:
    """A pickle that makes a file when it is run."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.place,)


@pytest.mark.parametrize("legacy", [False, True])
def test_code_is_not_run(tmp_path: Path, legacy: bool) -> None:
    path = saved(tmp_path / "x.th", {"weight": torch.zeros(2), "harm": Harm(tmp_path / "harm")}, legacy=legacy)
    with refused(r"x\.th is a pickle that holds more than tensors \(.*\) and could run code, so it was not opened"):
        read_state_dict(path)
    assert not (tmp_path / "harm").exists()


def test_a_whole_module_is_refused_by_name(tmp_path: Path) -> None:
    with refused(r"holds more than tensors \(torch\.nn\.modules\.linear\.Linear\)"):
        read_state_dict(saved(tmp_path / "x.th", torch.nn.Linear(1, 1)))


@pytest.mark.parametrize(
    "value",
    [{1, 2}, b"bytes", object(), Path, complex(1, 2), 2**4000, {("a", "tuple"): 1}, slice(1)],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_what_is_no_plain_value_is_refused(value: Any, protocol: int) -> None:
    with pytest.raises((ForeignPickle, DamagedPickle)):
        read_pickle(io.BytesIO(pickle.dumps(value, protocol)), {})


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**600), 2**600) | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner, inner, inner) | st.dictionaries(st.text() | st.integers(), inner)
    ),
    max_leaves=30,
)


@given(plain)
def test_plain_values_are_read_as_pickle_reads_them(value: Any) -> None:
    assert read_pickle(io.BytesIO(pickle.dumps(value, 2)), {}) == value


@given(st.binary(max_size=60))
def test_any_bytes_end_in_one_of_two_errors_or_a_value(content: bytes) -> None:
    with suppress(ForeignPickle, DamagedPickle):
        read_pickle(io.BytesIO(b"\x80\x02" + content), {})


def test_a_value_that_refers_to_itself_does_no_harm() -> None:
    laughs = b"\x80\x02)q\x00" + b"".join(b"(" + 10 * b"h\x00" + b"tq\x00" for _ in range(60))
    with pytest.raises(ForeignPickle, match="a key of type tuple"):  # its hash would take forever
        read_pickle(io.BytesIO(laughs + b"}h\x00Ns."), {})


def test_tensors_that_reach_behind_their_storage(tmp_path: Path) -> None:
    path = saved(tmp_path / "x.th", {"weight": torch.arange(6.0).reshape(2, 3)})
    shape = b"K\x02K\x03\x86"  # the tuple (2, 3)
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    for found in (b"K\x03K\x03\x86", b"K\x02K\xff\x86", b"J\xff\xff\xff\x7fK\x01\x86"):
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in entries.items():
                archive.writestr(name, content.replace(shape, found, 1) if name.endswith("data.pkl") else content)
        with refused(r"x\.th is truncated or was not written by torch"):
            read_state_dict(path)


def test_a_storage_of_another_size_than_announced(tmp_path: Path) -> None:
    path = saved(tmp_path / "x.th", {"weight": torch.zeros(64)})
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content[:-4] if name.endswith("data/0") else content)
    with refused("truncated"):
        read_state_dict(path).read("weight")


def test_no_torch_is_needed(tmp_path: Path) -> None:
    path = saved(tmp_path / "x.th", {"weight": torch.arange(3.0)})
    script = (
        "import sys; sys.modules['torch'] = None\n"
        "from pathlib import Path\n"
        "from polyseme.formats.torch_file import read_state_dict\n"
        "print(read_state_dict(Path(sys.argv[1])).read('weight').tolist())"
    )
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True)
    assert done.stdout == "[0.0, 1.0, 2.0]\n"
