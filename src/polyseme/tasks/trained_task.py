"""``Task``: a trained model, ready to predict.

tagger = Task.load("run")                              # or a bundled one: Task.load("en/ner")
tagger.predict("Ada Lovelace was born in London.")    # one record, with its sentences
tagger.evaluate("test.iob2.xz").values["f1"]

The predictions for a text are one record: its sentences, each with its tokens, their offsets and the answers.

    {"text": "Ada left. Bob slept.",
     "sentences": [{"tokens": ["Ada", "left", "."], "offsets": [[0, 3], [4, 8], [8, 9]],
                    "entities": [{"label": "PER", "start": 0, "end": 1, "start_char": 0, "end_char": 3, …}]},
                   …]}

``start`` and ``end`` count tokens of the sentence, ``start_char`` and ``end_char`` characters of the text.
"""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from polyseme.elmo import Elmo
from polyseme.errors import FormatError, InputError, PolysemeError
from polyseme.jobs.manifests import refuse_other
from polyseme.jobs.progress import windows
from polyseme.sentence_reader import choose_device
from polyseme.tasks.bundled_tasks import find_run
from polyseme.tasks.data_files import FileReading
from polyseme.tasks.definition import Definition, Vocabularies, find_task
from polyseme.tasks.inputs import Features, InputChoices, TokenInputs
from polyseme.tasks.layer_cache import LayerCache
from polyseme.tasks.run_description import KnownModel, RunDescription, load_network
from polyseme.tasks.scores import Scores
from polyseme.tasks.training import Workplace, predict
from polyseme.tasks.vectors.learned import LearnedWords, Spelling
from polyseme.tasks.vectors.static import StaticVectors
from polyseme.text.tokenization import Language, Sentence, language_name, split_text

VOCABULARIES, NETWORK = "vocabularies.json", "model.safetensors"
#: Examples and tokens read together: enough to keep the engine busy, and a bound on memory for any input.
WINDOW, WINDOW_TOKENS = 2048, 40_000

Item = str | Sequence[str] | dict[str, Any]


@dataclass
class _Waiting:
    """An item with answers still to come."""

    about: dict[str, Any]
    text: str | None
    sentences: list[Sentence]
    expected: int
    records: list[dict[str, Any]] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        return len(self.records) == self.expected

    def finished(self) -> list[dict[str, Any]]:
        if self.text is None:
            return [self.about | record for record in self.records]
        return [self.about | text_record(self.text, self.sentences, self.records)]


