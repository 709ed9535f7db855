"""Every sentence once an epoch, in the same order for the same seed, wherever reading begins."""

from __future__ import annotations

import copy
from collections import Counter
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from helpers.small_corpora import small_corpus, small_recipe
from polyseme.pretrain.corpus.corpus import Corpus, open_corpus
from polyseme.pretrain.corpus.preparation import prepare
from polyseme.pretrain.training import sampler as sampler_module
from polyseme.pretrain.training.batches import PackedBatch, TypeTable
from polyseme.pretrain.training.build import new_indexer
from polyseme.pretrain.training.sampler import Sampler, SentenceSampler, WindowSampler


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return small_corpus(tmp_path_factory.mktemp("order"), sentences=150)


@pytest.fixture(autouse=True)
def small_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler_module, "POOL", 64)
    monkeypatch.setattr(sampler_module, "BLOCK", 8)


def table_of(corpus: Corpus) -> TypeTable:
    return TypeTable.of_corpus(corpus, new_indexer(small_recipe().model, corpus))


def sentences_in(corpus: Corpus, **changes: object) -> SentenceSampler:
    settings = {
        "sentences": corpus.meta.sentences,
        "tokens": 60,
        "max_length": 200,
        "together": 1,
        "capitals": 0.0,
        "directions": 2,
        "seed": 3,
        "share": (0, 1),
    }
    return SentenceSampler(corpus, table_of(corpus), **{**settings, **changes})  # type: ignore[arg-type]


def windows_in(corpus: Corpus, **changes: object) -> WindowSampler:
    settings = {"sentences": corpus.meta.sentences, "rows": 4, "steps": 5, "directions": 2, "seed": 3, "share": (0, 1)}
    return WindowSampler(corpus, table_of(corpus), **{**settings, **changes})  # type: ignore[arg-type]


def fingerprint(batch: PackedBatch) -> tuple[object, ...]:
    return tuple((r.targets.tolist(), r.sizes, batch.rows[r.inputs].sum().item()) for r in batch.readings)


def epoch_of(order: SentenceSampler) -> list[PackedBatch]:
    batches = []
    for batch in order:
        if order.position["epoch"]:
            return batches
        batches.append(batch)
    raise AssertionError("an order is endless")


def target_counts(batches: list[PackedBatch], direction: int) -> Counter[int]:
    return Counter(target for batch in batches for target in batch.readings[direction].targets.tolist())


def test_an_epoch_reads_every_token_once_in_both_directions(corpus: Corpus) -> None:
    batches = epoch_of(sentences_in(corpus))
    words = Counter(corpus.targets[corpus.tokens].tolist())
    begin, end = corpus.vocabulary.ids(["<S>", "</S>"])
    assert target_counts(batches, 0) == words + Counter({end: corpus.meta.sentences})
    assert target_counts(batches, 1) == words + Counter({begin: corpus.meta.sentences})
    assert sum(batch.tokens for batch in batches) == corpus.meta.tokens


def test_batches_hold_about_the_tokens_asked_for(corpus: Corpus) -> None:
    positions = [batch.positions for batch in epoch_of(sentences_in(corpus))]
    assert max(positions) <= 60
    assert np.median(positions) > 45


def test_epochs_differ_and_seeds_differ(corpus: Corpus) -> None:
    first = [fingerprint(batch) for batch in epoch_of(sentences_in(corpus))]
    second = [fingerprint(batch) for batch in islice(sentences_in(corpus), len(first), 2 * len(first))]
    other = [fingerprint(batch) for batch in epoch_of(sentences_in(corpus, seed=4))]
    assert first[:10] != second[:10]
    assert first[:10] != other[:10]


def test_held_out_sentences_are_never_read(corpus: Corpus) -> None:
    batches = epoch_of(sentences_in(corpus, sentences=100))
    assert sum(batch.tokens for batch in batches) == int(corpus.sentences[100])


def test_a_long_sentence_is_read_in_pieces(corpus: Corpus) -> None:
    batches = epoch_of(sentences_in(corpus, max_length=3))
    assert max(len(batch.readings[0].sizes) for batch in batches) == 4
    assert sum(batch.tokens for batch in batches) == corpus.meta.tokens


@pytest.mark.parametrize("make", [sentences_in, windows_in])
@pytest.mark.parametrize("stopped_after", [1, 7, 33])
def test_reading_goes_on_from_a_position(corpus: Corpus, make: object, stopped_after: int) -> None:
    def new() -> Sampler:
        return make(corpus)  # type: ignore[operator,no-any-return]

    whole = [fingerprint(batch) for batch in islice(new(), stopped_after + 5)]
    order = new()
    for _ in islice(order, stopped_after):
        pass
    later = new()
    later.position.clear()
    later.position.update(copy.deepcopy(order.position))
    assert [fingerprint(batch) for batch in islice(later, 5)] == whole[stopped_after:]


@pytest.mark.parametrize("make", [sentences_in, windows_in])
def test_processes_share_a_step_without_repeats_or_gaps(corpus: Corpus, make: object) -> None:
    def batches(share: tuple[int, int]) -> list[PackedBatch]:
        return list(islice(make(corpus, share=share), 12))  # type: ignore[operator]

    for whole, first, second in zip(batches((0, 1)), batches((0, 2)), batches((1, 2)), strict=True):
        for direction in range(2):
            parts = [b.readings[direction].targets for b in (first, second) if b.readings]
            assert Counter(whole.readings[direction].targets.tolist()) == Counter(torch.cat(parts).tolist())
        assert first.positions == second.positions == whole.positions
        assert torch.equal(first.targets, whole.targets)


