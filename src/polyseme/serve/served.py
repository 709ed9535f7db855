"""The models that a server has, by name, each with an index of occurrences to show its words among.

Where no index is given, the small public-domain text that ships with the package is indexed in the background, so
that the page opens at once.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from polyseme.elmo import Elmo
from polyseme.errors import ConfigError, MissingExtra
from polyseme.formats.releases.known import bundled_models
from polyseme.index.vector_index import Index
from polyseme.lm.lexicon import Lexicon
from polyseme.senses.sense_map import SenseMap, map_occurrences
from polyseme.senses.shipped import shipped_text
from polyseme.sentence_reader import State
from polyseme.serve.limits import Refusal
from polyseme.text.tokenization import language_code

if TYPE_CHECKING:
    from polyseme.tasks.trained_task import Task

IndexState = Literal["none", "building", "ready", "failed"]

#: Sense maps that are kept for the next question; each holds a few hundred vectors of every layer.
KEPT_MAPS = 32
#: Tasks that say something of every sentence.
TAGGED = ("ner", "pos", "srl")


@dataclass(eq=False)
class ServedModel:
    """A model, the name it is asked by, and its index."""

    name: str
    elmo: Elmo
    source: str  #: what ``Elmo.from_pretrained`` takes
    index: Index | None = None
    index_source: str | None = None  #: the folder of the index; None for the small one in memory
    index_state: IndexState = "none"
    runs: dict[str, str] = field(default_factory=dict)  #: task models by the task's name, as ``Task.load`` takes them
    _tasks: dict[str, Task] = field(default_factory=dict)  #: those that were asked for; the worker's thread loads them
    _maps: dict[str, SenseMap | None] = field(default_factory=dict)  #: by word; only the worker's thread touches it

    @property
    def lexicon(self) -> Lexicon:
        return self.elmo.lexicon

    def sense_map(self, word: str) -> SenseMap | None:
        """Of a word, None where the index does not have it; the maps made last are kept."""
        if word not in self._maps:
            occurrences = self.needed_index().occurrences(word)
            found = map_occurrences(self.elmo, word, occurrences) if occurrences else None
            while len(self._maps) >= KEPT_MAPS:
                self._maps.pop(next(iter(self._maps)))
            self._maps[word] = found
        return self._maps[word]

    def has_uses(self, word: str | None) -> bool:
        """Whether the index has a word, and its uses can be compared."""
        return word is not None and self.elmo.state != "carry" and self.index is not None and self.index.count(word) > 0

    def task(self, name: str) -> Task:
        """A task model, loaded when it is first asked for; it reads with this model, where it was trained with it."""
        if name not in self._tasks:
            from polyseme.tasks.trained_task import Task

            self._tasks[name] = Task.load(self.runs[name], elmo=self.elmo)
        return self._tasks[name]

    @property
    def layers(self) -> int:
        """How many, the token layer included."""
        return self.elmo.config.layers + 1

    def needed_index(self) -> Index:
        if self.index is not None:
            return self.index
        if self.index_state == "building":
            raise Refusal(503, "the index is still being built; try again in a moment", {"Retry-After": "2"})
        raise Refusal(
            422, f"there is no index for the model {self.name!r}; start the server with one: polyseme serve --index DIR"
        )

    def describe(self) -> dict[str, object]:
        """For /models."""
        stored = self.elmo.stored
        return {
            "name": self.name,
            "source": self.source,
            "lang": language_code(self.elmo.lang),
            "state": self.elmo.state,
            "layers": self.layers,
            "width": self.elmo.config.width,
            "bidirectional": self.elmo.config.bidirectional,
            "tasks": list(self.runs),
            "words": len(stored.vocabulary) if stored.softmax is not None and stored.vocabulary else 0,
            "index": {
                "state": self.index_state,
                "source": self.index_source,
                "tokens": len(self.index) if self.index else 0,
                "sentences": self.index.sentences if self.index else 0,
            },
        }


class Models:
    """What the server can be asked."""

    def __init__(self, served: Sequence[ServedModel]) -> None:
        self._by_name = {model.name: model for model in served}
        self.default = served[0]
        self._closing = threading.Event()
        self._builder: threading.Thread | None = None

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(self._by_name.values())

    def find(self, name: str) -> ServedModel:
        if name not in self._by_name:
            raise Refusal(422, f"there is no model {name[:40]!r} here; there are: {', '.join(self._by_name)}")
        return self._by_name[name]

    def build_indexes(self) -> None:
        """Index the shipped texts for models without an index, in a thread of its own."""
        waiting = [model for model in self if model.index is None and shipped_text(model.elmo.lang) is not None]
        for model in waiting:
            model.index_state = "building"
        self._builder = threading.Thread(target=self._build, args=[waiting], name="polyseme-index", daemon=True)
        self._builder.start()

    def index_now(self) -> None:
        """The same, for whoever cannot do anything before."""
        self._build([model for model in self if model.index is None and shipped_text(model.elmo.lang) is not None])

    def close(self) -> None:
        """Stop building: a thread that computes while the process ends would make it crash."""
        self._closing.set()
        if self._builder is not None:
            self._builder.join()

    def _build(self, waiting: list[ServedModel]) -> None:
        with suppress(_Closing):
            for model in waiting:
                try:
                    model.index = Index.in_memory(model.elmo, self._lines(model.elmo.lang))
                    model.index_state = "ready"
                except _Closing:
                    raise
                except Exception:  # too little memory, say: whoever asks should not be told to wait for ever
                    logging.getLogger(__name__).exception("the index of the model %s could not be built", model.name)
                    model.index_state = "failed"

    def _lines(self, lang: str) -> Iterator[str]:
        text = shipped_text(lang)
        for line in text.read_text(encoding="utf-8").splitlines() if text else []:
            if self._closing.is_set():
                raise _Closing
            yield line


class _Closing(Exception):
    """The server ends before an index is complete."""


def load_models(
    names: Sequence[str],
    folders: Sequence[str | Path],
    *,
    options: str | None = None,
    state: State | None = None,
    device: str = "auto",
    threads: int | None = None,
    tasks: Sequence[str | Path] = (),
) -> Models:
    """Models by what ``Elmo.from_pretrained`` takes (the bundled ones where none is named), and folders of indexes.

    ``options``: of one model's HDF5 weights, where they are not beside them. ``tasks``: run folders of task models,
    each given to the model that it was trained with; those of the box are there for their languages.
    """
    if options is not None and len(set(names)) != 1:
        raise ConfigError("--options belongs to one model; name its weights with --model, and no other model")
    sources = list(dict.fromkeys(names)) or list(bundled_models())
    if not sources:
        raise ConfigError("no model is bundled with this polyseme; name one: polyseme serve --model MODEL")
    served: list[ServedModel] = []
    for source in sources:
        name = _short_name(source, [model.name for model in served])
        elmo = Elmo.from_pretrained(source, options=options, state=state, device=device, threads=threads)
        served.append(ServedModel(name, elmo, source, runs=_boxed(elmo)))
    for folder in folders:
        _give_index(served, folder)
    for run in tasks:
        _give_task(served, run)
    return Models(served)


def _short_name(source: str, taken: Sequence[str]) -> str:
    """The last part of a path, with a number where two models would have the same name."""
    name = Path(source).name or source
    number = 2
    found = name
    while found in taken:
        found, number = f"{name}-{number}", number + 1
    return found


def _boxed(elmo: Elmo) -> dict[str, str]:
    """The task models of the box that tag sentences of this model's language; none without the extra of the tasks."""
    try:
        from polyseme.tasks.bundled_tasks import bundled_tasks
    except MissingExtra:
        return {}
    lang = language_code(elmo.lang)
    names = (name.partition("/") for name in bundled_tasks())
    return {task: f"{lang}/{task}" for code, _, task in names if code == lang and task in TAGGED}


def _give_task(served: Sequence[ServedModel], run: str | Path) -> None:
    """To the model that it was trained with; one without a biLM to the first model of its language."""
    from polyseme.tasks.run_description import RunDescription

    about = RunDescription.read(Path(run))
    for model in served:
        if about.model is None:
            fits = language_code(model.elmo.lang) == language_code(about.lang)
        else:
            fits = model.elmo.fingerprint == about.model.fingerprint
        if fits:
            model.runs[about.task] = str(run)
            model.task(about.task)  # what is wrong with it is said before anybody asks
            return
    raise ConfigError(f"{run} was trained with none of the models that are served; name its biLM too: --model MODEL")


def _give_index(served: Sequence[ServedModel], folder: str | Path) -> None:
    """To the model that made it, which its fingerprint tells."""
    problem: ConfigError | None = None
    for model in served:
        try:
            model.index = Index.open(folder, model.elmo)
        except ConfigError as error:
            problem = problem or error
            continue
        model.index_state, model.index_source = "ready", str(folder)
        return
    assert problem is not None
    raise problem
