"""run.json: all that a task's run is, so that nothing else has to be remembered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from polyseme import __version__
from polyseme.errors import FormatError, InputError
from polyseme.jobs.manifests import InputFile, Piece, check_piece, read_manifest
from polyseme.sentence_reader import State
from polyseme.settings import settings_from
from polyseme.tasks.definition import TrainingChoices
from polyseme.tasks.inputs import InputChoices
from polyseme.tasks.registry import find_task

RUN = "run.json"
VERSION = 1


@dataclass(frozen=True, slots=True)
class KnownModel:
    """The biLM of a run: where it was, and what it is."""

    name: str
    fingerprint: str
    state: State = "reset"  #: where its sentences start


@dataclass(frozen=True, slots=True)
class RunDescription:
    """What the run was begun with; ``pieces`` are the files that were written with it."""

    task: str
    budget: str
    seed: int
    lang: str
    inputs: InputChoices
    vectors: str | None  #: the content of a file of word vectors; None for the package's, which ``inputs`` names
    network: Any  #: the task's sizes
    training: TrainingChoices
    data: Mapping[str, InputFile]  #: by split
    model: KnownModel | None
    dev_examples: int | None = None
    lenient: bool = False
    skip_bad_lines: bool = False
    pieces: Mapping[str, Piece] = field(default_factory=dict)
    polyseme: str = __version__  #: that began it, for people
    version: int = VERSION

    @classmethod
    def read(cls, folder: Path) -> RunDescription:
        """FormatError where there is none, or what lies beside it is not what it says."""
        if not (folder / RUN).is_file():
            raise FormatError(f"{folder} is not a run of polyseme task train: it has no {RUN}")
        try:
            found = read_manifest(folder / RUN, cls, VERSION)
            for name, piece in found.pieces.items():
                check_piece(folder / name, piece)
            sizes = type(find_task(found.task).presets["paper"].network)
            return replace(found, network=settings_from(sizes, found.network, RUN))
        except InputError as problem:
            raise FormatError(
                f"{folder} is not a complete run of polyseme task train: {problem}; train it again"
            ) from None
