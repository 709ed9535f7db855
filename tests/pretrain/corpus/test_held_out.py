"""Without a file of its own, the end of the corpus is held out: a hundredth of it, whole documents if they fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.small_corpora import random_text
from polyseme.errors import ConfigError
from polyseme.pretrain.corpus.corpus import Corpus, open_corpus
from polyseme.pretrain.corpus.held_out import held_out_sentences
from polyseme.pretrain.corpus.preparation import prepare

ANY = 10**9


def corpus_of(folder: Path, documents: list[str]) -> Corpus:
    folder.mkdir(exist_ok=True)
    (folder / "text.txt").write_text("\n".join(documents), encoding="utf-8")
    prepare([folder / "text.txt"], folder / "corpus", lang="whitespace", workers=1)
    corpus = open_corpus(folder / "corpus")
    assert corpus.meta.documents == len(documents)
    return corpus


def last_sentences(documents: list[str], count: int) -> list[list[str]]:
    return [line.split() for line in "".join(documents).splitlines()[-count:]]


def share_of(corpus: Corpus, tokens: int = ANY) -> float:
    first, held = held_out_sentences(corpus, None, tokens)
    assert first + len(held) == corpus.meta.sentences
    return sum(map(len, held)) / corpus.meta.tokens


def test_the_last_documents_where_they_are_small(tmp_path: Path) -> None:
    documents = [random_text(3, seed) for seed in range(300)]
    corpus = corpus_of(tmp_path, documents)
    first, held = held_out_sentences(corpus, None, ANY)
    assert held == last_sentences(documents, 3 * (len(held) // 3))
    assert first in corpus.documents.tolist()
    assert 0.01 <= share_of(corpus) < 0.015


@pytest.mark.parametrize("sizes", [[40, 400], [440], [400, 40], [44] * 10], ids=str)
def test_sentences_where_the_last_document_is_a_large_part_of_the_corpus(tmp_path: Path, sizes: list[int]) -> None:
    documents = [random_text(size, seed) for seed, size in enumerate(sizes)]
    corpus = corpus_of(tmp_path, documents)
    _, held = held_out_sentences(corpus, None, ANY)
    assert held == last_sentences(documents, len(held))
    assert 0.0095 <= share_of(corpus) < 0.015


def test_no_more_than_the_recipe_validates_on(tmp_path: Path) -> None:
    for number, documents in enumerate(([random_text(4000)], [random_text(1000, seed) for seed in range(4)])):
        corpus = corpus_of(tmp_path / str(number), documents)
        assert 50 <= share_of(corpus, 50) * corpus.meta.tokens < 65


def test_a_sentence_of_a_very_small_corpus_and_never_all_of_it(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path / "two", ["a cat sees a dog\n", "the dog\n"])
    assert held_out_sentences(corpus, None, ANY) == (1, [["the", "dog"]])
    corpus = corpus_of(tmp_path / "long", ["a cat " * 500 + "\nthe dog\n"])
    assert held_out_sentences(corpus, None, ANY) == (1, [["the", "dog"]])


def test_a_single_sentence_leaves_nothing_to_train_on(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="single sentence: there is nothing to hold out; give --valid FILE"):
        held_out_sentences(corpus_of(tmp_path, ["a cat\n"]), None, ANY)
