"""A corpus on disk: what is in it, and a clear sentence for a folder that is not one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers.damage import flip_bit, rewrite
from polyseme.errors import InputError
from polyseme.jobs import manifests
from polyseme.jobs.manifests import read_values, write_json
from polyseme.pretrain.corpus.corpus import Corpus, open_corpus
from polyseme.pretrain.corpus.preparation import prepare

TEXT = "the cat saw the dog\nthe dog slept\n\nÄpfel 先 fell\n"
FILES = ("tokens", "sentences", "documents", "types", "counts", "targets")


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    prepare([tmp_path / "a.txt"], tmp_path / "corpus", lang="whitespace", vocabulary_size=5)
    return open_corpus(tmp_path / "corpus")


def refusal(folder: Path) -> str:
    with pytest.raises(InputError) as caught:
        open_corpus(folder)
    return str(caught.value)


def test_types_stand_by_decreasing_count_then_by_code_points(corpus: Corpus) -> None:
    assert corpus.types(range(corpus.meta.types)) == ["the", "dog", "cat", "fell", "saw", "slept", "Äpfel", "先"]
    assert corpus.counts.tolist() == [3, 2, 1, 1, 1, 1, 1, 1]


def test_sentences_and_documents_keep_their_bounds(corpus: Corpus) -> None:
    sentences = [corpus.types(corpus.sentence(i)) for i in range(corpus.meta.sentences)]
    assert sentences == [line.split() for line in TEXT.splitlines() if line]
    assert corpus.sentences.tolist() == [0, 5, 8, 11]
    assert corpus.documents.tolist() == [0, 2, 3]


def test_targets_are_words_of_the_softmax_or_unknown(corpus: Corpus) -> None:
    assert corpus.vocabulary.words == ("<S>", "</S>", "<UNK>", "the", "dog")
    assert corpus.vocabulary.counts == (3, 3, 6, 3, 2)  # a frame around each of 3 sentences, 6 unknown tokens
    assert corpus.targets.tolist() == [3, 4, 2, 2, 2, 2, 2, 2]


def test_the_meta_counts_what_is_there(corpus: Corpus) -> None:
    meta = corpus.meta
    assert (meta.tokens, meta.sentences, meta.documents, meta.types) == (11, 3, 2, 8)
    assert (meta.vocabulary_size, meta.longest_sentence, meta.lang) == (5, 5, "whitespace")
    assert meta.unknown_rate == pytest.approx(6 / 11)
    assert meta.coverage == pytest.approx(5 / 11)
    assert [(entry.name, entry.size) for entry in meta.inputs] == [("a.txt", len(TEXT.encode()))]


def test_arrays_are_mapped_and_read_only(corpus: Corpus) -> None:
    for array in (corpus.tokens, corpus.sentences, corpus.documents, corpus.targets, corpus.counts):
        assert isinstance(array, np.memmap)
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_numbers_are_little_endian(corpus: Corpus) -> None:
    assert (corpus.folder / "sentences.bin").read_bytes()[8:16] == bytes([5, 0, 0, 0, 0, 0, 0, 0])
    assert (corpus.folder / "counts.bin").read_bytes()[:8] == bytes([3, 0, 0, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("name", [*(f"{name}.bin" for name in FILES), "types.txt", "vocab.txt", "corpus.json"])
def test_a_flipped_bit_is_noticed(corpus: Corpus, name: str) -> None:
    path = corpus.folder / name
    whole = path.read_bytes()
    for seed in range(20):
        flip_bit(path, seed)
        assert re.search(f"{name} is damaged|corpus.json has|is .*, but should be", refusal(corpus.folder))
        path.write_bytes(whole)
        open_corpus(corpus.folder)


def test_what_was_checked_is_not_read_again_until_it_changes(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    measured = manifests.measure_piece
    monkeypatch.setattr(manifests, "measure_piece", lambda path: read.append(path.name) or measured(path))
    open_corpus(corpus.folder)
    assert not read
    (corpus.folder / "tokens.bin").write_bytes((corpus.folder / "tokens.bin").read_bytes())
    open_corpus(corpus.folder)
    assert read == ["tokens.bin"]


def without_checksums(corpus: Corpus) -> Path:
    """As it was prepared before there were any."""
    values = read_values(corpus.folder / "corpus.json")
    del values["pieces"]
    write_json(corpus.folder / "corpus.json", values)
    return corpus.folder


def test_a_corpus_without_checksums_is_opened(corpus: Corpus) -> None:
    assert open_corpus(without_checksums(corpus)).sentence(0).tolist() == corpus.sentence(0).tolist()


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_was_cut_off_is_named(corpus: Corpus, name: str) -> None:
    path = corpus.folder / f"{name}.bin"
    path.write_bytes(path.read_bytes()[:-1])
    assert f"{name}.bin has" in refusal(corpus.folder)


@pytest.mark.parametrize("name", [*(f"{name}.bin" for name in FILES), "types.txt", "vocab.txt"])
def test_a_file_that_is_missing_is_named(corpus: Corpus, name: str) -> None:
    (corpus.folder / name).unlink()
    assert name in refusal(corpus.folder)


def test_types_that_were_cut_off_are_refused(corpus: Corpus) -> None:
    path = corpus.folder / "types.txt"
    path.write_bytes(path.read_bytes()[:-3])
    assert "types.txt has" in refusal(corpus.folder)


def test_bounds_that_do_not_meet_are_refused(corpus: Corpus) -> None:
    np.array([0, 1, 2], "<u8").tofile(corpus.folder / "documents.bin")
    assert "documents.bin runs from 0 to 2 where 0 to 3 was expected" in refusal(without_checksums(corpus))


def test_a_vocabulary_of_another_size_is_refused(corpus: Corpus) -> None:
    (corpus.folder / "vocab.txt").write_text("<S>\n</S>\n<UNK>\n")
    assert "vocab.txt has 3 words where 5 were expected" in refusal(without_checksums(corpus))


def test_targets_beyond_the_vocabulary_are_refused(corpus: Corpus) -> None:
    np.full(corpus.meta.types, 5, "<u4").tofile(corpus.folder / "targets.bin")
    assert "targets.bin names a word" in refusal(without_checksums(corpus))


def test_another_version_is_refused(corpus: Corpus) -> None:
    rewrite(corpus.folder / "corpus.json", version=2)
    assert "version 2, where 1 was expected" in refusal(corpus.folder)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"version": 1}', b"\xff"],
    ids=["empty", "cut", "list", "null", "fields missing", "no UTF-8"],
)
def test_a_damaged_description_is_refused(corpus: Corpus, text: str | bytes) -> None:
    (corpus.folder / "corpus.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert "is not a usable corpus" in refusal(corpus.folder)


@pytest.mark.parametrize("change", [{"tokens": "many"}, {"inputs": [{"path": "x"}]}, {"types": -4}, {"inputs": 3}])
def test_a_description_that_says_nonsense_is_refused(corpus: Corpus, change: dict[str, object]) -> None:
    rewrite(corpus.folder / "corpus.json", **change)
    assert "is not a usable corpus" in refusal(corpus.folder)


def test_a_folder_that_is_none_or_another_is_refused(tmp_path: Path) -> None:
    assert "has no corpus.json; make one with: polyseme prepare" in refusal(tmp_path)
    assert "has no corpus.json" in refusal(tmp_path / "missing")


def test_corpora_need_no_torch() -> None:
    program = (
        "import sys, polyseme.pretrain.corpus.preparation, polyseme.pretrain.corpus.corpus, polyseme.cli.prepare; "
    )
    subprocess.run([sys.executable, "-c", program + "sys.exit('torch' in sys.modules)"], check=True)
