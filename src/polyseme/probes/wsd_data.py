"""Word senses in the format of the WSD Evaluation Framework (Raganato et al., 2017): sentences, keys, WordNet's order.

NAME.data.xml        <sentence> of <wf> (a word) and <instance id lemma pos> (a word, or several, to disambiguate)
NAME.gold.key.txt    instance id, then one or more sense keys
index.sense          WordNet's senses: key, offset, number of the sense among those of its lemma, count
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError, iterparse

from polyseme.errors import InputError
from polyseme.tasks.treebank import PENN_SIGNS
from polyseme.text.lines import open_bytes, read_lines

#: The part of speech in a sense key: the digit after "%". Adjectives have two, and count their senses together.
_POS = {"1": "NOUN", "2": "VERB", "3": "ADJ", "4": "ADV", "5": "ADJ"}

Lemma = tuple[str, str]  # lemma, part of speech


@dataclass(frozen=True, slots=True)
class Instance:
    """A word to disambiguate."""

    id: str
    lemma: Lemma
    start: int  #: its first token
    end: int


@dataclass(frozen=True, slots=True)
class SenseSentence:
    """A sentence, and the instances in it."""

    tokens: list[str]
    instances: list[Instance]


def lemma_of(key: str) -> Lemma:
    """ "bank%1:17:01::" → ("bank", "NOUN")"""
    lemma, _, rest = key.partition("%")
    if rest[:1] not in _POS:
        raise InputError(f"{key[:40]!r} is not a sense key; expected one such as bank%1:17:01::")
    return lemma, _POS[rest[0]]


def read_sense_sentences(path: str | Path) -> Iterator[SenseSentence]:
    """The sentences of a .data.xml file, also compressed, one by one; a word with spaces becomes several tokens."""
    with open_bytes(str(path)) as stream:
        try:
            for _, element in iterparse(stream, events=("end",)):
                if element.tag == "sentence":
                    yield _sentence(element, str(path))
                    element.clear()
        except ParseError as error:
            raise InputError(f"{path} is not an XML file of word senses: {error}") from None


def _sentence(element: Element, source: str) -> SenseSentence:
    tokens, instances = list[str](), list[Instance]()
    for word in element:
        start = len(tokens)
        tokens += [PENN_SIGNS.get(token, token) for token in (word.text or "").split()]
        if word.tag == "instance" and len(tokens) > start:
            try:
                lemma = (word.attrib["lemma"].lower(), word.attrib["pos"])
                instances.append(Instance(word.attrib["id"], lemma, start, len(tokens)))
            except KeyError as missing:
                raise InputError(f"{source}: an instance has no {missing}; expected id, lemma and pos") from None
    return SenseSentence(tokens, instances)


def read_keys(path: str | Path) -> dict[str, frozenset[str]]:
    """Instance id → its sense keys, from a .gold.key.txt file."""
    keys = {}
    with open_bytes(str(path)) as stream:
        for number, line in enumerate(read_lines(stream, str(path)), start=1):
            name, *senses = line.split() or [""]
            if name and not senses:
                raise InputError(f"{path}, line {number} has no sense key: {line[:40]!r}")
            if name:
                keys[name] = frozenset(senses)
    return keys


def read_first_senses(path: str | Path) -> dict[Lemma, str]:
    """The first sense of each lemma in WordNet, from index.sense."""
    first: dict[Lemma, str] = {}
    with open_bytes(str(path)) as stream:
        for number, line in enumerate(read_lines(stream, str(path)), start=1):
            columns = line.split()
            if len(columns) != 4:
                raise InputError(f"{path}, line {number} is not in the format of WordNet's index.sense: {line[:40]!r}")
            if columns[2] == "1":
                first[lemma_of(columns[0])] = columns[0]
    return first


def read_sense_set(folder: Path, name: str) -> tuple[Iterator[SenseSentence], dict[str, frozenset[str]]]:
    """The sentences of a set anywhere below a folder, and the sense keys of its instances."""
    data, keys = find_sense_files(folder, name)
    return read_sense_sentences(data), read_keys(keys)


def find_sense_files(folder: Path, name: str) -> tuple[Path, Path]:
    """NAME.data.xml and NAME.gold.key.txt anywhere below a folder, compressed or not."""
    return _only(folder, f"{name}.data.xml"), _only(folder, f"{name}.gold.key.txt")


def _only(folder: Path, name: str) -> Path:
    found = sorted(folder.rglob(f"{name}*"))
    if not found:
        raise InputError(f"there is no {name} (or {name}.xz) below {folder}")
    return found[0]
