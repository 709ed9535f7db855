"""Elmo: the object users hold. Text in, ``Encoding`` out.

elmo = Elmo.from_pretrained()
elmo.encode("Here is your birthday present.")["present"]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args, overload

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from polyseme.encoding import Encoding, Floats, Mix, joined_offsets, mix_weights
from polyseme.engine.engine import Engine
from polyseme.engine.progress import Progress
from polyseme.errors import ConfigError, InputError
from polyseme.formats.detect import load
from polyseme.formats.model import StoredModel
from polyseme.formats.native import save_native
from polyseme.nn.bilm import BiLM, BiLMState
from polyseme.nn.config import BiLMConfig
from polyseme.target import read_target
from polyseme.text.tokenization import Sentence, split_text
from polyseme.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from polyseme.lm.lexicon import Direction, Substitute
    from polyseme.lm.score import Score

State = Literal["reset", "warm", "carry"]
Item = str | Sequence[str]

#: Positions that are encoded together; texts beyond wait their turn, so that memory does not grow with their number.
WINDOW_POSITIONS = 8192

#: What a model reads once at load with ``state="warm"``: plain prose, in words that every model can spell.
WARM_TEXT = (
    "It was early in the morning . The streets were still empty , and a light rain had begun to fall . "
    "She closed the door behind her , looked at the sky and walked towards the station . "
    '" There is time enough " , he had said , " for everything that matters . " '
    "In 1954 , some 300 people lived here ; today there are more than 12,000 ."
)


@dataclass(frozen=True, slots=True)
class _Text:
    """One input, split, waiting for its vectors."""

    text: str
    sentences: list[Sequence[str]]
    offsets: npt.NDArray[np.int64]  # [N, 2]

    @property
    def positions(self) -> int:
        return sum(len(sentence) + 2 for sentence in self.sentences)


class Elmo:
    """A pretrained biLM, ready to encode: ``Elmo.from_pretrained("en")``, or ``Elmo(stored)`` of one in memory."""

    def __init__(
        self,
        stored: StoredModel,
        *,
        device: str = "auto",
        state: State = "reset",
        mix: Mix = None,
        cache_mb: float = 256,
        lang: str | None = None,
    ) -> None:
        if state not in get_args(State):
            raise ConfigError(f"state is {state!r}, but should be one of: {', '.join(get_args(State))}")
        self.stored = stored
        self.state: State = state
        self.device = choose_device(device)
        self.mix = mix_weights(mix, stored.config.layers + 1)
        self.lang = lang or card_language(stored)
        self.engine = Engine(stored, cache_mb=cache_mb, device=self.device)
        self._memory: BiLMState | None = None
        if state == "warm":
            _, self._memory = self.engine.encode_carrying([WARM_TEXT.split()])

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path = "en",
        *,
        device: str = "auto",
        state: State = "reset",
        mix: Mix = None,
        cache_mb: float = 256,
        lang: str | None = None,
    ) -> Elmo:
        """A bundled model ("en", "ko", "zh"), a folder, an archive, an HDF5 file beside its options, or a hub id.

        ``mix``: the weights of the layers in ``Encoding.vectors``, a layer's number, or "top"; by default their mean.
        ``cache_mb`` bounds the memory for the vectors of tokens seen before. ``lang`` says how to split text, where the
        model itself does not, or says it wrong.
        """
        return cls(load(model), device=device, state=state, mix=mix, cache_mb=cache_mb, lang=lang)

    @property
    def config(self) -> BiLMConfig:
        return self.stored.config

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The words of the model's softmax or vocabulary file, if it came with one."""
        return self.stored.vocabulary

    @cached_property
    def fingerprint(self) -> str:
        """A digest of settings and weights: equal for models that give equal vectors."""
        return self.stored.fingerprint()

    @cached_property
    def bilm(self) -> BiLM:
        """The network for PyTorch users; ``bilm(elmo.ids(sentences))``."""
        return self.stored.bilm().to(self.device)

    def split(self, text: str) -> list[Sentence]:
        """The sentences of a text, each with its tokens and their offsets."""
        if not isinstance(text, str):
            raise InputError(f"a text should be a string, but {_shown(text)} is of type {type(text).__name__}")
        return split_text(text, self.lang)

    def ids(self, sentences: Sequence[Sequence[str]]) -> Tensor:
        """Sentences of tokens → ids [B, T, K] with boundaries, for ``bilm``."""
        checked = [_checked_sentence(sentence) for sentence in sentences]
        return torch.from_numpy(self.stored.indexer.batch(checked)).to(self.device)

    @overload
    def encode(self, text: str) -> Encoding: ...

    @overload
    def encode(self, text: list[str] | tuple[str, ...]) -> list[Encoding]: ...

    def encode(self, text: str | list[str] | tuple[str, ...]) -> Encoding | list[Encoding]:
        """A text → its ``Encoding``; a list of texts → a list, in the same order."""
        if isinstance(text, str):
            return self._encode_all([self._prepare(text)])[0]
        return self._encode_all([self._prepare(one) for one in _checked_list(text, "texts")])

    def encode_tokens(self, sentences: Sequence[Sequence[str]]) -> list[Encoding]:
        """Sentences that are split into tokens already → one ``Encoding`` each, in the same order."""
        return self._encode_all([self._prepare_tokens(one) for one in _checked_list(sentences, "sentences")])

    def stream(self, texts: Iterable[Item]) -> Iterator[Encoding]:
        """Any iterable of texts (or of sentences of tokens) → their encodings, one by one, in constant memory."""
        if isinstance(texts, str | bytes):
            raise InputError("stream takes an iterable of texts, but one text was given; use encode for it")
        prepared = (self._prepare(item) if isinstance(item, str) else self._prepare_tokens(item) for item in texts)
        for window in self._windows(prepared):
            yield from self._encode_together(window)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the model as a native folder, which ``from_pretrained`` reads back."""
        save_native(self.stored, folder)

    def push_to_hub(self, hub_id: str, *, private: bool = False) -> str:
        """Save the model in a hub's repository, owner/name; returns its address."""
        from polyseme.formats.hub import push_to_hub  # the hub's package takes long to import

        return push_to_hub(self.stored, hub_id, private=private)

    def _prepare(self, text: str) -> _Text:
        sentences = self.split(text)
        offsets = np.array(list(chain.from_iterable(s.offsets for s in sentences)), dtype=np.int64).reshape(-1, 2)
        return _Text(text, [sentence.tokens for sentence in sentences], offsets)

    def _prepare_tokens(self, sentence: Sequence[str]) -> _Text:
        tokens = _checked_sentence(sentence)
        return _Text(" ".join(tokens), [tokens], joined_offsets(tokens))

    def _encode_all(self, texts: list[_Text]) -> list[Encoding]:
        windows = [texts] if self.state == "carry" else self._windows(texts)  # carried: one call is one batch
        with Progress(sum(text.positions for text in texts), "encoding") as progress:
            return [encoding for window in windows for encoding in self._encode_together(window, progress)]

    def _windows(self, texts: Iterable[_Text]) -> Iterator[list[_Text]]:
        """Texts in groups of about ``WINDOW_POSITIONS``; one by one where state is carried from text to text."""
        limit = 0 if self.state == "carry" else WINDOW_POSITIONS
        window, positions = list[_Text](), 0
        for text in texts:
            window.append(text)
            positions += text.positions
            if positions >= limit:
                yield window
                window, positions = [], 0
        if window:
            yield window

    def _encode_together(self, texts: list[_Text], progress: Progress | None = None) -> list[Encoding]:
        sentences = [sentence for text in texts for sentence in text.sentences]
        layers = iter(self._run(sentences, progress))
        return [self._encoding(text, [next(layers).numpy() for _ in text.sentences]) for text in texts]

    def _run(self, sentences: list[Sequence[str]], progress: Progress | None) -> list[Tensor]:
        """Sentences → layers [L+1, N, W] each, from the state that ``self.state`` says."""
        if self.state == "carry":
            start = self._memory.rows(len(sentences)) if self._memory else None
            layers, final = self.engine.encode_carrying(sentences, start, progress=progress)
            self._memory = self._memory.replace_rows(final) if self._memory else final
            return layers
        return self.engine.encode(sentences, self.start(len(sentences)), progress=progress)

    def start(self, count: int) -> BiLMState | None:
        """Where so many sentences start if the state is not carried: None for the zero state."""
        return self._memory.expand(count) if self._memory else None

    def _encoding(self, text: _Text, layers: list[Floats]) -> Encoding:
        ends = np.cumsum([len(sentence) for sentence in text.sentences], dtype=np.int64).tolist()
        if not layers:
            layers = [np.zeros((self.config.layers + 1, 0, self.config.width), dtype=np.float32)]
        return Encoding(
            text=text.text,
            tokens=list(chain.from_iterable(text.sentences)),
            layers=layers[0] if len(layers) == 1 else np.concatenate(layers, axis=1),
            offsets=text.offsets,
            sentences=list(zip([0, *ends[:-1]], ends, strict=False)),
            mix=self.mix,
        )

    def similarity(self, first: str, second: str) -> Floats:
        """The cosine of two texts in every layer, [L+1].

        "[present]" marks the words that are compared; a text without a mark is compared as a whole.
        """
        if self.state == "carry":
            raise ConfigError(
                'similarity needs vectors that do not depend on earlier calls; use state "reset" or "warm"'
            )
        a, b = self._target(first), self._target(second)  # [L+1, W]
        norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
        cosines: Floats = (a * b).sum(axis=1) / np.maximum(norms, np.finfo(np.float32).tiny)
        return cosines

    @overload
    def score(self, text: str) -> Score: ...

    @overload
    def score(self, text: list[Item] | list[str] | list[list[str]] | tuple[Item, ...]) -> list[Score]: ...

    def score(self, text: str | Sequence[Item]) -> Score | list[Score]:
        """The log-probability of each token of a text, read forward and backward; a list for a list.

        An item of a list is a text, or a sentence that is split into tokens already.
        """
        from polyseme.lm.score import score, score_stream

        return score(self, text) if isinstance(text, str) else list(score_stream(self, text))

    def substitutes(
        self, text: str, k: int = 10, *, direction: Direction = "both", exclude_original: bool = False
    ) -> list[Substitute]:
        """The ``k`` likeliest words in the place of the one in brackets: "Here is your birthday [present]." """
        from polyseme.lm.substitutes import substitutes

        return substitutes(self, text, k, direction=direction, exclude_original=exclude_original)

    def _target(self, marked: str) -> Floats:
        """The mean of the marked tokens in every layer. [L+1, W]"""
        text, span = read_target(marked)
        encoding = self._encode_together([self._prepare(text)])[0]
        begin, end = span or (0, len(text))
        inside = (encoding.offsets[:, 0] < end) & (encoding.offsets[:, 1] > begin)  # [N]
        if not inside.any():
            raise InputError(f"nothing to compare in {_shown(marked)}: it has no word there")
        mean: Floats = encoding.layers[:, inside].mean(axis=1, dtype=np.float32)
        return mean


def choose_device(name: str) -> torch.device:
    """ "auto" is a GPU where torch finds one, else the CPU."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise ConfigError(f"the device {name!r} cannot be used ({reason}); try 'cpu' or 'auto'") from None


def card_language(stored: StoredModel) -> str:
    """How the model's card says that text is split; rules for every script where it says nothing."""
    languages = stored.card.get("languages") or ["any"]
    return str(stored.card.get("tokenization") or languages[0])


def _checked_list(items: object, what: str) -> Sequence[str]:
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise InputError(f"a list of {what} was expected, but {_shown(items)} is of type {type(items).__name__}")
    return list(items)


def _checked_sentence(sentence: object) -> list[str]:
    """A sentence is a sequence of tokens, and a token a string."""
    if isinstance(sentence, str | bytes) or not isinstance(sentence, Iterable):
        raise InputError(
            f"a sentence should be a list of tokens, but {_shown(sentence)} is of type {type(sentence).__name__}; "
            "use encode for text that is not split"
        )
    tokens = list(sentence)
    for token in tokens:
        if not isinstance(token, str):
            raise InputError(f"a token should be a string, but {_shown(token)} is of type {type(token).__name__}")
    return tokens


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"
