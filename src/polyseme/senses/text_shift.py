"""How meanings changed from one text to another, for many words: `polyseme shift`.

    found = compare_texts(elmo, "1900.txt", "2000.txt", ["cell", "tree"])
    for word in found.words:                          the most changed first
        print(word.word, word.measures["APD"].excess, found.q[word.word])

With ``folder`` every step is written there: the words, what was drawn from each text, a file for each word. After an
interruption, the same call with ``resume`` goes on and ends with the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from polyseme.elmo import Elmo
from polyseme.errors import InputError, JobError
from polyseme.index.occurrences import Occurrence
from polyseme.jobs.atomic import refuse_existing
from polyseme.jobs.manifests import (
    InputFile,
    describe_input,
    read_manifest,
    read_values,
    refuse_other,
    write_json,
    write_manifest,
)
from polyseme.jobs.progress import Report, working
from polyseme.senses.collect import WordSample
from polyseme.senses.shift_measures import Measured, ShiftMeasure, false_discovery
from polyseme.senses.shift_samples import choose_words, count_words, draw_samples
from polyseme.senses.shifted_word import MOST_USES, ShiftedSense, WordShift, compare_samples

Json = dict[str, Any]

VERSION = 1
DESCRIPTION, RESULT = "description.json", "shift.json"
#: Words that are looked at where none are named.
MOST_WORDS = 200
#: What ranks words: see docs/senses.md.
RANKED_BY: ShiftMeasure = "APD"


@dataclass(frozen=True, slots=True)
class ShiftDescription:
    """What a comparison is made of: equal descriptions give equal results."""

    fingerprint: str
    state: str
    lang: str
    before: InputFile
    after: InputFile
    words: tuple[str, ...]  #: none: the vocabulary
    most_words: int
    most_uses: int
    seed: int
    kind: str | None = None
    field: str | None = None
    version: int = VERSION


@dataclass(frozen=True, slots=True)
class Shift:
    """Words in two texts, the most changed first."""

    words: tuple[WordShift, ...]
    q: Mapping[str, float]  #: of each word, by the measure that ranks: see `false_discovery`
    left_out: Mapping[str, str]  #: words that could not be compared, and why

    def told(self) -> dict[str, Any]:
        """As JSON."""
        words = [{**asdict(word), "q": self.q[word.word]} for word in self.words]
        return {"ranked_by": RANKED_BY, "words": words, "left_out": dict(self.left_out)}


def compare_texts(
    elmo: Elmo,
    before: str | Path,
    after: str | Path,
    words: Sequence[str] = (),
    *,
    folder: str | Path | None = None,
    most_words: int = MOST_WORDS,
    most_uses: int = MOST_USES,
    kind: str | None = None,
    field: str | None = None,
    seed: int = 0,
    resume: bool = False,
    overwrite: bool = False,
    progress: Report | None = None,
) -> Shift:
    """Compare the uses of words in two files (all that `polyseme index` takes) or indexes.

    Without ``words``, the ``most_words`` most frequent content words of both are compared. Words that one of the texts
    hardly has are left out, and the result says so.
    """
    description = ShiftDescription(
        fingerprint=elmo.fingerprint,
        state=elmo.state,
        lang=elmo.lang,
        before=describe_input(before),
        after=describe_input(after),
        words=tuple(dict.fromkeys(words)),
        most_words=most_words,
        most_uses=most_uses,
        seed=seed,
        kind=kind,
        field=field,
    )
    place = Path(folder) if folder is not None else None
    if place is not None:
        _begin(place, description, resume=resume, overwrite=overwrite)
    chosen = _remembered(place, "words.json", partial(_choose, elmo, description, before, after))["words"]
    samples = [
        _remembered(place, f"{which}.json", partial(_draw, elmo, chosen, source, description))
        for which, source in (("before", before), ("after", after))
    ]
    told = []
    with working("comparing", len(chosen), progress) as work:
        for number, word in enumerate(chosen, start=1):
            make = partial(_compare, elmo, word, samples[0][word], samples[1][word], seed)
            told.append(_remembered(place, f"word-{number:05}.json", make))
            work.advance(1, note=word)
    found = _ranked(told)
    if place is not None:
        write_json(place / RESULT, found.told())
    return found


def _begin(folder: Path, description: ShiftDescription, *, resume: bool, overwrite: bool) -> None:
    """Make sure that what is in the folder belongs to this comparison."""
    path = folder / DESCRIPTION
    if path.exists() and resume:
        try:
            earlier = read_manifest(path, ShiftDescription, VERSION)
        except InputError as problem:
            raise JobError(f"{folder} cannot be continued: {problem}; delete it") from None
        refuse_other(earlier, description, what=f"another comparison was begun in {folder}", remedy="delete it")
        return
    #: Nothing was kept: there was no word to compare, and the next call may name some.
    untouched = path.exists() and [one.name for one in folder.iterdir()] == [DESCRIPTION]
    if path.exists() and not untouched and not (folder / RESULT).exists() and not overwrite:
        raise JobError(f"the comparison {folder} was started; continue with --resume, or delete it to start over")
    if not (untouched or (overwrite and path.exists())):
        refuse_existing(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.json"):
        old.unlink()
    write_manifest(path, description)


def _remembered(folder: Path | None, name: str, make: Callable[[], Json]) -> Json:
    """What the folder has under this name; or what ``make`` gives, written there for the next time."""
    if folder is None:
        return make()
    try:
        return read_values(folder / name)
    except InputError:  # not there yet, or damaged: it is made again
        values = make()
        write_manifest(folder / name, values)
        return values


def _choose(elmo: Elmo, description: ShiftDescription, before: str | Path, after: str | Path) -> Json:
    if description.words:
        return {"words": list(description.words)}
    counts = [count_words(elmo, text, kind=description.kind, field=description.field) for text in (before, after)]
    for text, count in zip((before, after), counts, strict=True):
        if not count:
            raise InputError(f"{text} is empty: it has no word to compare")
    return {"words": choose_words(counts[0], counts[1], description.most_words)}


def _draw(elmo: Elmo, words: Sequence[str], source: str | Path, description: ShiftDescription) -> Json:
    asked = description
    found = draw_samples(elmo, words, source, asked.most_uses, kind=asked.kind, field=asked.field, seed=asked.seed)
    return {word: asdict(sample) for word, sample in found.items()}


def _sample(told: Json) -> WordSample:
    kept = [Occurrence(**{**one, "span": tuple(one["span"])}) for one in told["kept"]]
    return WordSample(told["most"], told["total"], kept, told["blocks"])


def _compare(elmo: Elmo, word: str, before: Json, after: Json, seed: int) -> Json:
    try:
        return {"word": word, "found": asdict(compare_samples(elmo, word, _sample(before), _sample(after), seed=seed))}
    except InputError as problem:
        return {"word": word, "left_out": str(problem)}


def _ranked(told: Sequence[Json]) -> Shift:
    words = [_word_shift(one["found"]) for one in told if "found" in one]
    qs = false_discovery([word.measures[RANKED_BY].p for word in words])
    return Shift(
        words=tuple(sorted(words, key=lambda word: -word.measures[RANKED_BY].excess)),
        q={word.word: q for word, q in zip(words, qs, strict=True)},
        left_out={one["word"]: one["left_out"] for one in told if "left_out" in one},
    )


def _word_shift(told: Json) -> WordShift:
    lists = ("names", "around", "sentences_before", "sentences_after")
    senses = [ShiftedSense(**{**sense, **{name: tuple(sense[name]) for name in lists}}) for sense in told["senses"]]
    return WordShift(
        word=told["word"],
        totals=tuple(told["totals"]),
        looked_at=tuple(told["looked_at"]),
        measures={name: Measured(**values) for name, values in told["measures"].items()},
        senses=tuple(senses),
    )
