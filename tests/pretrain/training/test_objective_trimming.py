"""Tokens without their padding have the same vectors."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from polyseme.bilm_config import BiLMConfig, CharacterConfig, WordConfig
from polyseme.nn.token_encoder import TokenEncoder
from polyseme.pretrain.training.objective import trimmed_groups
from polyseme.text.characters import BYTE_ALPHABET, ByteScheme
from polyseme.text.vocabulary import Indexer, WordTable

CHARACTERS = CharacterConfig(
    alphabet=BYTE_ALPHABET, dim=4, max_characters=20, filters=((1, 3), (3, 4), (7, 5)), highways=1
)
WORDS = WordTable({"<S>": 0, "</S>": 1, "<UNK>": 2, "the": 3}, unknown="<UNK>", begin="<S>", end="</S>")


@pytest.mark.parametrize("words", [None, WORDS], ids=["characters", "words and characters"])
@given(tokens=st.lists(st.text(max_size=30), min_size=1, max_size=12))
def test_all_rows_once_and_with_the_vectors_of_untrimmed_rows(words: WordTable | None, tokens: list[str]) -> None:
    config = BiLMConfig(characters=CHARACTERS, words=WordConfig(4, 6) if words else None, cell=8, projection=5)
    indexer = Indexer(ByteScheme(20), words)
    torch.manual_seed(0)
    encoder = TokenEncoder(config)
    rows = torch.from_numpy(indexer.rows(tokens))
    whole = encoder(rows)
    seen = []
    for which, trimmed in trimmed_groups(rows, config, padding=ByteScheme(20).padding):
        torch.testing.assert_close(encoder(trimmed), whole[which], atol=1e-6, rtol=1e-5)
        seen += which.tolist()
    assert sorted(seen) == list(range(len(tokens)))


def test_short_tokens_lose_most_of_their_columns() -> None:
    config = BiLMConfig(characters=CHARACTERS, cell=8, projection=5)
    rows = torch.from_numpy(Indexer(ByteScheme(20)).rows(["a", "of", "in", "extraordinarily"]))
    groups = trimmed_groups(rows, config, padding=ByteScheme(20).padding)
    assert groups[0][1].shape[1] == 3 + 7  # begin, one byte, end, and the widest filter
    assert groups[-1][1].shape[1] == 20
