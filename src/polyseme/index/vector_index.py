"""Index: every word of a text with its vectors, and a search for the nearest ones.

    index = Index.build(elmo, "corpus.txt", "corpus-index")
    index.neighbours("Here is your birthday [present] .")

On disk (`build`, `open`) a text may be larger than memory; a small one is indexed in memory (`in_memory`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from polyseme.elmo import Elmo
from polyseme.embed.compute import encode_window, plan_windows
from polyseme.embed.description import Options, Shard, read_passages
from polyseme.encoding import Floats
from polyseme.errors import ConfigError, InputError
from polyseme.index.builder import LIMITS, IndexChoices, build_index, refuse_carried_state
from polyseme.index.files import (
    SENTENCES,
    Arrays,
    Growth,
    IndexContents,
    IndexDescription,
    arrays_in_memory,
    growing_files,
    open_arrays,
)
from polyseme.index.occurrences import Neighbour, Occurrence
from polyseme.index.search import StoredPlaces, nearest
from polyseme.jobs.manifests import refuse_other
from polyseme.jobs.progress import Report
from polyseme.lm.places import find_place
from polyseme.prepared_text import Item, as_documents

if TYPE_CHECKING:
    from polyseme.senses.uses import Readout

__all__ = ["Index", "Layers", "Neighbour", "Occurrence"]

#: The numbers of layers, every layer, or the last one.
Layers = Sequence[int] | Literal["all", "top"]


class Index:
    """The words of a text, ready to be searched by their vectors. It is read-only, and several threads may use it."""

    def __init__(self, description: IndexDescription, arrays: Arrays, elmo: Elmo | None = None) -> None:
        if elmo is not None:
            _refuse_other_model(description, elmo)
        self.description = description
        self._arrays, self._elmo = arrays, elmo

    @classmethod
    def build(
        cls,
        elmo: Elmo,
        source: str | Path | Sequence[str | Path],
        folder: str | Path,
        *,
        layers: Layers = "top",
        model: str | None = None,
        options: str | None = None,
        kind: str | None = None,
        field: str | None = None,
        resume: bool = False,
        overwrite: bool = False,
        progress: Report | None = None,
    ) -> Index:
        """Index files, globs or tables (anything that `polyseme.text.readers.read_documents` reads) into ``folder``.

        ``layers`` says which vectors are stored, as float16; ``model`` and ``options`` (as for `Elmo.from_pretrained`)
        are recorded, so that `open` finds the model by itself. After an interruption, even a power cut, the same call
        with ``resume`` continues, and the result has the same bytes as that of a run that never stopped.
        """
        inputs = [source] if isinstance(source, str | Path) else list(source)
        chosen = _chosen_layers(layers, elmo)
        choices = IndexChoices(model, options, kind, field)
        build_index(elmo, inputs, Path(folder), chosen, choices, resume=resume, overwrite=overwrite, progress=progress)
        return cls.open(folder, elmo)

    @classmethod
    def open(cls, folder: str | Path, elmo: Elmo | None = None) -> Index:
        """Open the index in a folder; without ``elmo``, the model that it records is loaded when needed.

        Raises JobError if ``elmo`` is not the model that made the index.
        """
        folder = Path(folder)
        try:
            description = IndexDescription.read(folder)
            arrays = open_arrays(folder, description, IndexContents.read(folder, description.layers))
        except InputError as problem:
            raise InputError(f"{folder} is not an index: {problem}; make one with: polyseme index") from None
        return cls(description, arrays, elmo)

    @classmethod
    def in_memory(
        cls, elmo: Elmo, texts: str | Iterable[Item], *, layers: Layers = "all", source: str = "memory"
    ) -> Index:
        """Index one text or several, or sentences already split into tokens, without writing files."""
        refuse_carried_state(elmo)
        if isinstance(texts, str):
            texts = [texts]
        chosen = _chosen_layers(layers, elmo)
        growth = Growth(chosen)
        beginnings = Growth.beginnings()
        parts = {name: [beginnings.get(name, b"")] for name in growing_files(chosen)}
        passages = read_passages(as_documents(texts, source), elmo.split, shard=Shard())
        for window in plan_windows(passages, Options(), LIMITS):
            for passage, vectors in encode_window(elmo, window):
                if passage.tokens:
                    for name, added in growth.add(passage, vectors).items():
                        parts[name].append(added)
        files = {name: b"".join(pieces) for name, pieces in parts.items()}
        description = IndexDescription.of(elmo, chosen, characters=len(files[SENTENCES]))
        return cls(description, arrays_in_memory(files, chosen, elmo.config.width, list(growth.numbers)), elmo)

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers whose vectors are stored."""
        return self.description.layers

    @property
    def words(self) -> list[str]:
        """Every distinct token, in order of first occurrence."""
        return self._arrays.words

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return len(self._arrays.starts) - 1

    def __len__(self) -> int:
        """The number of tokens."""
        return len(self._arrays.postings)

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self.layers))
        return f"Index({len(self):,} tokens, {self.sentences:,} sentences, layers {shown})"

    @cached_property
    def elmo(self) -> Elmo:
        """The model that made the index."""
        if self._elmo is not None:
            return self._elmo
        noted = self.description
        if noted.model is None:
            raise ConfigError("the index does not say where its model is; open it with one: Index.open(folder, elmo)")
        elmo = Elmo.from_pretrained(
            noted.model,
            options=noted.options,
            lang=noted.lang,
            state=noted.state,  # type: ignore[arg-type]
        )
        _refuse_other_model(noted, elmo)
        return elmo

    def neighbours(
        self,
        query: str | npt.NDArray[np.floating[Any]],
        *,
        by: Readout | None = None,
        layer: int | None = None,
        k: int = 10,
        same_word: bool | None = None,
    ) -> list[Neighbour]:
        """The ``k`` words of the text that are used most like the query, nearest first.

        ``query`` is a text with one place in brackets ("Here is your birthday [present] ."), or a vector [W].
        ``same_word`` restricts the search to the marked word, in upper or lower case. ``by`` says what is compared: the
        "word" itself, by its vectors in a ``layer`` (by default the highest stored; every vector is compared), or its
        context, by "place", "substitutes" or "sense" (`polyseme.senses.uses`; only for texts). The default is what
        measures best (docs/senses.md): the word or, among places of the same word, the sense. If none of these is
        given, places of the marked word are compared if the text has any, otherwise all words.
        """
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise ConfigError(f"k is {k!r}, but should be a whole number of at least 1")
        if same_word is None:
            same_word = by is None and layer is None and self._has_uses(query)
        if by is None:
            by = "sense" if same_word and layer is None and isinstance(query, str) and self._holds_places else "word"
        if by != "word":
            from polyseme.senses.neighbours_by import neighbours_by

            return neighbours_by(self, query, by, layer=layer, k=k, same_word=same_word)
        layer = self._held(layer)
        vector, word = self._read_query(query, layer)
        if same_word and word is None:
            raise ConfigError("same_word needs one word in brackets, but the query is a vector or several words")
        rows = self.rows(word) if same_word and word is not None else None
        found, cosines = nearest(self._arrays.units[layer], vector, k, rows)
        return [
            Neighbour(similarity=float(cosine), **self._place(int(row)))
            for row, cosine in zip(found, cosines, strict=True)
        ]

    def nearest_places(
        self, place: Floats, k: int, word: str | None = None
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """The ``k`` tokens in the most similar places, and the cosines, largest first.

        ``place`` is the sum of both directions of `Encoding.place`, [D]. All tokens are compared, or those of ``word``.
        """
        return nearest(self._places, place, k, None if word is None else self.rows(word))

    def _has_uses(self, query: object) -> bool:
        """Whether exactly one word is marked, and its places can be compared by sense."""
        if not isinstance(query, str) or not self._holds_places or self.elmo.state == "carry":
            return False
        word = find_place(self.elmo, query).word
        return word is not None and len(self.rows(word)) > 0

    @property
    def _holds_places(self) -> bool:
        return self.elmo.config.layers in self.layers

    @cached_property
    def _places(self) -> StoredPlaces:
        top = self._held(self.elmo.config.layers)
        (encoding,) = self.elmo.encode_tokens([["."]])  # the boundaries of all sentences are the same
        arrays = self._arrays
        return StoredPlaces(
            arrays.units[top], arrays.norms[top], arrays.starts, encoding.edges[0], self.elmo.config.directions
        )

    def occurrence(self, row: int) -> Occurrence:
        """The token in this row."""
        return Occurrence(**self._place(row))

    def occurrences(self, word: str) -> list[Occurrence]:
        """Every place of a word, in upper or lower case, in text order."""
        return [self.occurrence(int(row)) for row in self.rows(word)]

    def count(self, word: str) -> int:
        """How many places a word has, in upper or lower case."""
        return len(self.rows(word))

    def layers_of(self, occurrences: Sequence[Occurrence]) -> Floats:
        """All layers of the given occurrences. float32 [L+1, n, W]

        They come from the index if it stores every layer (to three digits, as float16), else the model encodes again.
        """
        total = self.elmo.config.layers + 1
        if self.layers == tuple(range(total)):
            rows = np.array([one.row for one in occurrences], np.int64)
            return np.stack([self._vectors(layer, rows) for layer in self.layers])
        vectors = np.empty((total, len(occurrences), self.description.width), np.float32)
        by_sentence: dict[int, list[int]] = {}
        for number, one in enumerate(occurrences):
            by_sentence.setdefault(one.row - one.position, []).append(number)
        sentences = (occurrences[numbers[0]].as_read for numbers in by_sentence.values())
        for numbers, encoding in zip(by_sentence.values(), self.elmo.stream(sentences), strict=True):
            vectors[:, numbers] = encoding.layers[:, [occurrences[number].position for number in numbers]]
        return vectors

    def _vectors(self, layer: int, rows: npt.NDArray[np.int64]) -> Floats:
        """The original vectors, up to rounding. [n, W]"""
        units = self._arrays.units[layer][rows].astype(np.float32)
        return units * np.asarray(self._arrays.norms[layer][rows])[:, None]

    def _held(self, layer: int | None) -> int:
        if layer is None:
            return self.layers[-1]
        if layer not in self.layers:
            shown = ", ".join(map(str, self.layers))
            raise ConfigError(f"layer {layer!r} is not in this index, which holds: {shown}")
        return layer

    def _read_query(self, query: object, layer: int) -> tuple[npt.NDArray[np.floating[Any]], str | None]:
        """The query vector [W], and the marked word if it is a single one."""
        if isinstance(query, str):
            place = find_place(self.elmo, query)
            (encoding,) = self.elmo.encode_tokens([place.tokens])
            return place.vectors(encoding.layers)[layer], place.word
        vector = np.asarray(query)
        if vector.shape != (self.description.width,) or not np.isfinite(vector).all():
            raise InputError(
                f"a query must be a text with a word in brackets, or a vector of {self.description.width} finite "
                f"numbers, but an array of shape {list(vector.shape)} was given"
            )
        return vector, None

    @cached_property
    def _folded(self) -> dict[str, list[int]]:
        """Lower-case word → the numbers of its variants in case."""
        folded: dict[str, list[int]] = {}
        for number, word in enumerate(self._arrays.words):
            folded.setdefault(word.casefold(), []).append(number)
        return folded

    def rows(self, word: str) -> npt.NDArray[np.int64]:
        """The rows of this word, in upper or lower case, in order."""
        posted, postings = self._arrays.posted, self._arrays.postings
        numbers = self._folded.get(word.casefold(), [])
        parts = [postings[int(posted[n]) : int(posted[n + 1])].astype(np.int64) for n in numbers]
        return np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64)

    def _place(self, row: int) -> dict[str, Any]:
        """The fields of an occurrence."""
        arrays = self._arrays
        sentence = int(np.searchsorted(arrays.starts, np.uint64(row), side="right")) - 1
        begin, end = arrays.line_starts[sentence : sentence + 2].tolist()
        told = json.loads(arrays.lines[begin:end].tobytes().decode("utf-8", "surrogatepass"))
        position = row - int(arrays.starts[sentence])
        offsets = told.pop("offsets")
        span = (offsets[2 * position], offsets[2 * position + 1])
        return {"row": row, "position": position, "span": span, **told}


def _chosen_layers(layers: Layers, elmo: Elmo) -> tuple[int, ...]:
    """The numbers of the layers, each once, from the lowest."""
    total = elmo.config.layers + 1
    named = {"all": range(total), "top": range(total - 1, total)}
    chosen = named.get(layers, ()) if isinstance(layers, str) else layers
    if not chosen or not all(isinstance(one, int) and 0 <= one < total for one in chosen):
        raise ConfigError(f"layers is {layers!r}, but should be 'all', 'top' or numbers from 0 to {total - 1}")
    return tuple(sorted(set(chosen)))


def _refuse_other_model(description: IndexDescription, elmo: Elmo) -> None:
    refuse_other(
        {"model": description.fingerprint, "state": description.state},
        {"model": elmo.fingerprint, "state": elmo.state},
        what="the index was made otherwise",
        remedy="open it with the model that made it, or build it again",
    )
