"""Sentences to ids, in the byte scheme and in ELMoForManyLangs' Unicode scheme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]

BYTE_SPECIALS = {"<S>": 256, "</S>": 257}
BEGIN_WORD, END_WORD, PAD_CHARACTER = 258, 259, 260


def byte_row(content: Sequence[int], width: int) -> list[int]:
    row = [BEGIN_WORD, *content[: width - 2], END_WORD]
    row += [PAD_CHARACTER] * (width - len(row))
    return [raw + 1 for raw in row]


def byte_ids(sentences: Sequence[Sequence[str]], width: int, *, markers_in_text: bool = False) -> Ids:
    """[B, T, M]: every sentence between its boundaries, zeros after it."""
    longest = max(len(sentence) for sentence in sentences)
    ids = np.zeros((len(sentences), longest + 2, width), dtype=np.int64)
    for b, sentence in enumerate(sentences):
        ids[b, 0] = byte_row([BYTE_SPECIALS["<S>"]], width)
        for t, token in enumerate(sentence, start=1):
            if markers_in_text and token in BYTE_SPECIALS:
                ids[b, t] = byte_row([BYTE_SPECIALS[token]], width)
            else:
                ids[b, t] = byte_row(list(token.encode("utf-8", "ignore")), width)
        ids[b, len(sentence) + 1] = byte_row([BYTE_SPECIALS["</S>"]], width)
    return ids


def unicode_ids(
    sentences: Sequence[Sequence[str]],
    width: int,
    characters: Mapping[str, int] | None,
    words: Mapping[str, int] | None,
) -> tuple[Ids | None, Ids | None]:
    """ELMoForManyLangs: ([B, T, M] character ids, [B, T] word ids), the ids of begin and end of a word swapped."""
    longest = max(len(sentence) for sentence in sentences) + 2
    shape = (len(sentences), longest)
    character_ids = np.full((*shape, width), characters["<pad>"], dtype=np.int64) if characters else None
    word_ids = np.full(shape, words["<pad>"], dtype=np.int64) if words else None
    for b, sentence in enumerate(sentences):
        shown = [token[: width - 2] if len(token) + 2 > width else token for token in sentence]
        for t, token in enumerate(["<bos>", *shown, "<eos>"]):
            if word_ids is not None and words is not None:
                word_ids[b, t] = words.get(token, words["<oov>"])
            if character_ids is not None and characters is not None:
                marker = token in ("<bos>", "<eos>")
                content = [characters[token]] if marker else [characters.get(c, characters["<oov>"]) for c in token]
                row = [characters["<eow>"], *content, characters["<bow>"]]
                character_ids[b, t, : len(row)] = row
    return character_ids, word_ids
