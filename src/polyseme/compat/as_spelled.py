"""Tokens as the original programs read them: by the code points that they are given in, composed or not."""

from __future__ import annotations

from polyseme.text.indexing import Indexer


class AsSpelled(Indexer):
    """An indexer that composes nothing: "é" and "e" with an accent are two tokens, as in the originals."""

    __slots__ = ()

    def row(self, token: str) -> list[int]:
        ids = [self.words.id(token)] if self.words else []
        return ids + self.characters.row(token) if self.characters else ids
