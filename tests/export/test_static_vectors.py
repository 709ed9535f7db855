"""Word vectors for other programs: what gensim and word2vec's readers get is what the model says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers.command_line import polyseme, toy_model
from helpers.tiny_models import tiny_elmo
from polyseme.errors import ConfigError, InputError
from polyseme.export.static_vectors import corpus_averages, read_words, token_layer_vectors, write_vectors

WORDS = ["bank", "Straße", "은행"]


def test_the_token_layer_has_a_vector_for_any_spelling() -> None:
    elmo = tiny_elmo()
    found = token_layer_vectors(elmo, WORDS)
    assert found.vectors.shape == (3, elmo.config.projection)
    np.testing.assert_array_equal(found.vectors[1], elmo.encode_tokens([["x", "Straße"]])[0].layers[0, 1, :4])


def test_averages_are_means_over_all_occurrences() -> None:
    elmo = tiny_elmo()
    texts = ["the bank of the river", "a Bank", "nothing here"]
    found = corpus_averages(elmo, ["bank", "money", "the"], texts)
    assert found.words == ["bank", "the"] and found.missing == ["money"]
    np.testing.assert_allclose(found.vectors[0], elmo.word_vectors(texts, "bank").vectors.mean(axis=0), rtol=1e-5)
    with pytest.raises(InputError, match="none of the words occurs"):
        corpus_averages(elmo, ["money"], texts)


def read_word2vec(path: Path) -> tuple[list[str], np.ndarray]:
    """A reader of our own, written from the description of the two formats."""
    data = path.read_bytes()
    header, _, rest = data.partition(b"\n")
    count, size = map(int, header.split())
    words, rows = [], []
    for _ in range(count):
        word, _, rest = rest.partition(b" ")
        words.append(word.decode())
        if path.suffix == ".bin":
            rows.append(np.frombuffer(rest[: 4 * size], "<f4"))
            rest = rest[4 * size + 1 :]
        else:
            line, _, rest = rest.partition(b"\n")
            rows.append(np.array(line.split(), np.float32))
    assert rest == b""
    return words, np.stack(rows)


@pytest.mark.parametrize("suffix", [".txt", ".bin"])
def test_files_give_back_the_same_bits(tmp_path: Path, suffix: str) -> None:
    found = token_layer_vectors(tiny_elmo(), WORDS)
    path = tmp_path / f"v{suffix}"
    write_vectors(path, found)
    words, vectors = read_word2vec(path)
    assert words == WORDS
    np.testing.assert_array_equal(vectors, found.vectors)


@pytest.mark.parametrize("suffix", [".txt", ".bin", ".kv"])
def test_gensim_reads_them(tmp_path: Path, suffix: str) -> None:
    gensim = pytest.importorskip("gensim.models", reason="gensim is not installed")
    found = token_layer_vectors(tiny_elmo(), WORDS)
    path = tmp_path / f"v{suffix}"
    write_vectors(path, found)
    if suffix == ".kv":
        keyed = gensim.KeyedVectors.load(str(path))
    else:
        keyed = gensim.KeyedVectors.load_word2vec_format(str(path), binary=suffix == ".bin")
    for word, vector in zip(WORDS, found.vectors, strict=True):
        np.testing.assert_array_equal(keyed[word], vector)


def test_word_lists() -> None:
    assert read_words(["bank\n", "\n", " river \n", "bank\n"]) == ["bank", "river"]
    with pytest.raises(InputError, match=r"line 2 .*one word per line"):
        read_words(["bank\n", "river bank\n"])
    with pytest.raises(InputError, match="no words"):
        read_words(["\n"])


def test_a_suffix_that_means_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"expected one of \.txt, \.bin, \.kv"):
        write_vectors(tmp_path / "v.vec", token_layer_vectors(tiny_elmo(), WORDS))


def test_the_verb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("words.txt").write_text("the\nzzz\n", encoding="utf-8")
    Path("corpus.txt").write_text("The cat sat on the mat.\n", encoding="utf-8")
    said = polyseme(
        "export", str(toy_model()), "--static", "words.txt", "--corpus", "corpus.txt", "--out", "v.bin"
    ).output
    assert "v.bin: 1 word of" in said and "1 does not occur in the corpus" in said
    assert read_word2vec(Path("v.bin"))[0] == ["the"]
    assert "give a word list with --static" in polyseme("export", str(toy_model()), code=1).output
