"""Several tasks on the same texts: names, parts of speech and roles of a sentence, in one record.

tag_documents([Task.load("en/ner"), Task.load("en/pos")], read_documents(["a.txt"]))
# {"id": "0", "text": …, "sentences": [{"tokens": …, "offsets": …, "entities": […], "tags": […]}, …]}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from polyseme.errors import ConfigError
from polyseme.jobs.progress import windows
from polyseme.tasks.trained_task import Task, text_record
from polyseme.text.any_language import HAN
from polyseme.text.readers import Document
from polyseme.text.tokenization import Sentence

#: Characters of documents tagged together: enough to keep the engine busy, few enough for a pipe to flow.
WINDOW_CHARACTERS = 20_000
_HANGUL, _HAN = re.compile("[\uac00-\ud7a3]"), re.compile(f"[{HAN}]")


def tag_documents(tasks: Sequence[Task], documents: Iterable[Document]) -> Iterator[dict[str, Any]]:
    """One record for each document, in order, with every task's predictions for each of its sentences."""
    for window in windows(documents, _size, WINDOW_CHARACTERS):
        answers = [list(_answers(task, window)) for task in tasks]
        for document, records in zip(window, zip(*answers, strict=True), strict=True):
            yield {"id": document.id, **_merged(records)}


def language_of(text: str) -> str:
    """ "ko" if there is Hangul, "zh" if there is Han without Hangul, else "en"."""
    if _HANGUL.search(text):
        return "ko"
    return "zh" if _HAN.search(text) else "en"


def _size(document: Document) -> int:
    return len(document.text or "") + sum(map(len, document.sentences or ()))


def _answers(task: Task, documents: Sequence[Document]) -> Iterator[dict[str, Any]]:
    """A record for each document; sentences already split into tokens stay as they are."""
    texts = iter(list(task.records((d.id, {}, d.text) for d in documents if d.sentences is None)))
    for document in documents:
        if document.sentences is None:
            yield next(texts)
            continue
        text, sentences = _joined(document.sentences)
        records = list(task.records((document.id, {}, tokens) for tokens in document.sentences))
        yield text_record(text, sentences, records)


def _joined(sentences: Sequence[Sequence[str]]) -> tuple[str, list[Sentence]]:
    """Tokens joined by blanks, and their offsets in the result."""
    text, found = "", list[Sentence]()
    for tokens in sentences:
        offsets = []
        for token in tokens:
            text += " " if text else ""
            offsets.append((len(text), len(text) + len(token)))
            text += token
        found.append(Sentence(list(tokens), offsets))
    return text, found


def _merged(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """All records merged into one; tokens are those of a task that labels every token, such as parts of speech.

    In Korean, names are found among morphemes, while parts of speech are those of whole words: a name is then assigned
    to the words that it touches, and its characters give its exact place.
    """
    first = next((one for one in records if any("tags" in sentence for sentence in one["sentences"])), records[0])
    sentences = [dict(sentence) for sentence in first["sentences"]]
    for other in records:
        if len(other["sentences"]) != len(sentences):
            raise ConfigError("these task models split the text differently; use those of one language")
        for sentence, more in zip(sentences, other["sentences"], strict=True):
            found = {name: value for name, value in more.items() if name not in ("tokens", "offsets")}
            sentence |= found if more["tokens"] == sentence["tokens"] else _moved(found, sentence["offsets"])
    return {"text": first["text"], "sentences": sentences}


def _moved(found: dict[str, Any], offsets: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Entities over other tokens, moved to the tokens that they touch."""
    if found.keys() != {"entities"}:
        raise ConfigError("these task models split the text differently; use those of one language")
    moved = []
    for entity in found["entities"]:
        touched = [n for n, (a, b) in enumerate(offsets) if a < entity["end_char"] and entity["start_char"] < b]
        moved.append(entity | {"start": touched[0], "end": touched[-1] + 1})
    return {"entities": moved}
