"""Small language models with random weights, and their probabilities spelled out step by step."""

from __future__ import annotations

import numpy as np
import torch

from polyseme.bilm_config import BiLMConfig, CharacterConfig
from polyseme.elmo import Elmo
from polyseme.formats.model import SoftmaxWeights, StoredModel
from polyseme.nn.bilm import BiLM, BiLMState
from polyseme.sentence_reader import State
from polyseme.text.characters import ByteScheme
from polyseme.text.vocabulary import Indexer, Vocabulary

WORDS = ("<S>", "</S>", "<UNK>", ".", "the", "cat", "sat", "on", "a", "present", "birthday", "Here", "is", "your")
COUNTS = (60, 60, 31, 60, 500, 40, 30, 200, 300, 25, 12, 8, 220, 50)


def small_lm(
    seed: int = 0, *, counts: bool = True, softmax: bool = True, bidirectional: bool = True, lang: str = "en"
) -> StoredModel:
    """Weights of a size at which every word and every clip has a say."""
    characters = CharacterConfig(alphabet=261, dim=4, max_characters=12, filters=((1, 4), (2, 6)), highways=1)
    config = BiLMConfig(characters=characters, cell=12, projection=5, layers=2, bidirectional=bidirectional)
    torch.manual_seed(seed)
    tensors = {name: (0.6 * torch.randn_like(value)).numpy() for name, value in BiLM(config).state_dict().items()}
    output = SoftmaxWeights(torch.randn(len(WORDS), 5).numpy(), torch.randn(len(WORDS)).numpy()) if softmax else None
    return StoredModel(
        config,
        tensors,
        Indexer(ByteScheme(max_characters=12)),
        vocabulary=Vocabulary(WORDS, COUNTS if counts else None),
        softmax=output,
        card={"name": "small", "tokenization": lang},
    )


def small_elmo(seed: int = 0, *, state: State = "reset", **options: bool | str) -> Elmo:
    return Elmo(small_lm(seed, **options), device="cpu", state=state)  # type: ignore[arg-type]


def spelled_out(
    stored: StoredModel, tokens: list[str], start: BiLMState | None = None
) -> tuple[np.ndarray, np.ndarray | None]:
    """ln p of every word at every place, by the network and a plain softmax.

    Forward [N+1, V] is about w1 … wN </S>; backward [N+1, V] is about <S> w1 … wN.
    """
    assert stored.softmax is not None
    ids = torch.from_numpy(stored.indexer.batch([tokens]))
    with torch.no_grad():
        top = BiLM.of(stored)(ids, start).layers[-1, 0].double()  # [N+2, W]
    weight, bias = (torch.from_numpy(x).double() for x in (stored.softmax.weight, stored.softmax.bias))
    size = stored.config.projection
    forward = torch.log_softmax(top[:-1, :size] @ weight.T + bias, dim=1).numpy()
    if not stored.config.bidirectional:
        return forward, None
    return forward, torch.log_softmax(top[1:, size:] @ weight.T + bias, dim=1).numpy()
