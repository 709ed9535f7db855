"""bilm-tf without its graphs: ids of batches, and its two dumps.

from polyseme.compat.bilm import Batcher, dump_bilm_embeddings
ids = Batcher("vocab.txt", 50).batch_sentences([["a", "sentence"]])
dump_bilm_embeddings("vocab.txt", "sentences.txt", "options.json", "weights.hdf5", "vectors.hdf5")
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.compat.carried import AsSpelled, CarriedReading
from polyseme.export.static_vectors import write_word_table
from polyseme.formats.bilm_tf import read_vocabulary, special_tokens, tf_indexer
from polyseme.formats.detect import load
from polyseme.formats.hdf5_file import written_hdf5
from polyseme.formats.model import StoredModel
from polyseme.jobs.atomic import partial_path, put_in_place
from polyseme.text.characters import ByteScheme
from polyseme.text.lines import read_lines
from polyseme.text.vocabulary import BEGIN, END, UNKNOWN, Vocabulary

#: What bilm-tf has and polyseme does not, with what replaces it.
_REPLACED = {
    "BidirectionalLanguageModel": "elmo.bilm(elmo.ids(sentences)).layers, with elmo = Elmo.from_pretrained(weights)",
    "weight_layers": "polyseme.nn.mix.ScalarMix, which learns the same weights in PyTorch",
}

Ids = npt.NDArray[np.int32]


class Batcher:
    """Sentences of tokens → ids of characters, with boundaries."""

    def __init__(self, lm_vocab_file: str | Path, max_token_length: int) -> None:
        vocabulary = read_vocabulary(Path(lm_vocab_file))
        self._indexer = AsSpelled(characters=ByteScheme(max_token_length, special_tokens(vocabulary)))

    def batch_sentences(self, sentences: Sequence[Sequence[str]]) -> Ids:
        """[B, T, M]: T is the length of the longest sentence plus two boundaries; zeros for padding."""
        return self._indexer.batch(sentences).astype(np.int32)


class TokenBatcher:
    """Sentences of tokens → word ids, with boundaries, for a model with a table of word vectors."""

    def __init__(self, lm_vocab_file: str | Path) -> None:
        self._vocabulary = read_vocabulary(Path(lm_vocab_file))

    def batch_sentences(self, sentences: Sequence[Sequence[str]]) -> Ids:
        """[B, T]: the line of each word in the vocabulary, from 1; unknown words get that of <UNK>."""
        ids = np.zeros((len(sentences), max(map(len, sentences), default=0) + 2), np.int32)
        for row, sentence in enumerate(sentences):
            ids[row, : len(sentence) + 2] = [self._number(word) for word in (BEGIN, *sentence, END)]
        return ids

    def _number(self, word: str) -> int:
        """The id of a word; 0, as for padding, if there is not even <UNK>, as in the original."""
        found = self._vocabulary.find(word)
        found = self._vocabulary.find(UNKNOWN) if found is None else found
        return 0 if found is None else found + 1


def dump_bilm_embeddings(
    vocab_file: str | Path,
    dataset_file: str | Path,
    options_file: str | Path,
    weight_file: str | Path,
    outfile: str | Path,
) -> None:
    """One sentence per line → HDF5, "0", "1", … of [L+1, N, W]; state is carried from line to line."""
    stored, _ = _load(vocab_file, options_file, weight_file)
    reading, path = CarriedReading(stored), Path(outfile)
    beside = partial_path(path)
    try:
        with written_hdf5(beside) as (file, disk), Path(dataset_file).open("rb") as lines:
            for number, line in enumerate(read_lines(lines, str(dataset_file))):
                file.create_dataset(str(number), data=reading.read([line.split()])[0])
                disk.raise_if_failed()
        put_in_place(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def dump_token_embeddings(
    vocab_file: str | Path, options_file: str | Path, weight_file: str | Path, outfile: str | Path
) -> None:
    """A vector for each line of the vocabulary → HDF5, ``embedding`` [V, D]."""
    write_word_table(*_load(vocab_file, options_file, weight_file), Path(outfile))


def _load(vocab_file: str | Path, options_file: str | Path, weight_file: str | Path) -> tuple[StoredModel, Vocabulary]:
    vocabulary = read_vocabulary(Path(vocab_file))
    stored = load(weight_file, options=options_file)
    return replace(stored, indexer=tf_indexer(stored.config, vocabulary), vocabulary=vocabulary), vocabulary


def __getattr__(name: str) -> Any:
    if name in _REPLACED:
        raise ImportError(f"polyseme.compat.bilm has no {name}, which builds a TensorFlow graph; use {_REPLACED[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
