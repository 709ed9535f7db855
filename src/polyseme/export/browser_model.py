"""A model as two files that a web page can read: what it is, and its weights.

model.json      the network's shape, how a token is spelled, how a text is split (for splitting.js)
model.bin       safetensors, packed with gzip: matrices in int8, a scale for each BLOCK of numbers; the rest in float32

serve/static_page/bilm.js computes with them what the engine computes. No softmax goes with it, which is most of a
model: a page that reads sentences needs their vectors only.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from safetensors.numpy import save

from polyseme.elmo import Elmo
from polyseme.encoding import Floats
from polyseme.export.javascript_regex import javascript_regex
from polyseme.formats.model import StoredModel
from polyseme.text import any_language, chinese, english, korean, linear_tagger, sentences
from polyseme.text.characters import ByteScheme
from polyseme.text.tokenization import BUILT_IN, added_tokenizer

#: Numbers that share a scale. With 32 of them no vector of the bundled models is farther than 1e-3 (cosine) from that
#: of float32; with a scale for each output of a matrix, some Korean ones are.
BLOCK = 32
_WORDS = {
    "en": english.TOKEN,
    "ko": korean.TOKEN,
    "ko-eojeol": korean.TOKEN,
    "zh": chinese.TOKEN,
    "protein": re.compile(r"\S"),
    "whitespace": re.compile(r"\S+"),
}
#: Languages whose words, or parts of them, are told by weights.
_TAGGERS = {"ko": korean, "zh": chinese}


def why_not(elmo: Elmo) -> str | None:
    """What keeps a model from being read in a browser; None: nothing."""
    if elmo.config.characters is None or elmo.config.words is not None:
        return "it looks words up"
    if elmo.state != "reset":
        return f"its state is {elmo.state!r}, and a page begins every sentence anew"
    if not isinstance(elmo.lang, str) or describe_splitting(elmo.lang) is None:
        return "its texts are split by a function of yours"
    return None


def describe_model(elmo: Elmo) -> dict[str, Any]:
    """model.json"""
    network = asdict(elmo.config) | {"directions": elmo.config.directions, "width": elmo.config.width}
    return {"network": network, "spelling": _spelling(elmo.stored), "splitting": describe_splitting(elmo.lang)}


def pack_model(elmo: Elmo) -> bytes:
    """model.bin"""
    tensors = {name: arranged(name, np.asarray(value, np.float32)) for name, value in elmo.stored.tensors.items()}
    return pack_arrays(tensors, tagger_tables(elmo.lang))


def pack_arrays(numbers: Mapping[str, Floats], tables: Mapping[str, Any] | None = None) -> bytes:
    """Arrays in int8 if they have two axes or more, else as they are; tables as they are. Shapes are not kept."""
    stored: dict[str, Any] = {name: np.ascontiguousarray(table) for name, table in (tables or {}).items()}
    for name, array in numbers.items():
        if array.ndim < 2:
            stored[name] = np.ascontiguousarray(array, np.float32)
        else:
            stored[name], stored[f"{name}.scale"] = quantise(array)
    return gzip.compress(save(stored), 6, mtime=0)


def quantise(array: Floats) -> tuple[Any, Any]:
    """Row by row → int8 [blocks, BLOCK], the last block filled up with zeros, and float16 scales [blocks]."""
    flat = array.reshape(-1)
    blocks = np.concatenate([flat, np.zeros(-len(flat) % BLOCK, np.float32)]).reshape(-1, BLOCK)
    scales = (np.abs(blocks).max(axis=1) / 127).astype(np.float16)
    steps = blocks / np.maximum(scales.astype(np.float32), np.finfo(np.float16).smallest_subnormal)[:, None]
    return np.clip(np.round(steps), -127, 127).astype(np.int8), scales


def arranged(name: str, array: Floats) -> Floats:
    """As the page walks over it: a filter [out, dim, width] character by character."""
    return np.ascontiguousarray(array.transpose(0, 2, 1)) if ".convolutions." in name and array.ndim == 3 else array


def _spelling(stored: StoredModel) -> dict[str, Any]:
    characters = stored.indexer.characters
    assert characters is not None
    found = {"scheme": characters.SCHEME, "fold_width": stored.indexer.fold_width}
    if isinstance(characters, ByteScheme):
        return found | {"size": characters.max_characters, "specials": dict(characters.specials)}
    return found | {"size": characters.max_characters, "ids": dict(characters.ids)}


def describe_splitting(lang: str) -> dict[str, Any] | None:
    """None for a language that a package adds."""
    if lang not in BUILT_IN and added_tokenizer(lang) is not None:
        return None
    return {
        "words": javascript_regex(_WORDS.get(lang, any_language.TOKEN)),
        "halves": english.CONTRACTED if lang == "en" else {},
        "sentences": None if lang in ("protein", "whitespace") else _sentence_ends(lang),
        "tagger": _tagger(lang),
    }


def tagger_tables(lang: str) -> dict[str, Any]:
    """Arrays by name; none for a language without a tagger."""
    if lang == "zh":
        with np.load(chinese.TABLES) as arrays:
            return {f"tagger.{name}": arrays[name] for name in ("lexicon", "weights", "simplified")}
    if lang == "ko":
        tables = korean.load_tables()
        return {"tagger.lexicon": tables.lexicon, "tagger.weights": tables.weights}
    return {}


def _sentence_ends(lang: str) -> dict[str, Any]:
    return {
        "spaced": "".join(sorted(sentences.SPACED)),
        "unspaced": "".join(sorted(sentences.UNSPACED)),
        "closing": "".join(sorted(sentences.CLOSING)),
        "emoticon": javascript_regex(sentences.EMOTICON),
        "polite": javascript_regex(korean.POLITE) if lang.startswith("ko") else None,
    }


def _tagger(lang: str) -> dict[str, Any] | None:
    if lang not in _TAGGERS:
        return None
    classes = (*linear_tagger.SHARED_CLASSES, *_TAGGERS[lang].CLASSES)
    return {"kind": lang, "classes": [(ord(first), ord(last), code) for first, last, code in classes]}
