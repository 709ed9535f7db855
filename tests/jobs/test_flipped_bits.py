"""Twenty of twenty flipped bits are noticed in parts, index, corpus, checkpoints and caches, and the piece is named."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from helpers.damage import flip_bit
from helpers.refusals import refused
from helpers.small_corpora import random_text, small_corpus
from helpers.tiny_models import tiny_elmo
from polyseme.embed.assembly import assemble
from polyseme.embed.description import Shard
from polyseme.embed.job import embed_files
from polyseme.embed.parts import parts_folder
from polyseme.index.vector_index import Index
from polyseme.nn.run_file import read_run_file, save_run_file
from polyseme.pretrain.corpus.corpus import open_corpus
from polyseme.tasks.layer_cache import LayerCache

FLIPS = 20


def make_parts(folder: Path) -> None:
    (folder / "in.txt").write_text(random_text(200), encoding="utf-8")
    for index in (0, 1):
        embed_files([folder / "in.txt"], folder / "out.npz", tiny_elmo(), shard=Shard(index, 2))


def make_index(folder: Path) -> None:
    (folder / "in.txt").write_text(random_text(200), encoding="utf-8")
    Index.build(tiny_elmo(), folder / "in.txt", folder / "index")


def make_checkpoint(folder: Path) -> None:
    torch = pytest.importorskip("torch")
    save_run_file(folder / "checkpoint.safetensors", {"a": torch.randn(30, 40)}, {"step": 3})


PIECES: dict[str, tuple[Callable[[Path], object], Callable[[Path], object], str, str]] = {
    "parts": (make_parts, lambda folder: assemble(folder / "out.npz"), "out.npz.parts/*/*.part", "is damaged"),
    "index": (
        make_index,
        lambda folder: Index.open(folder / "index", tiny_elmo()),
        "index/*",
        "is not an index: .* is damaged",
    ),
    "corpus": (small_corpus, lambda folder: open_corpus(folder / "corpus"), "corpus/*", "is not a usable corpus"),
    "checkpoint": (
        make_checkpoint,
        lambda folder: read_run_file(folder / "checkpoint.safetensors", "train it again"),
        "checkpoint.safetensors",
        "damaged|can be read",
    ),
}


@pytest.mark.parametrize("name", PIECES)
def test_twenty_of_twenty_flipped_bits_are_noticed(name: str, tmp_path: Path) -> None:
    make, read, pattern, reason = PIECES[name]
    good = tmp_path / "good"
    good.mkdir()
    make(good)
    for seed in range(FLIPS):
        folder = Path(shutil.copytree(good, tmp_path / str(seed)))
        pieces = sorted(path for path in folder.glob(pattern) if path.stat().st_size and path.name[0] != ".")
        flip_bit(pieces[seed % len(pieces)], seed=seed)
        with refused(reason):
            read(folder)
        assert parts_folder(folder / "out.npz").exists() == (name == "parts")


def test_twenty_flipped_bits_of_a_layer_cache_cost_a_sentence_and_never_a_vector(tmp_path: Path) -> None:
    sentences = [line.split() for line in random_text(60).splitlines()]
    good = LayerCache(tiny_elmo(), tmp_path / "good")
    good.fill(sentences)
    expected = good.layers(sentences)
    for seed in range(FLIPS):
        folder = Path(shutil.copytree(tmp_path / "good", tmp_path / str(seed)))
        (segment,) = [path for path in folder.rglob("*") if path.is_file() and not path.suffix]
        flip_bit(segment, seed=seed)
        cache = LayerCache(tiny_elmo(), folder)
        cache.fill(sentences)
        np.testing.assert_array_equal(cache.layers(sentences), expected)
        assert cache.computed > 0
