"""Elmo as users hold it: text in, encodings out, in order, with the same vectors whatever stands beside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import polyseme.elmo
from helpers.random_models import random_model
from polyseme import Elmo, Encoding
from polyseme.errors import ConfigError, FormatError, InputError

TEXT = "Here is your birthday present. Live in the present!"
STORED = replace(random_model(), card={"name": "test", "languages": ["en"]})


@pytest.fixture(scope="module")
def elmo() -> Elmo:
    return Elmo(STORED)


class TestText:
    def test_a_text_has_tokens_layers_offsets_and_sentences(self, elmo: Elmo) -> None:
        found = elmo.encode(TEXT)
        assert found.tokens == ["Here", "is", "your", "birthday", "present", ".", "Live", "in", "the", "present", "!"]
        assert found.layers.shape == (3, 11, 16) and found.layers.dtype == np.float32
        assert found.vectors.shape == (11, 16) and found.mean().shape == (16,)
        assert [TEXT[a:b] for a, b in found.offsets] == found.tokens
        assert found.sentences == [(0, 6), (6, 11)]

    def test_each_sentence_is_encoded_on_its_own(self, elmo: Elmo) -> None:
        found = elmo.encode(TEXT)
        first, second = elmo.encode_tokens([found.tokens[:6], found.tokens[6:]])
        np.testing.assert_array_equal(found.layers, np.concatenate([first.layers, second.layers], axis=1))

    def test_texts_come_back_in_their_order(self, elmo: Elmo) -> None:
        texts = [f"word{n} " * (n % 17) for n in range(60)]
        for text, found in zip(texts, elmo.encode(texts), strict=True):
            assert found.tokens == text.split() and found.text == text
            np.testing.assert_array_equal(found.layers, elmo.encode(text).layers)

    @pytest.mark.parametrize("text", ["", "   ", "\n\n"])
    def test_a_text_without_words_has_no_tokens(self, elmo: Elmo, text: str) -> None:
        found = elmo.encode(text)
        assert found.tokens == [] and found.layers.shape == (3, 0, 16) and found.offsets.shape == (0, 2)
        assert found.sentences == []

    def test_no_texts_no_encodings(self, elmo: Elmo) -> None:
        assert elmo.encode([]) == [] and elmo.encode_tokens([]) == [] and list(elmo.stream([])) == []

    def test_split_says_how_a_text_is_split(self, elmo: Elmo) -> None:
        assert [sentence.tokens for sentence in elmo.split("I don't. No.")] == [["I", "do", "n't", "."], ["No", "."]]

    def test_the_language_comes_from_the_card_and_can_be_overruled(self) -> None:
        assert Elmo(STORED).lang == "en"
        assert Elmo(replace(STORED, card={})).lang == "any"
        assert Elmo(replace(STORED, card={"languages": ["ko"], "tokenization": "whitespace"})).lang == "whitespace"
        assert Elmo(STORED, lang="whitespace").encode("a, b.").tokens == ["a,", "b."]


class TestTokens:
    def test_tokens_are_taken_as_they_are(self, elmo: Elmo) -> None:
        with pytest.raises(InputError, match="ends with an empty token, as padding for TensorFlow Hub does"):
            elmo.encode_tokens([["the", "cat"], ["it", ""]])
        (found,) = elmo.encode_tokens([["New York", "is", "", "big."]])
        assert found.tokens == ["New York", "is", "", "big."]
        assert found.text == "New York is  big."
        assert [found.text[a:b] for a, b in found.offsets] == found.tokens

    def test_an_empty_sentence_keeps_its_place(self, elmo: Elmo) -> None:
        found = elmo.encode_tokens([["a"], [], ["b"]])
        assert [encoding.tokens for encoding in found] == [["a"], [], ["b"]]
        assert found[1].layers.shape == (3, 0, 16)

    def test_the_numbers_are_those_of_the_network(self, elmo: Elmo) -> None:
        sentences = [["the", "cat"], ["a"]]
        with torch.no_grad():
            layers, _ = elmo.bilm(elmo.ids(sentences)).without_boundaries()
        for found, expected in zip(elmo.encode_tokens(sentences), layers.unbind(1), strict=True):
            np.testing.assert_allclose(found.layers, expected[:, : len(found)], rtol=0, atol=1e-5)

    def test_ids_are_those_of_the_indexer(self, elmo: Elmo) -> None:
        ids = elmo.ids([["a", "b"], ["c"]])
        assert ids.shape == (2, 4, 50) and ids.dtype == torch.int64


class TestBadInput:
    @pytest.mark.parametrize("text", [None, 7, b"bytes", 1.5])
    def test_a_text_that_is_no_string(self, elmo: Elmo, text: Any) -> None:
        for call in (lambda: elmo.encode([text]), lambda: elmo.split(text), lambda: list(elmo.stream([text]))):
            with pytest.raises(InputError, match="a text is missing|of type " + type(text).__name__):
                call()
        with pytest.raises(InputError):
            elmo.encode(text)

    @pytest.mark.parametrize("token", [None, 7, b"bytes", ["nested"]])
    def test_a_token_that_is_no_string(self, elmo: Elmo, token: Any) -> None:
        with pytest.raises(InputError, match="a token should be a string"):
            elmo.encode_tokens([["fine", token]])

    def test_sentences_that_are_not_lists_of_tokens(self, elmo: Elmo) -> None:
        with pytest.raises(InputError, match="use encode for text that is not split"):
            elmo.encode_tokens(["not split"])
        with pytest.raises(InputError, match="a list of sentences was expected"):
            elmo.encode_tokens("not even a list")  # type: ignore[arg-type]
        with pytest.raises(InputError, match="use encode"):
            list(elmo.stream("one text"))

    def test_an_error_shows_little_of_a_huge_input(self, elmo: Elmo) -> None:
        with pytest.raises(InputError) as error:
            elmo.encode_tokens([[b"x" * 10**6]])  # type: ignore[list-item]
        assert len(str(error.value)) < 200

    def test_a_token_of_a_megabyte(self, elmo: Elmo) -> None:
        long, short = elmo.encode_tokens([["x" * 2**20], ["x" * 48]])
        np.testing.assert_array_equal(long.layers, short.layers)  # the model sees the first 48 bytes
        assert all(not isinstance(key, str) or len(key) < 1000 for key in elmo.engine._rows.where)

    def test_control_characters_and_lone_surrogates(self, elmo: Elmo) -> None:
        found = elmo.encode_tokens([["\x00\x07", "\u200b", "\ud800", "\ufeff"]])[0]
        assert np.isfinite(found.layers).all()
        assert np.isfinite(elmo.encode("a\x00b \ud800 c\x85d").layers).all()

    def test_a_failed_call_leaves_everything_as_it_was(self, elmo: Elmo) -> None:
        before = elmo.encode(TEXT).layers
        with pytest.raises(InputError):
            elmo.encode_tokens([["new token"], [None]])  # type: ignore[list-item]
        np.testing.assert_array_equal(elmo.encode(TEXT).layers, before)

    def test_settings_that_do_not_exist(self) -> None:
        with pytest.raises(ConfigError, match="reset, warm, carry"):
            Elmo(STORED, state="cold")  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match="mix has 2 weights, but the model has 3 layers"):
            Elmo(STORED, mix=[1, 2])
        with pytest.raises(ConfigError, match="'abacus' cannot be used"):
            Elmo(STORED, device="abacus")

    def test_a_model_that_does_not_exist(self) -> None:
        with pytest.raises(FormatError, match="no file or folder"):
            Elmo.from_pretrained("does not exist")


class TestStream:
    def test_it_gives_what_encode_gives_in_order(self, elmo: Elmo) -> None:
        texts = [f"{'some words ' * (n % 5)}{n}." for n in range(50)]
        for streamed, encoded in zip(elmo.stream(iter(texts)), elmo.encode(texts), strict=True):
            assert streamed.text == encoded.text
            np.testing.assert_array_equal(streamed.layers, encoded.layers)

    def test_it_takes_tokens_too(self, elmo: Elmo) -> None:
        first, second = elmo.stream([["New York", "!"], "New York!"])
        assert first.tokens == ["New York", "!"] and second.tokens == ["New", "York", "!"]

    def test_it_looks_ahead_no_further_than_a_window(self, elmo: Elmo, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(polyseme.elmo, "WINDOW_POSITIONS", 40)
        read = 0

        def lines() -> Iterator[str]:
            nonlocal read
            for n in range(10**9):
                read += 1
                yield f"line number {n}"

        stream = elmo.stream(lines())
        for n in range(100):
            assert next(stream).tokens[-1] == str(n)
            assert read <= n + 1 + 40 // 5


class TestStates:
    def test_reset_and_warm_forget_what_was_read(self) -> None:
        for state in ("reset", "warm"):
            elmo = Elmo(STORED, state=state)  # type: ignore[arg-type]
            first = elmo.encode(TEXT).layers
            elmo.encode_tokens([["something"] * 9] * 5)
            np.testing.assert_array_equal(elmo.encode(TEXT).layers, first)
            np.testing.assert_array_equal(elmo.encode([TEXT, "else"])[0].layers, first)

    def test_warm_starts_from_the_state_after_a_fixed_text(self) -> None:
        warm, reset = Elmo(STORED, state="warm"), Elmo(STORED)
        with torch.no_grad():
            state = reset.bilm(reset.ids([polyseme.elmo.WARM_TEXT.split()])).state
            expected = reset.bilm(reset.ids([["the", "cat"]]), state).without_boundaries()[0][:, 0]
        found = warm.encode_tokens([["the", "cat"]])[0].layers
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
        assert np.abs(found - reset.encode_tokens([["the", "cat"]])[0].layers).max() > 1e-3
        np.testing.assert_array_equal(found, Elmo(STORED, state="warm").encode_tokens([["the", "cat"]])[0].layers)

    @settings(max_examples=20)
    @given(st.lists(st.lists(st.lists(st.sampled_from(["a", "cat", "the"]), max_size=5), max_size=4), max_size=4))
    def test_carry_is_the_network_with_its_state_carried_by_row(self, calls: list[list[list[str]]]) -> None:
        elmo = Elmo(STORED, state="carry")
        bilm, state = elmo.bilm, elmo.bilm.zero_state(0)
        for sentences in calls:
            found = elmo.encode_tokens(sentences)
            with torch.no_grad():
                output = bilm(elmo.ids(sentences), state.rows(len(sentences)))
            state = state.replace_rows(output.state)
            for row, encoding in enumerate(found):
                expected = output.layers[:, row, 1 : 1 + len(sentences[row])]
                np.testing.assert_allclose(encoding.layers, expected, rtol=0, atol=1e-5)

    def test_a_carrying_stream_reads_text_after_text(self) -> None:
        streaming, calling = (Elmo(STORED, state="carry") for _ in range(2))
        for text, found in zip(["one", "two", "three"], streaming.stream(["one", "two", "three"]), strict=True):
            np.testing.assert_array_equal(found.layers, calling.encode(text).layers)


class TestMix:
    def test_by_default_vectors_are_the_mean_of_the_layers(self, elmo: Elmo) -> None:
        found = elmo.encode(TEXT)
        np.testing.assert_allclose(found.vectors, found.layers.mean(axis=0), rtol=0, atol=1e-6)

    def test_a_layer_or_weights_can_be_chosen(self) -> None:
        top = Elmo(STORED, mix="top").encode(TEXT)
        np.testing.assert_array_equal(top.vectors, top.layers[2])
        mixed = Elmo(STORED, mix=[1, 0, -2]).encode(TEXT)
        np.testing.assert_allclose(mixed.vectors, mixed.layers[0] - 2 * mixed.layers[2], rtol=0, atol=1e-6)


class TestSimilarity:
    def test_it_is_the_cosine_of_the_marked_tokens_in_every_layer(self, elmo: Elmo) -> None:
        found = elmo.similarity("Live in the [present].", "Here is your [present] again.")
        a = elmo.encode("Live in the present.").layers[:, 3]
        b = elmo.encode("Here is your present again.").layers[:, 3]
        expected = [x @ y / np.linalg.norm(x) / np.linalg.norm(y) for x, y in zip(a, b, strict=True)]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
        assert found[0] == pytest.approx(1)  # the same word without context

    def test_several_marked_words_and_whole_texts_are_averaged(self, elmo: Elmo) -> None:
        assert elmo.similarity("a [b c] d", "a [b c] d") == pytest.approx([1, 1, 1])
        assert elmo.similarity("all of it", "all of it") == pytest.approx([1, 1, 1])

    def test_a_mark_without_a_word_is_an_error(self, elmo: Elmo) -> None:
        with pytest.raises(InputError, match="no word is marked"):
            elmo.similarity("a [ ] b", "c")
        with pytest.raises(InputError, match="no word is marked"):
            elmo.similarity("", "c")

    def test_with_carried_state_there_is_no_such_thing(self) -> None:
        with pytest.raises(ConfigError, match='use state "reset" or "warm"'):
            Elmo(STORED, state="carry").similarity("a", "b")


class TestModel:
    def test_what_is_saved_is_what_is_loaded(self, elmo: Elmo, tmp_path: Path) -> None:
        elmo.save_pretrained(tmp_path / "model")
        again = Elmo.from_pretrained(tmp_path / "model")
        assert again.fingerprint == elmo.fingerprint
        assert again.config == elmo.config and again.lang == "en" and again.vocabulary is None
        np.testing.assert_array_equal(again.encode(TEXT).layers, elmo.encode(TEXT).layers)

    def test_the_network_has_the_models_weights(self, elmo: Elmo) -> None:
        assert elmo.bilm is elmo.bilm and not elmo.bilm.training
        for name, tensor in elmo.bilm.state_dict().items():
            np.testing.assert_array_equal(tensor, STORED.tensors[name])

    def test_public_names(self) -> None:
        assert Elmo(STORED, cache_mb=0).encode("a").__class__ is Encoding


def test_many_texts_show_a_bar_only_to_a_person(elmo: Elmo, capfd: pytest.CaptureFixture[str]) -> None:
    elmo.encode(["some text"] * 200)
    assert capfd.readouterr() == ("", "")
