"""The cost of readouts relative to encoding, in CPU time, so that other work on the machine does not matter."""

from __future__ import annotations

import time
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from polyseme.elmo import Elmo
from polyseme.lm.places import Place
from polyseme.senses.sense import lexicon_or_none
from polyseme.senses.shipped import shipped_text
from polyseme.senses.uses import read_uses

ROUNDS, PLACES = 5, 2048


def measure_speed(elmo: Elmo, data: Path) -> dict[str, Any] | str:
    """The cost of the place relative to encoding, and substitutes per second; medians of alternating rounds."""
    del data
    path = shipped_text(elmo.lang)
    if path is None:
        return f"left out: no text of the language {elmo.lang!r} comes with polyseme"
    lines = list(islice(path.open(encoding="utf-8"), 600))
    elmo.encode(lines)  # tokens are looked up once
    encoding, placing = [], []
    for _ in range(ROUNDS):
        began = time.process_time()
        found = elmo.encode(lines)
        encoded = time.process_time()
        tokens = sum(len(one.place) for one in found)
        encoding.append(encoded - began)
        placing.append(time.process_time() - encoded)
    figures = {"tokens": tokens, "place": round(float(np.median(placing) / np.median(encoding)), 4)}
    lexicon = lexicon_or_none(elmo)
    if lexicon is None:
        return figures
    places = [Place(one.tokens, n, n + 1) for one in found for n in range(len(one))][:PLACES]
    states = read_uses(elmo, places).place
    lexicon.substitute_vectors(states[:64])
    spent = []
    for _ in range(3):
        began = time.process_time()
        lexicon.substitute_vectors(states)
        spent.append(time.process_time() - began)
    a_second = len(states) / float(np.median(spent))
    return {**figures, "words of the softmax": len(lexicon.words), "substitutes a CPU second": round(a_second)}
