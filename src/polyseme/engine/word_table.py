"""A vector for each word of a vocabulary, in a file of its own: what bilm-tf's ``dump_token_embeddings`` writes.

A model that finds its words there reads them without looking at their characters.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from polyseme.engine.engine import Engine
from polyseme.errors import ConfigError, JobError
from polyseme.formats.bilm_tf import tf_indexer
from polyseme.formats.hdf5_file import written_hdf5
from polyseme.formats.model import StoredModel
from polyseme.jobs.atomic import partial_path, put_in_place, raise_if_disk_full
from polyseme.jobs.progress import working
from polyseme.text.vocabulary import Vocabulary

_WORDS = 4096  # that are encoded together


def write_word_table(stored: StoredModel, vocabulary: Vocabulary, path: Path) -> None:
    """HDF5 with one dataset, ``embedding`` [V, D]: row n belongs to line n of the vocabulary."""
    if stored.config.words is not None or stored.config.characters is None:
        raise ConfigError("the model looks words up already, so there is no table to be made of it")
    if not len(vocabulary):
        raise ConfigError("the vocabulary has no words, so there is no table to be made of it")
    engine = Engine(replace(stored, indexer=tf_indexer(stored.config, vocabulary)), cache_mb=0)
    words, beside = vocabulary.words, partial_path(path)
    try:
        with written_hdf5(beside) as (file, disk), working("encoding words", len(words)) as work:
            rows = file.create_dataset("embedding", (len(words), stored.config.projection), "float32")
            for begin in range(0, len(words), _WORDS):
                some = words[begin : begin + _WORDS]
                rows[begin : begin + len(some)] = engine.encode_words(some)
                disk.raise_if_failed()
                work.advance(len(some))
        put_in_place(beside, path)
    except OSError as error:
        raise_if_disk_full(error, path)
        raise JobError(f"{path} cannot be written: {(error.strerror or str(error)).lower()}") from None
    finally:
        beside.unlink(missing_ok=True)