class Task:
    """A trained task, with everything that it needs to predict. ``about`` is the content of run.json."""

    def __init__(
        self, place: Workplace, about: RunDescription, elmo: Elmo | None, lang: Language | None = None
    ) -> None:
        self.place, self.about, self.elmo = place, about, elmo
        self._language: Language = lang or about.lang
        self._static = place.features.static  # of the words seen in training
        self._source_is_at_hand = True

    @classmethod
    def load(
        cls,
        run: str | Path,
        *,
        model: str | None = None,
        options: str | None = None,
        device: str = "cpu",
        lang: Language | None = None,
        elmo: Elmo | None = None,
    ) -> Task:
        """Load a run folder, or a bundled task model by its name ("en/ner").

        ``model`` and ``options`` say where the biLM is, if it has moved. ``lang`` says how text is split, if not as in
        training; it is needed if that was a function. ``elmo`` is the biLM, if the program has already loaded it; any
        other model than the run's is ignored.
        """
        folder = find_run(run)
        about = RunDescription.read(folder)
        definition, choices = find_task(about.task), about.inputs
        words = json.loads((folder / VOCABULARIES).read_text(encoding="utf-8"))
        vocabularies: Vocabularies = words["vocabularies"]
        spelling = Spelling(tuple(words["alphabet"]))
        moved = choices
        if model is not None or options is not None:
            moved = replace(choices, model=model or choices.model, options=options or "")
        elmo = elmo if _is_known(elmo, about.model) else open_known_elmo(moved, about.model, device)
        learned = LearnedWords(tuple(words.get("words", ())))  # older runs have none
        features = Features(choices, StaticVectors.saved(folder), spelling, without_disk(elmo), learned)
        network = definition.network(about.network, vocabularies, TokenInputs.of(features))
        load_network(network, folder / NETWORK)
        where = torch.device(choose_device(device))
        place = Workplace(definition, network.to(where).eval(), vocabularies, features, where)
        return cls(place, about, elmo, lang)

    @property
    def definition(self) -> Definition[Any, Any]:
        return self.place.definition

    def predict(self, items: str | dict[str, Any] | Iterable[Item]) -> list[dict[str, Any]]:
        """A text or JSON object, or many of them → their records, in order; docs/tasks.md describes a record.

        Each of many items is a text, a list of tokens, or an object with the fields listed in docs/tasks.md.
        """
        if not isinstance(items, Iterable):
            raise InputError(f"expected a text, an object or a list of them, not {items!r:.60}")
        if isinstance(items, str | dict):
            return list(self.records([("", {}, items)]))
        return list(self.records((f"item {number}", {}, item) for number, item in enumerate(items, start=1)))

    def stream(self, items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        """(example, prediction) one by one, in constant memory; an error names its item by number, from 1."""
        numbered = enumerate(items, start=1)
        return self.answer(example for number, item in numbered for example in self.examples(item, f"item {number}"))

    def records(self, items: Iterable[tuple[str, dict[str, Any], Any]]) -> Iterator[dict[str, Any]]:
        """(place for errors, first fields of the record, item) → records in order, in constant memory.

        If a task answers sentence by sentence, a text gives one record with its sentences; other items give a record
        for each of their examples.
        """
        waiting = deque[_Waiting]()

        def examples() -> Iterator[Any]:
            for place, about, item in items:
                named = {"id": item["id"]} if isinstance(item, dict) and "id" in item else {}
                text = self._text(item)
                sentences = [] if text is None else self.split(text)
                parts = [item] if text is None else [sentence.tokens for sentence in sentences]
                found = [example for part in parts for example in self.examples(part, place)]
                waiting.append(_Waiting(about | named, text, sentences, len(found)))
                yield from found

        for example, answer in self.answer(examples()):
            while waiting[0].is_complete:
                yield from waiting.popleft().finished()
            waiting[0].records.append(self.definition.record(example, answer))
        for rest in waiting:
            yield from rest.finished()

    def _text(self, item: Any) -> str | None:
        """The text of an item, if each of its sentences is an example."""
        text = item.get("text") if isinstance(item, dict) and "tokens" not in item else item
        return text if isinstance(text, str) and self.definition.by_sentence else None

    def examples(self, item: Any, place: str = "") -> list[Any]:
        """The examples in a text, a list of tokens or an object; an error begins with ``place``."""
        try:
            return self.definition.examples(item, self.reading())
        except InputError as error:
            raise InputError(f"{place}: {error}" if place else str(error)) from None

    def answer(self, examples: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        """(example, prediction) for examples of the task."""
        for window in windows(examples, self.definition.size, WINDOW_TOKENS, most=WINDOW):
            sentences = [tokens for example in window for tokens in self.definition.sentences(example)]
            self._learn_words({word for tokens in sentences for word in tokens})
            with self._reading(sentences):
                answers = predict(self.place, window)
            yield from zip(window, answers, strict=True)

    def _reading(self, sentences: Sequence[Sequence[str]]) -> AbstractContextManager[None]:
        cache = self.place.features.cache
        return nullcontext() if cache is None or self.place.features.choices.finetune else cache.held(sentences)

    def evaluate(self, path: str | Path, *, lenient: bool = False, skip_bad_lines: bool = False) -> Scores:
        """The scores on a file in the task's format; ``FileReading`` explains ``lenient`` and ``skip_bad_lines``."""
        examples, answers = self.answered(path, self.reading(lenient=lenient, skip_bad_lines=skip_bad_lines))
        return self.definition.score(answers, examples)

    def answered(self, path: str | Path, reading: FileReading | None = None) -> tuple[list[Any], list[Any]]:
        """The examples of a file, and the prediction for each."""
        examples = self.definition.read(Path(path), reading or self.reading())
        if not examples:
            raise InputError(f"{path} holds nothing to score")
        self.definition.check_gold(examples, str(path))
        return examples, [answer for _, answer in self.answer(examples)]

    def reading(self, *, lenient: bool = False, skip_bad_lines: bool = False) -> FileReading:
        """How a file is read; what is forgiven is reported on standard error."""
        said = partial(print, file=sys.stderr)
        return FileReading(self.split, language_name(self._language), lenient, skip_bad_lines, said)

    def split(self, text: str) -> list[Sentence]:
        return split_text(text, self._language)

    def _learn_words(self, words: set[str]) -> None:
        """Get static vectors for words not seen in training, if their source is available.

        Those of earlier new words are dropped: a stream of text may go on for ever, but memory is finite.
        """
        features = self.place.features
        static = self._static
        if self._source_is_at_hand:
            try:
                static = self._static.with_words(words)
            except PolysemeError as error:  # the file was moved, or the package is not installed here
                self._source_is_at_hand = False
                print(f"words that did not occur in training have no static vectors: {error}", file=sys.stderr)
        if static is not features.static:
            known = Features(features.choices, static, features.spelling, features.cache, features.words)
            self.place = replace(self.place, features=known)


def without_disk(elmo: Elmo | None) -> LayerCache | None:
    """A cache that stays empty: new text is read only once, so its layers are not kept."""
    return None if elmo is None else LayerCache(elmo)


def _is_known(elmo: Elmo | None, known: KnownModel | None) -> bool:
    """Whether a biLM is the one of a run, and starts its sentences in the same state."""
    if elmo is None or known is None:
        return False
    return (elmo.fingerprint, elmo.state) == (known.fingerprint, known.state)


def open_known_elmo(choices: InputChoices, known: KnownModel | None, device: str) -> Elmo | None:
    """The biLM that a run was trained with; the vectors of any other would mean nothing to its network."""
    if choices.elmo == "none" or known is None:
        return None
    try:
        elmo = Elmo.from_pretrained(choices.model, options=choices.options or None, device=device, state=known.state)
    except FormatError as error:
        raise FormatError(f"the biLM of this run was not found ({error}); give its path with --model") from None
    what = f"{choices.model} is another model than the one this run was trained with ({known.name})"
    now = {"fingerprint": elmo.fingerprint}
    refuse_other({"fingerprint": known.fingerprint}, now, what=what, remedy="say where that one is with --model")
    return elmo


def text_record(text: str, sentences: Sequence[Sentence], records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The records of a text's sentences → one record."""
    placed = [
        {"tokens": list(sentence.tokens), "offsets": [list(span) for span in sentence.offsets]}
        | _placed(record, text, sentence)
        for sentence, record in zip(sentences, records, strict=True)
    ]
    return {"text": text, "sentences": placed}


def _placed(value: Any, text: str, sentence: Sentence) -> Any:
    """The same value, with characters added to tokens wherever something has a start and an end."""
    if isinstance(value, list):
        return [_placed(one, text, sentence) for one in value]
    if not isinstance(value, dict):
        return value
    found = {name: _placed(one, text, sentence) for name, one in value.items()}
    if isinstance(start := value.get("start"), int) and isinstance(end := value.get("end"), int) and start < end:
        first, last = sentence.offsets[start][0], sentence.offsets[end - 1][1]
        found |= {"text": text[first:last], "start_char": first, "end_char": last}
    return found
