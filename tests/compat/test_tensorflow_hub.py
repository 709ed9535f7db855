"""A module as TensorFlow Hub had it: its signatures, outputs and padding; also one that TensorFlow itself wrote."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from helpers.golden import golden
from polyseme.compat import tensorflow_hub as hub
from polyseme.elmo import Elmo
from polyseme.errors import ConfigError, InputError
from polyseme.formats.detect import load

SKIP = golden("bilm-tf-generated/inference/skip2_relu")
TOKENS = [["the", "cat", "is", "on", "the", "mat"], ["dogs", "are", "in", "the", "fog", ""]]
LENGTHS = [6, 5]
TEXTS = ["the cat is on the mat", "dogs are in the fog"]


@pytest.fixture(scope="module")
def module() -> hub.Module:
    return hub.Module(SKIP)


def test_the_default_signature_splits_at_blanks_and_gives_the_mean(module: hub.Module) -> None:
    output = module(TEXTS, signature="default", as_dict=True)
    width, layers = 16, 3
    assert {name: value.shape for name, value in output.items()} == {
        "word_emb": (2, 6, width // 2),
        **{f"lstm_outputs{layer}": (2, 6, width) for layer in range(1, layers)},
        "elmo": (2, 6, width),
        "default": (2, width),
    }
    first, second = Elmo.from_pretrained(SKIP).encode_tokens([text.split() for text in TEXTS])
    np.testing.assert_allclose(output["elmo"][1, :5], second.vectors, atol=1e-6)
    np.testing.assert_allclose(output["default"], [first.mean(), second.mean()], atol=1e-6)
    np.testing.assert_array_equal(module(TEXTS), output["default"])
    assert not output["elmo"][1, 5].any()


def test_padding_of_tokens_is_ignored_by_the_lengths(module: hub.Module) -> None:
    by_text = module(TEXTS, as_dict=True)
    by_tokens = module({"tokens": TOKENS, "sequence_len": LENGTHS}, signature="tokens", as_dict=True)
    for name, values in by_text.items():
        np.testing.assert_array_equal(by_tokens[name], values)
    arrays = {"tokens": np.array(TOKENS), "sequence_len": np.array(LENGTHS)}
    np.testing.assert_array_equal(module(arrays, signature="tokens"), by_text["default"])


def test_bytes_are_text(module: hub.Module) -> None:
    np.testing.assert_array_equal(module(np.array(TEXTS).astype("S")), module(TEXTS))


@pytest.mark.parametrize(
    ("inputs", "signature", "problem"),
    [
        ("one text", "default", "takes a list of strings"),
        ({"tokens": TOKENS, "sequence_len": LENGTHS}, "default", "belongs to the signature"),
        (TEXTS, "tokens", 'a dict with "tokens" and "sequence_len"'),
        ({"tokens": TOKENS, "sequence_len": [6]}, "tokens", "does not fit 2 rows of 6 tokens"),
        ({"tokens": TOKENS, "sequence_len": [6, 6]}, "tokens", r"padding \(''\) within its first 6 tokens"),
    ],
)
def test_inputs_that_do_not_fit(module: hub.Module, inputs: object, signature: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        module(inputs, signature=signature)


def test_an_unknown_signature(module: hub.Module) -> None:
    with pytest.raises(ConfigError, match="'default' or 'tokens'"):
        module(TEXTS, signature="words")


def test_who_asks_for_training_is_told() -> None:
    with pytest.warns(UserWarning, match="this module cannot be trained; use polyseme.ElmoRepresentations"):
        hub.Module(SKIP, trainable=True)


#: TensorFlow 1's way to save a module: a SavedModel of variables, named as in google/elmo.
WRITE = """
import sys
import h5py, numpy as np
import tensorflow as tf
tf = tf.compat.v1
weights, out = sys.argv[1:]
names = {"W_0": "kernel", "B": "bias", "W_P_0": "projection/kernel"}
with tf.Graph().as_default(), tf.Session() as session:
    with h5py.File(weights) as file:
        def add(name, item):
            if not isinstance(item, h5py.Dataset):
                return
            values, parts = item[...], name.split("/")
            if parts[-2:-1] == ["LSTMCell"]:
                name = "/".join([*parts[:-2], "rnn/lstm_cell", names[parts[-1]]])
            if name == "char_embed":
                values = np.concatenate([np.zeros_like(values[:1]), values])
            tf.get_variable(f"module/bilm/{name}", initializer=values)
        file.visititems(add)
    tf.get_variable("module/aggregation/weights", initializer=np.array([0.5, 0.25, -1], np.float32))
    tf.get_variable("module/aggregation/scaling", initializer=np.float32(2))
    session.run(tf.global_variables_initializer())
    builder = tf.saved_model.Builder(out)
    builder.add_meta_graph_and_variables(session, [tf.saved_model.tag_constants.SERVING])
    builder.save()
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("tensorflow") is None, reason="TensorFlow is not installed")
def test_a_folder_that_tensorflow_wrote(tmp_path: Path) -> None:
    folder = tmp_path / "module"
    done = subprocess.run(
        [sys.executable, "-c", WRITE, str(SKIP / "weights.hdf5"), str(folder)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert (folder / "saved_model.pb").is_file()
    stored = load(folder)
    assert stored.fingerprint() == load(SKIP).fingerprint()
    output = hub.Module(folder)(TEXTS, as_dict=True)
    shares = 2 * np.exp([0.5, 0.25, -1]) / np.exp([0.5, 0.25, -1]).sum()
    both = np.concatenate([output["word_emb"]] * 2, axis=2)
    expected = shares[0] * both + shares[1] * output["lstm_outputs1"] + shares[2] * output["lstm_outputs2"]
    np.testing.assert_allclose(output["elmo"], expected, atol=1e-6)
