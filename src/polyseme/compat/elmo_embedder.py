"""AllenNLP's ElmoEmbedder: tokens in, arrays of all layers out; without PyTorch on a CPU.

The state of every row is carried from call to call, as in the original.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO

import h5py
import numpy as np
import numpy.typing as npt

from polyseme.compat.carried import CarriedReading
from polyseme.compat.elmo_characters import load_characters
from polyseme.embed.records import choose_layers
from polyseme.errors import ConfigError
from polyseme.formats.hdf5_file import written_hdf5
from polyseme.jobs.atomic import partial_path, put_in_place

Floats = npt.NDArray[np.float32]

_S3 = "https://s3-us-west-2.amazonaws.com/allennlp/models/elmo/2x4096_512_2048cnn_2xhighway/"
DEFAULT_OPTIONS_FILE = f"{_S3}elmo_2x4096_512_2048cnn_2xhighway_options.json"
DEFAULT_WEIGHT_FILE = f"{_S3}elmo_2x4096_512_2048cnn_2xhighway_weights.hdf5"
DEFAULT_BATCH_SIZE = 64


class ElmoEmbedder:
    """``ElmoEmbedder(options_file, weight_file).embed_sentence(tokens)`` → float32 [L+1, N, W]."""

    def __init__(
        self,
        options_file: str | Path = DEFAULT_OPTIONS_FILE,
        weight_file: str | Path = DEFAULT_WEIGHT_FILE,
        cuda_device: int = -1,
    ) -> None:
        stored, _ = load_characters(options_file, weight_file)
        self.cuda_device = cuda_device
        self._reading = CarriedReading(stored, "cpu" if cuda_device < 0 else f"cuda:{cuda_device}")

    def embed_sentence(self, sentence: Sequence[str]) -> Floats:
        """[L+1, N, W] of one sentence of tokens."""
        return self.embed_batch([sentence])[0]

    def embed_batch(self, batch: Sequence[Sequence[str]]) -> list[Floats]:
        """[L+1, N, W] of each sentence; (3, 0, 1024) for an empty one, with any model."""
        sentences = [list(sentence) for sentence in batch]
        layers = [] if sentences == [[]] else self._reading.read(sentences)
        if not layers:
            return [_of_nothing() for _ in sentences]
        return [one if one.shape[1] else _of_nothing() for one in layers]

    def embed_sentences(
        self, sentences: Iterable[Sequence[str]], batch_size: int = DEFAULT_BATCH_SIZE
    ) -> Iterator[Floats]:
        """[L+1, N, W] of each sentence, in order; ``batch_size`` of them are read together."""
        waiting = iter(sentences)
        while batch := list(islice(waiting, batch_size)):
            yield from self.embed_batch(batch)

    def embed_file(
        self,
        input_file: IO[str],
        output_file_path: str | Path,
        output_format: str = "all",
        batch_size: int = DEFAULT_BATCH_SIZE,
        forget_sentences: bool = False,
        use_sentence_keys: bool = False,
    ) -> None:
        """A file with one sentence per line, tokens separated by blanks → HDF5 in the layout of AllenNLP's command."""
        if output_format not in ("all", "top", "average"):
            raise ConfigError(f"output_format is {output_format!r}, but should be 'all', 'top' or 'average'")
        lines = [line.strip() for line in input_file]
        if not all(lines):
            raise ConfigError(f"line {lines.index('') + 1} of the file is empty, which its reader cannot tell apart")
        if use_sentence_keys and (twice := [line for line, count in Counter(lines).items() if count > 1]):
            raise ConfigError(f"{twice[0]!r} occurs twice, so it cannot be a key; leave use_sentence_keys out")
        path = Path(output_file_path)
        beside = partial_path(path)
        try:
            with written_hdf5(beside) as (file, disk):
                embedded = self.embed_sentences((line.split() for line in lines), batch_size)
                for number, (line, layers) in enumerate(zip(lines, embedded, strict=True)):
                    values = choose_layers(layers, output_format)  # type: ignore[arg-type]
                    file.create_dataset(line if use_sentence_keys else str(number), data=values, dtype="float32")
                    disk.raise_if_failed()
                if not (forget_sentences or use_sentence_keys):
                    index = {line: str(number) for number, line in enumerate(lines)}
                    file.create_dataset("sentence_to_index", (1,), dtype=h5py.string_dtype())[0] = json.dumps(index)
            put_in_place(beside, path)
        finally:
            beside.unlink(missing_ok=True)


def _of_nothing() -> Floats:
    return np.zeros((3, 0, 1024), np.float32)
