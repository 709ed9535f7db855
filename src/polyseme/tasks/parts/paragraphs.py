"""Texts of several sentences: the biLM reads each sentence on its own, but a task may read the whole text.

sentences [S, n, D] of a batch  ─►  texts [B, N, D], the tokens of a text's sentences one after another
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from polyseme.tasks.inputs import Features, TokenBatch, TokenInputs, TokenVectors

#: Sentences whose vectors are computed together; they are sorted by length, so there is little padding.
TOGETHER = 32


@dataclass(frozen=True, slots=True)
class TextBatch:
    """The sentences of some texts, in groups of similar length, and where to find each token of a text in them."""

    groups: list[TokenBatch]
    places: Tensor  # [B, N] row of the flattened groups; 0 for padding
    mask: Tensor  # [B, N] bool
    lengths: Tensor  # [B]


def text_batch(texts: Sequence[Sequence[Sequence[str]]], features: Features) -> TextBatch:
    """Texts, each a list of sentences of tokens."""
    order = sorted(
        ((text, number) for text, sentences in enumerate(texts) for number in range(len(sentences))),
        key=lambda place: len(texts[place[0]][place[1]]),
    )
    chunks = [order[start : start + TOGETHER] for start in range(0, len(order), TOGETHER)]
    starts, row = dict[tuple[int, int], int](), 0
    for chunk in chunks:
        longest = len(texts[chunk[-1][0]][chunk[-1][1]])
        for place in chunk:
            starts[place] = row
            row += longest
    lengths = torch.tensor([sum(map(len, sentences)) for sentences in texts])
    places = torch.zeros(len(texts), int(lengths.max()) if len(texts) else 0, dtype=torch.int64)
    for text, sentences in enumerate(texts):
        rows = [starts[text, number] + token for number, tokens in enumerate(sentences) for token in range(len(tokens))]
        places[text, : len(rows)] = torch.tensor(rows, dtype=torch.int64)
    mask = torch.arange(places.shape[1])[None, :] < lengths[:, None]
    groups = [features([texts[text][number] for text, number in chunk]) for chunk in chunks]
    return TextBatch(groups, places, mask, lengths)


def text_vectors(tokens: TokenInputs, batch: TextBatch) -> TokenVectors:
    """The vectors of whole texts: input [B, N, F] and output [B, N, O], zeros for padding."""
    vectors = [tokens(group) for group in batch.groups]
    return TokenVectors(
        join_sentences([part.input for part in vectors], batch),
        join_sentences([part.output for part in vectors], batch),
        batch.mask,
        batch.lengths,
    )


def join_sentences(groups: Sequence[Tensor], batch: TextBatch) -> Tensor:
    """[S, n, D] of every group → [B, N, D]"""
    flat = torch.cat([group.flatten(0, 1) for group in groups])  # [all, D]
    return flat[batch.places] * batch.mask[:, :, None]
