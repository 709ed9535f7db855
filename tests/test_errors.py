"""The exception tree: drawn as it is, one sentence each."""

from __future__ import annotations

import inspect
import pickle
import re

import pytest

from polyseme import errors
from polyseme.errors import FormatError, InputError, MissingExtra, MissingTensor, PolysemeError, WrongShape

CLASSES = {
    name: value
    for name, value in vars(errors).items()
    if inspect.isclass(value) and issubclass(value, Exception) and value.__module__ == errors.__name__
}


def test_the_tree_at_the_top_of_the_file_is_the_tree() -> None:
    """Every class stands in the drawing, below the class it is derived from, and nothing else does."""
    drawn: dict[str, int] = {}
    parents: dict[str, str] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"    ([│├└─ ]*)([A-Z]\w+)  +\S", line):
            depth = len(found.group(1)) // 4
            name = found.group(2)
            path[depth:] = [name]
            drawn[name] = depth
            if depth:
                parents[name] = path[depth - 1]
    assert drawn.keys() == CLASSES.keys()
    for name, parent in parents.items():
        assert CLASSES[name].__bases__ == (CLASSES[parent],)
    assert [name for name, depth in drawn.items() if depth == 0] == ["PolysemeError"]


@pytest.mark.parametrize("name", CLASSES)
def test_every_error_is_one_that_the_command_line_prints(name: str) -> None:
    assert issubclass(CLASSES[name], PolysemeError)
    assert CLASSES[name].__doc__


def test_what_happened_to_an_array() -> None:
    missing = MissingTensor("w.hdf5", "char_embed", "it holds no arrays at all")
    shape = WrongShape("w.hdf5", "CNN/b_cnn_0", (32,), (3, 4))
    assert str(missing) == "w.hdf5: the array 'char_embed' is missing; it holds no arrays at all"
    assert missing.name == "char_embed"
    assert str(shape) == "w.hdf5: the array 'CNN/b_cnn_0' has shape [3, 4] where [32] was expected"
    assert (shape.name, shape.expected, shape.found) == ("CNN/b_cnn_0", (32,), (3, 4))
    assert isinstance(missing, FormatError)
    assert isinstance(shape, FormatError)


def test_a_missing_extra_says_how_to_install_it() -> None:
    error = MissingExtra("reading Parquet", "files")
    assert "pip install 'polyseme[files]'" in str(error)
    assert error.extra == "files"


@pytest.mark.parametrize(
    "error",
    [
        InputError("x"),
        MissingTensor("file", "a", "b is"),
        WrongShape("file", "a", (1,), (2,)),
        MissingExtra("feature", "files"),
    ],
)
def test_errors_cross_process_borders(error: PolysemeError) -> None:
    """Workers send their errors home by pickle; an exception with its own arguments must survive that."""
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