def test_windows_pack_sentences_back_to_back(tmp_path: Path) -> None:
    """The streams of FORMATS: a row that is done takes the next sentence; a sentence of n words gives n + 1 pairs."""
    corpus = small_corpus(tmp_path, sentences=30)
    order = windows_in(corpus, rows=1, steps=4, shuffle=False)
    begin, end = corpus.vocabulary.ids(["<S>", "</S>"])
    expected: dict[int, list[int]] = {0: [], 1: []}
    for i in range(3):
        words = corpus.targets[corpus.sentence(i)].tolist()
        expected[0] += [*words, end]
        expected[1] += [*words[::-1], begin]
    found: dict[int, list[int]] = {0: [], 1: []}
    for batch in islice(order, 3):
        for direction in range(2):
            found[direction] += batch.readings[direction].targets.tolist()
    for direction in range(2):
        assert found[direction] == expected[direction][:12]


def spelled(*words: str) -> list[list[int]]:
    """bilm-tf's ids of words in rows of five: begin, at most three bytes, end, padding."""
    marks = {"<S>": [256], "</S>": [257]}
    rows = [[258, *marks.get(word, word.encode()[:3]), 259] for word in words]
    return [row + [260] * (5 - len(row)) for row in rows]


def test_windows_are_those_of_bilm_tf(tmp_path: Path) -> None:
    """The text, vocabulary, characters and words to predict of bilm-tf's own test; there the order was drawn."""
    (tmp_path / "text.txt").write_text("the unknown .\nth .\nthe\n", encoding="utf-8")
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("<S>\n</S>\n<UNK>\nthe\n.\n\u0100t\n", encoding="utf-8")
    prepare([tmp_path / "text.txt"], tmp_path / "corpus", lang="whitespace", vocabulary=vocabulary, workers=1)
    corpus = open_corpus(tmp_path / "corpus")
    recipe = small_recipe(model={"max_characters": 5, "filters": [[1, 4], [2, 5]]})
    table = TypeTable.of_corpus(corpus, new_indexer(recipe.model, corpus))
    order = WindowSampler(
        corpus, table, sentences=3, rows=2, steps=3, directions=2, seed=0, share=(0, 1), shuffle=False
    )
    expected = [  # of each batch and direction: the words of both rows, the numbers of those that follow
        [([["<S>", "the", "unknown"], ["<S>", "th", "."]], [[3, 2, 4], [2, 4, 1]]),
         ([["</S>", ".", "unknown"], ["</S>", ".", "th"]], [[4, 2, 3], [4, 2, 0]])],
        [([[".", "<S>", "the"], ["<S>", "the", "unknown"]], [[1, 3, 1], [3, 2, 4]]),
         ([["the", "</S>", "the"], ["</S>", ".", "unknown"]], [[0, 3, 0], [4, 2, 3]])],
    ]  # fmt: skip
    for batch, directions in zip(islice(order, 2), expected, strict=True):
        for reading, (words, following) in zip(batch.readings, directions, strict=True):
            assert reading.sizes == (2, 2, 2)
            assert reading.targets.reshape(3, 2).T.tolist() == following
            ids = (batch.rows[reading.inputs] - 1).reshape(3, 2, 5).transpose(0, 1)
            assert ids.tolist() == [spelled(*row) for row in words]


def forward_texts(batches: list[PackedBatch], corpus: Corpus) -> list[list[str]]:
    """The texts that the forward direction predicts, without the boundary at their end."""
    texts = []
    for batch in batches:
        targets, sizes = batch.readings[0].targets.tolist(), batch.readings[0].sizes
        offsets = [sum(sizes[:t]) for t in range(len(sizes))]
        for row in range(sizes[0]):
            words = [corpus.vocabulary.words[targets[offsets[t] + row]] for t, n in enumerate(sizes) if row < n]
            texts.append(words[:-1])
    return texts


def documents_of(corpus: Corpus) -> list[list[list[str]]]:
    """Documents of sentences of words."""
    bounds = corpus.documents.tolist()
    return [[corpus.types(corpus.sentence(i)) for i in range(begin, end)] for begin, end in pairwise(bounds)]


def test_neighbouring_sentences_of_a_document_are_read_as_one(corpus: Corpus) -> None:
    texts = forward_texts(epoch_of(sentences_in(corpus, together=3)), corpus)
    whole = [[word for sentence in document for word in sentence] for document in documents_of(corpus)]
    assert sum(map(len, texts)) == sum(map(len, whole)) and len(texts) < corpus.meta.sentences
    for text in texts:
        assert any(text == document[i : i + len(text)] for document in whole for i in range(len(document)))


def test_a_share_of_the_sentences_is_read_in_capitals_and_predicts_the_same_words(corpus: Corpus) -> None:
    plain, some = (epoch_of(sentences_in(corpus, capitals=share)) for share in (0.0, 0.5))
    assert sorted(forward_texts(plain, corpus)) == sorted(forward_texts(some, corpus))
    table = table_of(corpus)
    word = next(i for i in range(corpus.meta.types) if corpus.type(i).upper() != corpus.type(i))
    capital = table.in_capitals(np.array([word]))
    assert table.rows(capital)[0].tolist() == list(table.indexer.row(corpus.type(word).upper()))
    assert table.targets(capital) == table.targets(np.array([word]))
    rows = {tuple(row) for batch in some for row in batch.rows.tolist()}
    assert tuple(table.rows(capital)[0].tolist()) in rows
