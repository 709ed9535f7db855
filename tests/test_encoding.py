"""An encoding: one position for each token in every array, and clear words where a question has no one answer."""

from __future__ import annotations

import numpy as np
import pytest

from polyseme.encoding import Encoding, joined_offsets
from polyseme.errors import ConfigError, InputError
from polyseme.mixing import mix_weights

TOKENS = ["the", "present", "of", "the", "past"]
EDGES = np.array([[101, 102, 103, 104], [-1, -1, -1, -1], [201, 202, 203, 204]], np.float32)


def encoding(mix: tuple[float, ...] = (0.5, 0.5)) -> Encoding:
    layers = np.arange(2 * 5 * 4, dtype=np.float32).reshape(2, 5, 4)
    return Encoding(" ".join(TOKENS), TOKENS, layers, joined_offsets(TOKENS), [(0, 2), (2, 2), (2, 5)], mix, EDGES)


def test_vectors_are_the_weighted_sum_of_the_layers() -> None:
    one = encoding((0.25, 2.0))
    np.testing.assert_array_equal(one.vectors, 0.25 * one.layers[0] + 2 * one.layers[1])
    assert one.vectors.dtype == np.float32 and one.vectors is one.vectors


def test_a_word_gives_its_vector() -> None:
    one = encoding()
    np.testing.assert_array_equal(one["past"], one.vectors[4])
    assert one.find("the") == [0, 3]
    assert one.find("absent") == []


def test_a_word_that_stands_there_twice_is_an_error_with_its_positions() -> None:
    with pytest.raises(InputError, match=r"'the' is at 2 positions \(0, 3\); choose one of them"):
        encoding()["the"]


def test_a_word_that_is_not_there_is_an_error_with_the_tokens() -> None:
    with pytest.raises(InputError, match="no token 'future' here; there are: 'the', 'present', 'of', 'the', 'past'"):
        encoding()["future"]


def test_the_mean_is_one_vector_for_the_text() -> None:
    one = encoding()
    np.testing.assert_allclose(one.mean(), one.vectors.mean(axis=0), rtol=1e-6)
    nothing = np.zeros((2, 0, 4), dtype=np.float32)
    empty = Encoding("", [], nothing, joined_offsets([]), [], (0.5, 0.5), np.zeros((0, 4), np.float32))
    np.testing.assert_array_equal(empty.mean(), np.zeros(4))
    assert len(empty) == 0 and empty.vectors.shape == empty.place.shape == (0, 4)


def test_a_place_is_what_stands_before_and_after_within_the_sentence() -> None:
    """The second sentence is empty."""
    one = encoding()
    forward, backward = one.layers[-1, :, :2], one.layers[-1, :, 2:]
    expected = [
        [101, 102, *backward[1]],
        [*forward[0], 103, 104],
        [201, 202, *backward[3]],
        [*forward[2], *backward[4]],
        [*forward[3], 203, 204],
    ]
    np.testing.assert_array_equal(one.place, np.array(expected, np.float32))


def test_it_shows_itself_in_one_line() -> None:
    assert repr(encoding()) == "Encoding('the present of the past', 5 tokens, 2 layers of 4)"


def test_offsets_of_joined_tokens_point_at_them() -> None:
    tokens = ["a", "", "日本", "b c"]
    text = " ".join(tokens)
    assert [text[a:b] for a, b in joined_offsets(tokens)] == tokens


@pytest.mark.parametrize(
    ("mix", "weights"),
    [(None, (1 / 3, 1 / 3, 1 / 3)), (0, (1, 0, 0)), (2, (0, 0, 1)), (-1, (0, 0, 1)), ("top", (0, 0, 1)),
     ([0.2, 0.3, 2], (0.2, 0.3, 2)), (np.array([1, 0, 0]), (1, 0, 0))],
)  # fmt: skip
def test_a_mix_is_weights_a_layer_or_their_mean(mix: object, weights: tuple[float, ...]) -> None:
    assert mix_weights(mix, 3) == weights  # type: ignore[arg-type]


@pytest.mark.parametrize("mix", [3, -4, "bottom", [1, 2], True, 0.5, ["a", "b", "c"], [1, 2, float("nan")]])
def test_any_other_mix_is_refused(mix: object) -> None:
    with pytest.raises(ConfigError, match="mix"):
        mix_weights(mix, 3)  # type: ignore[arg-type]
