"""Held-out text, on which a run is validated and never trained: a separate file, or the end of the corpus.

From a corpus, whole documents are held out if they are not much more than its share; otherwise the last sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polyseme.errors import ConfigError
from polyseme.pretrain.corpus.corpus import Corpus
from polyseme.text.readers import read_documents
from polyseme.text.tokenization import split_text, units_of

#: Share of the corpus that is held out, but never more than the recipe validates on.
HELD_OUT_SHARE = 0.01
#: Whole documents may exceed it by this factor; the last document of a small corpus could be most of it.
TOO_MUCH = 2


def held_out_sentences(corpus: Corpus, valid: Path | None, tokens: int) -> tuple[int, list[list[str]]]:
    """The number of training sentences of the corpus, and about ``tokens`` tokens of the held-out ones."""
    if valid is not None:
        return corpus.meta.sentences, _first_tokens(read_sentences([valid], corpus.meta.lang), tokens)
    first = first_held_out(corpus, max(1, min(tokens, int(corpus.meta.tokens * HELD_OUT_SHARE))))
    return first, [corpus.types(corpus.sentence(i)) for i in range(first, corpus.meta.sentences)]


def first_held_out(corpus: Corpus, tokens: int) -> int:
    """The sentence from which on ``tokens`` tokens or slightly more remain."""
    if corpus.meta.sentences == 1:
        raise ConfigError("the corpus is a single sentence: there is nothing to hold out; give --valid FILE")
    end = corpus.meta.tokens
    sentence = max(1, _last_start(corpus.sentences, end - tokens))
    document = int(corpus.documents[_last_start(corpus.documents, sentence)])
    whole = document > 0 and end - int(corpus.sentences[document]) <= TOO_MUCH * tokens
    return document if whole else sentence


def read_sentences(inputs: Sequence[str | Path], lang: str) -> Iterator[list[str]]:
    """The tokens of each sentence of the files, split as the corpus was."""
    for document in read_documents(inputs, unit="document"):
        if document.sentences is not None:
            yield from (units_of(s, lang) for s in document.sentences if s)
        else:
            yield from (s.tokens for s in split_text(document.text or "", lang) if s.tokens)


def _last_start(starts: NDArray[np.uint64], position: int) -> int:
    """The number of the last start that is not after a position."""
    return int(np.searchsorted(starts, np.uint64(position), side="right")) - 1


def _first_tokens(sentences: Iterator[list[str]], tokens: int) -> list[list[str]]:
    taken: list[list[str]] = []
    for sentence in sentences:
        if tokens <= 0:
            break
        taken.append(sentence)
        tokens -= len(sentence)
    if not taken:
        raise ConfigError("the held-out text has no sentence; give a file with text as --valid")
    return taken
