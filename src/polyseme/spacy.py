"""A spaCy component: contextual vectors for spaCy's tokens.

nlp.add_pipe("polyseme", config={"model": "en"})
doc = nlp("Here is your birthday present.")
doc.tensor, doc[4].vector, doc.vector, doc._.elmo_layers
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from polyseme.elmo import Elmo
from polyseme.encoding import Floats
from polyseme.extras import needing

with needing("polyseme.spacy", "spacy"):
    from spacy.language import Language
    from spacy.tokens import Doc


class ElmoComponent:
    """Sets ``doc.tensor`` [N, W], ``doc._.elmo_layers`` [L+1, N, W], and the hooks behind ``vector``.

    If the pipeline sets sentences, they are used; otherwise the whole text is one sentence. spaCy's tokens are read
    unchanged; white space gets the zero vector and is not part of a sentence. A pipeline on disk names its model but
    does not contain it.
    """

    def __init__(self, model: str = "en", state: str | None = None, batch: int = 64) -> None:
        self.model, self.batch = model, batch
        self.elmo = Elmo.from_pretrained(model, state=state)  # type: ignore[arg-type]
        if not Doc.has_extension("elmo_layers"):
            Doc.set_extension("elmo_layers", default=None)

    def __call__(self, doc: Doc) -> Doc:
        self._set([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], batch_size: int | None = None, **_: Any) -> Iterator[Doc]:
        """Documents in batches, in their order."""
        documents = iter(stream)
        while batch := list(islice(documents, batch_size or self.batch)):
            self._set(batch)
            yield from batch

    def _set(self, docs: list[Doc]) -> None:
        sentences = [sentence for doc in docs for sentence in _sentences(doc)]
        encoded = iter(self.elmo.encode_tokens([[token.text for token in tokens] for tokens in sentences]))
        config = self.elmo.config
        for doc in docs:
            layers = np.zeros((config.layers + 1, len(doc), config.width), np.float32)
            vectors = np.zeros((len(doc), config.width), np.float32)
            for tokens in _sentences(doc):
                encoding, places = next(encoded), [token.i for token in tokens]
                layers[:, places], vectors[places] = encoding.layers, encoding.vectors
            doc.tensor, doc._.elmo_layers = vectors, layers
            _set_hooks(doc)

    def to_bytes(self, **_: Any) -> bytes:
        return b""

    def from_bytes(self, _data: bytes, **_: Any) -> ElmoComponent:
        return self

    def to_disk(self, path: Any, **_: Any) -> None:
        """Make the folder that spaCy expects; the settings are in the pipeline's config."""
        Path(path).mkdir(parents=True, exist_ok=True)

    def from_disk(self, _path: Any, **_: Any) -> ElmoComponent:
        return self


def make_component(nlp: Language, name: str, model: str, state: str | None) -> ElmoComponent:
    """What ``nlp.add_pipe("polyseme")`` calls."""
    return ElmoComponent(model, state)


Language.factory(
    "polyseme",
    assigns=["doc.tensor", "doc._.elmo_layers"],
    default_config={"model": "en", "state": None},
    func=make_component,
)


def _sentences(doc: Doc) -> list[list[Any]]:
    spans = doc.sents if doc.has_annotation("SENT_START") else [doc]
    sentences = ([token for token in span if not token.is_space] for span in spans)
    return [tokens for tokens in sentences if tokens]


def _set_hooks(doc: Doc) -> None:
    doc.user_token_hooks["vector"] = lambda token: token.doc.tensor[token.i]
    doc.user_token_hooks["has_vector"] = lambda token: bool(token.doc.tensor[token.i].any())
    for hooks in (doc.user_hooks, doc.user_span_hooks):
        hooks["vector"] = _mean
        hooks["has_vector"] = lambda of: bool(_mean(of).any())


def _mean(of: Any) -> Floats:
    """The mean over the tokens of a document or span, white space left out."""
    rows = [token.i for token in of if not token.is_space]
    tensor: Floats = getattr(of, "doc", of).tensor
    mean: Floats = tensor[rows].mean(axis=0) if rows else np.zeros(tensor.shape[1:], np.float32)
    return mean
