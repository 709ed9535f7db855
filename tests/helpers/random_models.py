"""Models of every kind with random weights, and sentences for them."""

from __future__ import annotations

import torch
from hypothesis import strategies as st

from polyseme.bilm_config import BiLMConfig, CharacterConfig, WordConfig
from polyseme.formats.model import StoredModel
from polyseme.nn.bilm import BiLM
from polyseme.text.characters import ByteScheme, UnicodeScheme
from polyseme.text.vocabulary import Indexer, WordTable

#: Short, empty, long, cut off, of many bytes; "the" and "cat" are in the word tables.
TOKENS = [
    "the",
    "cat",
    "",
    "a",
    "naïve",
    "日本語",
    "Donaudampfschifffahrtsgesellschaft",
    "x" * 60,
    "é" * 30,
    "\x00",
    "😀",
]
WORDS = ("<oov>", "<bos>", "<eos>", "<pad>", "the", "cat")
LETTERS = (*UnicodeScheme.SPECIALS, *"abctheé日x")

BYTES = CharacterConfig(alphabet=261, dim=4, filters=((1, 4), (2, 8), (3, 12)), highways=1)
SMALL = BiLMConfig(characters=BYTES, cell=24, projection=8)


def indexer_for(config: BiLMConfig) -> Indexer:
    """Bytes for a model of characters, a word table for one of words, Unicode characters and words for both."""
    words = {word: number for number, word in enumerate(WORDS)}
    if config.characters is None:
        return Indexer(words=WordTable(words, "<oov>", "<bos>", "<eos>"))
    columns = config.characters.max_characters
    if config.words is None:
        return Indexer(characters=ByteScheme(columns))
    letters = {letter: number for number, letter in enumerate(LETTERS)}
    table = WordTable(words, "<oov>", "<bos>", "<eos>", longest=columns - 2)
    return Indexer(characters=UnicodeScheme(letters, columns), words=table)


def random_model(config: BiLMConfig = SMALL, *, spread: float = 0.3, seed: int = 0) -> StoredModel:
    """Every weight drawn from N(0, ``spread``), biases too, so that none can be mixed up unseen."""
    generator = torch.Generator().manual_seed(seed)
    shapes = {name: tensor.shape for name, tensor in BiLM(config).state_dict().items()}
    tensors = {name: (spread * torch.randn(shape, generator=generator)).numpy() for name, shape in shapes.items()}
    for name in ("token_encoder.characters.embedding.weight", "token_encoder.words.weight"):
        if name in tensors:
            tensors[name][0] = 0
    return StoredModel(config, tensors, indexer_for(config))


@st.composite
def characters(draw: st.DrawFn, alphabet: int) -> CharacterConfig:
    columns = draw(st.integers(3, 16) | st.just(50))
    widths = st.integers(1, min(columns, 7))
    return CharacterConfig(
        alphabet=alphabet,
        dim=draw(st.sampled_from((1, 4))),
        max_characters=columns,
        filters=tuple((width, 9) for width in draw(st.lists(widths, min_size=1, max_size=4))),
        highways=draw(st.integers(0, 2)),
        activation=draw(st.sampled_from(("relu", "tanh"))),
    )


@st.composite
def configs(draw: st.DrawFn) -> BiLMConfig:
    """All that a biLM can be made of, at few sizes: oneDNN compiles a kernel for every new one."""
    reads = draw(st.sampled_from(("bytes", "words", "both")))
    letters = None if reads == "words" else draw(characters(261 if reads == "bytes" else len(LETTERS)))
    words = None if reads == "bytes" else WordConfig(len(WORDS), 5)
    encoded = (letters.filter_count if letters else 0) + (words.dim if words else 0)
    project = draw(st.booleans())
    projection = draw(st.sampled_from((1, 7, 16))) if project else encoded
    clip = st.none() | st.floats(0.125, 2)
    return BiLMConfig(
        characters=letters,
        words=words,
        cell=projection + draw(st.sampled_from((0, 1, 30))),
        projection=projection,
        layers=draw(st.integers(1, 3)),
        cell_clip=draw(clip),
        projection_clip=draw(clip),
        skip_connections=draw(st.booleans()),
        project_tokens=project,
        bidirectional=draw(st.booleans()),
    )


def sentences(longest: int = 12) -> st.SearchStrategy[list[list[str]]]:
    return st.lists(st.lists(st.sampled_from(TOKENS), max_size=longest), min_size=1, max_size=8)
