"""Texts and places out of the fields of a request, split into sentences and tokens, within the limits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from polyseme.encoding import joined_offsets
from polyseme.errors import PolysemeError
from polyseme.lm.places import Place, find_place
from polyseme.mixing import mix_weights
from polyseme.prepared_text import read_target
from polyseme.serve.fields import Fields
from polyseme.serve.limits import Limits, Refusal
from polyseme.serve.served import ServedModel
from polyseme.text.tokenization import Sentence

#: Characters whose splitting may hold up other requests; more of them are split in a thread, which costs more itself.
AT_ONCE = 20_000


@dataclass(frozen=True, slots=True)
class Text:
    """A text of a request, split."""

    sentences: list[Sentence]

    @property
    def tokens(self) -> list[str]:
        return [token for sentence in self.sentences for token in sentence.tokens]

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Where each token stands. [N, 2]"""
        found = [span for sentence in self.sentences for span in sentence.offsets]
        return np.array(found, dtype=np.int64).reshape(-1, 2)

    def to_dict(self) -> dict[str, object]:
        ends = np.cumsum([len(sentence.tokens) for sentence in self.sentences], dtype=int).tolist()
        spans = list(zip([0, *ends[:-1]], ends, strict=False))
        return {"tokens": self.tokens, "offsets": self.offsets, "sentences": spans}


async def read_texts(fields: Fields, model: ServedModel, limits: Limits) -> list[Text]:
    """From "texts", or from "tokens": sentences that are split already, each a text of its own."""
    if fields.has("tokens"):
        if fields.has("texts"):
            raise Refusal(422, "a request has either 'texts' or 'tokens', but this one has both")
        sentences = fields.sentences("tokens", limits.texts)
        check_characters((token for tokens in sentences for token in tokens), limits)
        return _within([Text([_as_sentence(tokens)]) for tokens in sentences], limits)
    return await split_texts(fields.texts("texts", limits.texts), model, limits)


async def split_texts(texts: list[str], model: ServedModel, limits: Limits) -> list[Text]:
    check_characters(texts, limits)

    def split() -> list[Text]:
        return [Text(model.elmo.split(text)) for text in texts]

    long = sum(map(len, texts)) > AT_ONCE
    return _within(await asyncio.to_thread(split) if long else split(), limits)


async def read_place(fields: Fields, model: ServedModel, limits: Limits) -> Place:
    """From "text" with a word in brackets, or from "tokens" with the "position" of one."""
    if fields.has("tokens"):
        tokens = fields.tokens("tokens")
        check_characters(tokens, limits)
        position = fields.number("position", 0, len(tokens) - 1)
        place = Place(tokens, position, position + 1)
    else:
        place = marked_place(fields.text("text"), model)
    _within([Text([_as_sentence(list(place.tokens))])], limits)
    return place


def read_places(fields: Fields, names: Sequence[str], model: ServedModel, limits: Limits) -> list[Place]:
    """From several fields, each a text with a word in brackets."""
    places = [marked_place(fields.text(name), model) for name in names]
    _within([Text([_as_sentence(list(place.tokens))]) for place in places], limits)
    return places


def marked_place(text: str, model: ServedModel) -> Place:
    if len(text) > AT_ONCE:
        raise Refusal(413, f"a text with a marked word may have {AT_ONCE} characters, but this has {len(text)}")
    try:
        return find_place(model.elmo, text)
    except PolysemeError as error:
        raise Refusal(422, str(error)) from None


def read_marked(text: str) -> tuple[str, tuple[int, int] | None]:
    """A text without its brackets, and what they marked."""
    try:
        return read_target(text)
    except PolysemeError as error:
        raise Refusal(422, str(error)) from None


def marked_tokens(text: Text, span: tuple[int, int] | None) -> npt.NDArray[np.bool_]:
    """Which tokens are marked; all of them where nothing is. [N]"""
    begin, end = span or (0, 1 << 62)
    inside: npt.NDArray[np.bool_] = (text.offsets[:, 0] < end) & (text.offsets[:, 1] > begin)
    if not inside.any():
        raise Refusal(422, "there is nothing to compare: a text has no word, or none between its brackets")
    return inside


def read_weights(fields: Fields, model: ServedModel) -> tuple[float, ...]:
    """From "layer" (a number, "top" or "mix") and "mix", the weights of a mix; the top layer where neither is given."""
    layer = fields.choice("layer", ("mix", "top", *range(model.layers)), "mix" if fields.has("mix") else "top")
    weights = read_mix(fields, model)
    return weights if layer == "mix" else mix_weights(layer, model.layers)


def read_mix(fields: Fields, model: ServedModel) -> tuple[float, ...]:
    weights = fields.weights("mix", model.layers) or model.elmo.mix
    if not any(weights):
        raise Refusal(422, "the field 'mix' has no weight above zero, so nothing is left of the vectors")
    return weights


def _as_sentence(tokens: list[str]) -> Sentence:
    return Sentence(tokens, [(a, b) for a, b in joined_offsets(tokens).tolist()])


def check_characters(texts: Iterable[str], limits: Limits) -> None:
    """Before anything is split, because splitting is work."""
    count = sum(map(len, texts))
    if count > limits.characters:
        raise Refusal(
            413, f"a request may have {limits.characters:,} characters, but this one has {count:,}; send it in parts"
        )


def _within(texts: list[Text], limits: Limits) -> list[Text]:
    count = sum(len(sentence.tokens) for text in texts for sentence in text.sentences)
    if count > limits.tokens:
        raise Refusal(413, f"a request may have {limits.tokens} tokens, but this one has {count}; send it in parts")
    return texts
