"""How a native folder says what a model reads of a token: the ``indexer`` of config.json, characters.txt, words.txt."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polyseme.bilm_config import BiLMConfig, CharacterConfig
from polyseme.errors import FormatError, InputError
from polyseme.formats.json_file import Settings
from polyseme.text.characters import BYTE_ALPHABET, ByteScheme, Characters, UnicodeScheme
from polyseme.text.indexing import Indexer, WordTable
from polyseme.text.vocabulary import Vocabulary

CHARACTERS, WORDS = "characters.txt", "words.txt"


def indexer_settings(indexer: Indexer) -> dict[str, Any]:
    """What config.json says of the indexer."""
    characters, words = indexer.characters, indexer.words
    settings: dict[str, Any] = {"characters": None, "words": None}
    if isinstance(characters, ByteScheme):
        settings["characters"] = {"scheme": "bytes", "specials": dict(characters.specials)}
    elif isinstance(characters, UnicodeScheme):
        settings["characters"] = {"scheme": "unicode"}
    if words is not None:
        settings["words"] = {name: getattr(words, name) for name in ("unknown", "begin", "end", "longest")}
    return settings


def write_entries(indexer: Indexer, folder: Path) -> None:
    """characters.txt and words.txt, as far as the model has them."""
    if isinstance(indexer.characters, UnicodeScheme):
        Vocabulary(in_order(indexer.characters.ids)).write(folder / CHARACTERS)
    if indexer.words is not None:
        Vocabulary(in_order(indexer.words.ids)).write(folder / WORDS)


def read_indexer(folder: Path, settings: Settings, config: BiLMConfig) -> Indexer:
    """The indexer of a native folder, which must fit the network."""
    settings.only("characters", "words")
    if settings.has("characters") != bool(config.characters) or settings.has("words") != bool(config.words):
        raise FormatError(f"{settings.where}: network and indexer do not agree on reading words or characters")
    characters = _characters(folder, settings.part("characters"), config.characters) if config.characters else None
    words = _words(folder, settings.part("words"), config.words.size) if config.words else None
    return Indexer(characters, words)


def read_words(path: Path) -> Vocabulary:
    """One of the folder's lists."""
    if not path.is_file():
        raise FormatError(f"the file {path.name} is missing")
    try:
        return Vocabulary.read(path)
    except InputError as error:
        raise FormatError(str(error).replace(str(path), path.name)) from None


def unicode_scheme(ids: Mapping[str, int], longest: int, where: str) -> UnicodeScheme:
    """The scheme of a character dictionary, which must have its six specials."""
    for special in UnicodeScheme.SPECIALS:
        if special not in ids:
            raise FormatError(f"{where} has no entry {special!r}, which every model of Unicode characters needs")
    return UnicodeScheme(ids, longest)


def in_order(ids: Mapping[str, int]) -> tuple[str, ...]:
    """Entries in the order of their ids.

    An id without an entry (its word stands in the list again, later) repeats the last entry, whose lookup is the
    last one anyway.
    """
    last = max(ids, key=lambda entry: ids[entry])
    entries = [last] * (ids[last] + 1)
    for entry, number in ids.items():
        entries[number] = entry
    return tuple(entries)


def _words(folder: Path, settings: Settings, size: int) -> WordTable:
    settings.only("unknown", "begin", "end", "longest")
    ids = _ids(folder / WORDS, size)
    longest = settings.whole("longest") if settings.has("longest") else None
    unknown = settings.text("unknown") if settings.has("unknown") else None
    return WordTable(ids, unknown, settings.text("begin"), settings.text("end"), longest)


def _characters(folder: Path, settings: Settings, config: CharacterConfig) -> Characters:
    settings.only("scheme", "specials")
    scheme = settings.text("scheme")
    if scheme == "bytes" and config.alphabet == BYTE_ALPHABET:
        return ByteScheme(config.max_characters, _specials(settings))
    if scheme == "unicode":
        return unicode_scheme(_ids(folder / CHARACTERS, config.alphabet), config.max_characters, CHARACTERS)
    raise FormatError(
        f"{settings.where}: the scheme {scheme!r} with {config.alphabet} characters is none; "
        f"expected 'unicode', or 'bytes' with {BYTE_ALPHABET}"
    )


def _specials(settings: Settings) -> dict[str, int]:
    specials = settings.part("specials")
    ids = {token: specials.whole(token) for token in specials.values}
    for token, raw in ids.items():
        if not 0 <= raw < BYTE_ALPHABET:
            raise FormatError(f"{settings.where}: the special token {token!r} has the id {raw}, which is no character")
    return ids


def _ids(path: Path, size: int) -> dict[str, int]:
    entries = read_words(path)
    if len(entries) != size:
        raise FormatError(f"{path.name} has {len(entries)} lines, but the network has {size} rows for them")
    return {word: number for number, word in enumerate(entries.words)}
