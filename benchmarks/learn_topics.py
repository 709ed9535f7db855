"""Learn what sentences are about, for the bundled models: documents of their corpora → models/topics.safetensors.

    python benchmarks/learn_topics.py            all of them, after a model in the box was replaced
    python benchmarks/learn_topics.py ko         one of them; the others stay

No labels are read, and none of the texts that models are measured on.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from polyseme.elmo import Elmo
from polyseme.formats.detect import bundled_models
from polyseme.lm.topics import MAPS, bag, learn_map, weighted_rows
from polyseme.text.readers import read_documents
from polyseme.text.tokenization import split_text
from shared_data import DATA

#: Encyclopaedias: an article is a document, and about one thing.
TEXTS = {"en": ("enwiki-core-1",), "ko": ("kowiki-1",), "zh": ("zhwiki-Hans", "zhwiki-Hant")}
DOCUMENTS = 1200  #: in all
CHARACTERS = {"en": 6000, "ko": 3000, "zh": 2000}  #: of each that are read
LENGTHS = range(6, 51)  #: tokens of a sentence


def sentences(lang: str, tokenization: str, data: Path) -> Iterator[tuple[int, list[str]]]:
    """The document and the tokens of each."""
    for file, name in enumerate(TEXTS[lang]):
        documents = read_documents([data / "corpora" / lang / f"{name}.txt.xz"], unit="document")
        for number, document in enumerate(islice(documents, DOCUMENTS // len(TEXTS[lang]))):
            for sentence in split_text((document.text or "")[: CHARACTERS[lang]], tokenization):
                if len(sentence.tokens) in LENGTHS:
                    yield file * DOCUMENTS + number, sentence.tokens


def learn(name: str, data: Path) -> tuple[str, np.ndarray]:
    """The fingerprint of a model, and its map."""
    elmo = Elmo.from_pretrained(name, device="cpu")
    rows = weighted_rows(elmo.lexicon)
    found = list(sentences(name, elmo.lang, data))
    bags = np.stack([bag(elmo.lexicon, rows, tokens) for _, tokens in found])
    print(f"{name}: {len(found):,} sentences of {len({document for document, _ in found}):,} documents", flush=True)
    return elmo.stored.fingerprint(), learn_map(bags, [document for document, _ in found]).astype(np.float16)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(bundled_models()))
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    known = {Elmo.from_pretrained(name, device="cpu").stored.fingerprint() for name in bundled_models()}
    for name in options.models:
        began = time.process_time()
        fingerprint, found = learn(name, options.data)
        earlier = load_file(MAPS) if MAPS.exists() else {}
        save_file({key: earlier[key] for key in earlier if key in known} | {fingerprint: found}, MAPS)
        print(f"{name}: {time.process_time() - began:.1f} s of CPU", flush=True)


if __name__ == "__main__":
    main()
