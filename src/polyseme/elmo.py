"""Elmo: the class that users work with. Text in, ``Encoding`` out.

elmo = Elmo.from_pretrained()
elmo.encode("Here is your birthday present.")["present"]
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args, overload

from polyseme.bilm_config import BiLMConfig
from polyseme.encoding import Encoding, Floats, pool_units
from polyseme.engine.bilm_reader import ReadingState
from polyseme.engine.weights import Precision
from polyseme.errors import ConfigError, FormatError, InputError
from polyseme.extras import need_torch
from polyseme.formats.detect import load
from polyseme.formats.model import StoredModel
from polyseme.formats.native import save_native
from polyseme.jobs.progress import Report, Work, windows, working
from polyseme.mixing import Mix, mix_weights
from polyseme.pooling import OccurrenceVectors, Pool, layer_cosines, text_vectors, word_vectors
from polyseme.prepared_text import Item, Preparation, PreparedText, Texts, checked_list, checked_sentence, checked_text
from polyseme.sentence_reader import (
    WARM_TEXT,
    SentenceReader,
    State,
    card_language,
    card_mix,
    card_state,
    choose_device,
    make_engine,
    warm_text,
)
from polyseme.text.tokenization import Language, PartedWords, Sentence, known_language
from polyseme.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from torch import Tensor

    from polyseme.lm.lexicon import Direction, Lexicon, Substitute
    from polyseme.lm.scoring import Score, Unknown
    from polyseme.nn.bilm import BiLM
    from polyseme.senses.sense import Sense
    from polyseme.senses.uses import Readout


#: Positions encoded together; further texts wait their turn, so that memory does not grow with their number.
WINDOW_POSITIONS = 8192


class Elmo:
    """A pretrained biLM, ready to encode: ``Elmo.from_pretrained("en")``, or ``Elmo(stored)`` for one in memory."""

    def __init__(
        self,
        stored: StoredModel,
        *,
        device: str = "auto",
        state: State | None = None,
        mix: Mix = None,
        cache_mb: float = 256,
        lang: Language | None = None,
        threads: int | None = None,
        precision: Precision = "float32",
    ) -> None:
        if state is not None and state not in get_args(State):
            raise ConfigError(f"state is {state!r}, but should be one of: {', '.join(get_args(State))}")
        self.stored = stored
        self.state: State = state or card_state(stored)
        self.device = choose_device(device)
        self.mix = mix_weights(card_mix(stored) if mix is None else mix, stored.config.layers + 1)
        self.precision: Precision = precision
        self._preparation = Preparation(stored, known_language(lang) if lang else card_language(stored))
        self.lang = self._preparation.lang
        self.engine = make_engine(stored, self.device, cache_mb=cache_mb, threads=threads, precision=precision)
        self._reader = SentenceReader(self.engine, stored, self.state)

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path = "en",
        *,
        options: str | Path | None = None,
        device: str = "auto",
        state: State | None = None,
        mix: Mix = None,
        cache_mb: float = 256,
        lang: Language | None = None,
        threads: int | None = None,
        precision: Precision = "float32",
    ) -> Elmo:
        """Load a model by its name ("en", "original", "seqvec", "nlpl:201"), path, address or hub id.

        A path is a folder, an archive, or an HDF5 file; ``options`` is the options file of HDF5 weights, if it is not
        beside them. ``state``, ``mix`` and ``lang`` default to what the model's card says. ``state`` is where a
        sentence starts (else "reset"). ``mix`` weights the layers in ``Encoding.vectors``: a list of weights, a
        layer's number, "top" or "sum" (else their mean). ``lang`` names how text is split (else by rules for every
        script), or is your own function. ``cache_mb`` bounds the memory for the vectors of tokens seen before.
        ``threads`` is the number of CPU threads (all usable cores by default), ``precision`` that of the weights on a
        CPU: "float16" and "int8" are faster and need less memory.
        """
        stored = load(model, options=options)
        return cls(
            stored,
            device=device,
            state=state,
            mix=mix,
            cache_mb=cache_mb,
            lang=lang,
            threads=threads,
            precision=precision,
        )

    def __repr__(self) -> str:
        name, config = self.stored.card.get("name"), self.config
        named = f"{name!r}, " if name else ""
        return (
            f"Elmo({named}{config.layers + 1} layers of {config.width}, lang={self.lang!r}, "
            f"state={self.state!r}, device={str(self.device)!r})"
        )

    @property
    def config(self) -> BiLMConfig:
        return self.stored.config

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The words of the model's softmax or vocabulary file, if it came with either."""
        return self.stored.vocabulary

    @cached_property
    def fingerprint(self) -> str:
        """A digest of settings and weights; models that give equal vectors have equal fingerprints."""
        whole = self.stored.fingerprint()
        if self.precision == "float32":
            return whole
        scheme = whole.partition(":")[0]
        return f"{scheme}:{hashlib.sha256(f'{whole} {self.precision}'.encode()).hexdigest()}"

    @cached_property
    def identity(self) -> str:
        """All that vectors depend on: the fingerprint and, unless it is zero, the state that sentences start from."""
        if self.state == "reset":
            return self.fingerprint
        text = warm_text(self.stored)
        read = "" if text == WARM_TEXT else f"-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        return f"{self.fingerprint}-{self.state}{read}"

    @cached_property
    def bilm(self) -> BiLM:
        """The network, for PyTorch users: ``bilm(elmo.ids(sentences))``."""
        from polyseme.nn.bilm import BiLM

        return BiLM.of(self.stored).to(self.device)

    def split(self, text: str) -> list[Sentence]:
        """The sentences of a text, each with its tokens and their offsets."""
        return self._preparation.split(text)

    def warn_of_script(self, text: str) -> None:
        """Warn once if the model has hardly seen the script of a text."""
        self._preparation.warn_of_script(text)

    def part(self, tokens: Sequence[str]) -> PartedWords | None:
        """The units inside tokens that this model did not split, if it reads units smaller than words."""
        return self._preparation.part(tokens)

    def ids(self, sentences: Sequence[Sequence[str]]) -> Tensor:
        """Sentences of tokens → ids [B, T, K] with boundaries, for ``bilm``."""
        need_torch("elmo.ids, which returns tensors,")
        import torch

        checked = [checked_sentence(sentence) for sentence in sentences]
        return torch.from_numpy(self.stored.indexer.batch(checked)).to(self.device)

    @overload
    def encode(self, text: str, *, progress: Report | None = None) -> Encoding: ...

    @overload
    def encode(self, text: Texts, *, progress: Report | None = None) -> list[Encoding]: ...

    def encode(self, text: str | Texts, *, progress: Report | None = None) -> Encoding | list[Encoding]:
        """A text → its ``Encoding``; a list, array or column of texts → a list, in the same order.

        ``progress`` is called now and then with a ``polyseme.jobs.progress.Progress``, from any thread.
        """
        if isinstance(text, str):
            return self._encode_all([self.prepare(text)], progress)[0]
        return self._encode_all([self.prepare(checked_text(one)) for one in checked_list(text, "texts")], progress)

    def encode_tokens(self, sentences: Sequence[Sequence[str]], *, progress: Report | None = None) -> list[Encoding]:
        """Sentences already split into tokens → one ``Encoding`` each, in the same order.

        A model that reads units smaller than words (its card says ``unit``) splits each token, and the token's row is
        the mean of its units; tokens from ``split`` are already units.
        """
        return self._encode_all(
            [self.prepare(checked_sentence(one)) for one in checked_list(sentences, "sentences")], progress
        )

    def layers_of(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """The layers of sentences from `split`, [L+1, N, W] each: `encode_tokens` without the rest of an `Encoding`."""
        parted = self._preparation.part_all(sentences)
        units = [one.units if one else tokens for tokens, one in zip(sentences, parted, strict=True)]
        calls = [units] if self.state == "carry" else windows(units, lambda one: len(one) + 2, WINDOW_POSITIONS)
        layers = (layers[:, 1:-1] for call in calls for layers in self._reader.read(call, None))
        return [pool_units(found, one.counts) if one else found for found, one in zip(layers, parted, strict=True)]

    def vectors(
        self,
        texts: Texts | Sequence[Sequence[str]],
        pool: Pool = "mean",
        *,
        normalize: bool = False,
        progress: Report | None = None,
    ) -> Floats:
        """One float32 vector for each text: [texts, W]; ``elmo.vectors(table["review"])``.

        ``pool`` makes one vector of the tokens' vectors [N, W]: "mean", "max", "first" or a function. A text without
        words gets the zero vector. ``normalize`` scales every vector to length one.
        """
        return text_vectors(self, texts, pool, normalize=normalize, progress=progress)

    def word_vectors(self, texts: Texts | Sequence[Sequence[str]], word: str) -> OccurrenceVectors:
        """Every occurrence of a word, in upper or lower case: their vectors [n, W], and where each one is."""
        return word_vectors(self, texts, word)

    def stream(self, texts: Iterable[Item]) -> Iterator[Encoding]:
        """Any iterable of texts (or of sentences of tokens) → their encodings, one by one, in constant memory."""
        if isinstance(texts, str | bytes):
            raise InputError("stream takes an iterable of texts, but one text was given; use encode for it")
        prepared = (self.prepare(item) for item in texts)
        for window in self._windows(prepared):
            yield from self._encode_together(window)

    def forget(self) -> None:
        """Forget the carried state: the next sentences start from zero."""
        self._reader.forget()

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the model as a native folder, which ``from_pretrained`` reads back."""
        save_native(self.stored, folder)

    def push_to_hub(self, hub_id: str, *, private: bool = False) -> str:
        """Save the model to a repository on a hub, owner/name, and return its address."""
        from polyseme.formats.hub import push_to_hub  # the hub's package takes long to import

        return push_to_hub(self.stored, hub_id, private=private)

    def prepare(self, item: Item) -> PreparedText:
        """A text, or a sentence already split into tokens, as the model reads it."""
        return self._preparation.prepare(item)

    def _encode_all(self, texts: list[PreparedText], progress: Report | None) -> list[Encoding]:
        windows = [texts] if self.state == "carry" else self._windows(texts)  # if carried, one call is one batch
        with working("encoding", sum(text.positions for text in texts), progress) as work:
            return [encoding for window in windows for encoding in self._encode_together(window, work)]

    def _windows(self, texts: Iterable[PreparedText]) -> Iterator[list[PreparedText]]:
        """Texts in groups of about ``WINDOW_POSITIONS``; one by one where state is carried from text to text."""
        return windows(texts, lambda text: text.positions, 0 if self.state == "carry" else WINDOW_POSITIONS)

    def _encode_together(self, texts: list[PreparedText], progress: Work | None = None) -> list[Encoding]:
        sentences = [units for text in texts for units in text.units]
        layers = iter(self._reader.read(sentences, progress))
        return [text.encoding([next(layers) for _ in text.sentences], self.config, self.mix) for text in texts]

    def start(self, count: int) -> ReadingState | None:
        """The state that ``count`` sentences start from if it is not carried; None for the zero state."""
        return self._reader.start(count)

    @overload
    def similarity(self, first: str, second: str, by: Literal["word"] = "word") -> Floats: ...

    @overload
    def similarity(
        self, first: str, second: str, by: Literal["place", "sentence", "topic", "substitutes", "sense"]
    ) -> float: ...

    def similarity(self, first: str, second: str, by: Readout = "word") -> Floats | float:
        """How alike two texts are: by "word", the cosine of their vectors in every layer, [L+1].

        "[present]" marks the words to compare; a text without a mark is compared as a whole. By "place", "sentence",
        "topic", "substitutes" or all of them together ("sense"), the marked words are compared by their context, and
        the answer is one number; polyseme.senses.uses shows what each of these reads.
        """
        if self.state == "carry":
            raise ConfigError(
                'similarity needs vectors that do not depend on earlier calls; use state "reset" or "warm"'
            )
        if by != "word":
            return self.sense(first).similarity(self.sense(second), by)
        return layer_cosines(self, first, second)

    def sense(self, text: str | Sequence[str], position: int | None = None) -> Sense:
        """What a word means here, as a ``Sense`` that can be compared with others.

        The word is the one in brackets, "Here is your birthday [present].", or that at a position of a list of tokens,
        such as ``encoding.tokens``.
        """
        from polyseme.senses.sense import find_sense, find_token_sense

        if isinstance(text, str) and position is None:
            return find_sense(self, text)
        if isinstance(text, str) or position is None:
            raise ConfigError("expected a text with a word in brackets, or a list of tokens and a position")
        return find_token_sense(self, text, position)

    @cached_property
    def lexicon(self) -> Lexicon:
        """The words of the model's softmax, and how likely each is in a place; ConfigError if there is no softmax."""
        from polyseme.lm.lexicon import Lexicon

        return Lexicon(self)

    @overload
    def score(self, text: str, unknown: Unknown = "empty") -> Score: ...

    @overload
    def score(
        self, text: list[Item] | list[str] | list[list[str]] | tuple[Item, ...], unknown: Unknown = "empty"
    ) -> list[Score]: ...

    def score(self, text: str | Sequence[Item], unknown: Unknown = "empty") -> Score | list[Score]:
        """The log-probability of each token of a text, read forward and backward; for a list, a list of scores.

        An item of a list is a text, or a sentence already split into tokens. A model that reads units smaller than
        words (its card says ``unit``) scores those, and ``Score.tokens`` are units. A word outside the model's
        vocabulary gets no score (NaN); ``unknown="score"`` gives it the probability of all unknown words together.
        """
        from polyseme.lm.scoring import score, score_stream

        return score(self, text, unknown) if isinstance(text, str) else list(score_stream(self, text, unknown))

    def substitutes(
        self, text: str, k: int = 10, *, direction: Direction = "both", exclude_original: bool = False
    ) -> list[Substitute]:
        """The ``k`` likeliest replacements for the word in brackets: "Here is your birthday [present]."

        They are units of the model: morphemes, if its card says ``unit: morpheme``.
        """
        from polyseme.lm.lexicon import substitutes

        return substitutes(self, text, k, direction=direction, exclude_original=exclude_original)


def check_vectors(stored: StoredModel) -> bool:
    """Whether the model gives finite vectors for a plain text."""
    try:
        Elmo(stored, device="cpu").encode_tokens([WARM_TEXT.split()])
    except FormatError:
        return False
    return True
