"""Small models with random weights, and strategies for their shapes."""

from __future__ import annotations

import torch
from hypothesis import strategies as st

from polyseme.bilm_config import BiLMConfig, CharacterConfig, WordConfig
from polyseme.formats.model import SoftmaxWeights, StoredModel
from polyseme.nn.bilm import BiLM
from polyseme.text.characters import BYTE_ALPHABET, ByteScheme
from polyseme.text.vocabulary import Indexer, Vocabulary, WordTable

BOUNDARIES = {"<S>": 256, "</S>": 257}
SMALL = BiLMConfig(
    characters=CharacterConfig(alphabet=BYTE_ALPHABET, dim=3, filters=((1, 3), (2, 4)), highways=1),
    cell=6,
    projection=4,
)


def small_model(config: BiLMConfig = SMALL, *, softmax: bool = False, seed: int = 0) -> StoredModel:
    """A model of this shape, every weight random (biases too, so that none can be mixed up unseen)."""
    torch.manual_seed(seed)
    vocabulary = None
    if config.words is not None or softmax:
        count = config.words.size if config.words else 9
        vocabulary = Vocabulary(("<S>", "</S>", "<UNK>", *(f"w{n}" for n in range(count - 3))))
    if config.words is not None and vocabulary is not None:
        ids = {word: n for n, word in enumerate(vocabulary.words)}
        indexer = Indexer(words=WordTable(ids, "<UNK>", "<S>", "</S>"))
    else:
        assert config.characters is not None
        indexer = Indexer(characters=ByteScheme(config.characters.max_characters, dict(BOUNDARIES)))
    tensors = {name: torch.randn_like(x).numpy() for name, x in BiLM(config).state_dict().items()}
    for name in ("token_encoder.characters.embedding.weight", "token_encoder.words.weight"):
        if name in tensors:
            tensors[name][0] = 0
    weights = None
    if softmax and vocabulary is not None:
        weights = SoftmaxWeights(
            torch.randn(len(vocabulary), config.projection).numpy(), torch.randn(len(vocabulary)).numpy()
        )
    return StoredModel(config, tensors, indexer, vocabulary, weights)


@st.composite
def configs(draw: st.DrawFn) -> BiLMConfig:
    """Shapes that bilm-tf's files can hold."""
    projection = draw(st.integers(1, 6))
    words = draw(st.booleans())
    characters = None
    if not words:
        filters = draw(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 5)), min_size=1, max_size=3))
        while sum(count for _, count in filters) < projection:
            filters.append((1, 3))
        characters = CharacterConfig(
            alphabet=BYTE_ALPHABET,
            dim=draw(st.integers(1, 4)),
            max_characters=draw(st.integers(4, 60)),
            filters=tuple(filters),
            highways=draw(st.integers(0, 2)),
            activation=draw(st.sampled_from(("relu", "tanh"))),
        )
    clip = st.none() | st.floats(0.125, 8)
    return BiLMConfig(
        characters=characters,
        words=WordConfig(draw(st.integers(3, 8)), projection) if words else None,
        cell=projection + draw(st.integers(0, 5)),
        projection=projection,
        layers=draw(st.integers(1, 3)),
        cell_clip=draw(clip),
        projection_clip=draw(clip),
        skip_connections=draw(st.booleans()),
        project_tokens=characters is not None and characters.filter_count != projection,
        bidirectional=draw(st.booleans()),
    )
