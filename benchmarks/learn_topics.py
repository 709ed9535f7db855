"""Learn the topics of sentences for the bundled models: documents of their corpora → models/topics.safetensors.

    python benchmarks/learn_topics.py            all of them, after a bundled model was replaced
    python benchmarks/learn_topics.py ko         one of them; the others stay unchanged

The map is learned without labels, and not from texts that models are measured on. The weight of the topic in "sense" is
then chosen for each model on the choosing half of its senses.tsv, by the share of right triplets plus the adjusted Rand
index of the groups: a Korean particle hides more of a place than an English preposition does, so Korean needs the topic
more.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from agreement import adjusted_rand, contingency
from polyseme.elmo import Elmo
from polyseme.formats.releases.known import bundled_models
from polyseme.lm.places import find_place
from polyseme.lm.topics import MAPS, Topics, bag, learn_map, weight_name, weighted_rows
from polyseme.senses.clusters import find_groups
from polyseme.senses.labelled import read_senses, split_halves, triplet_accuracy
from polyseme.senses.uses import Uses, read_uses
from polyseme.text.readers import read_documents
from polyseme.text.tokenization import split_text
from shared_data import DATA

#: Encyclopaedias: each article is a document on one topic.
TEXTS = {"en": ("enwiki-core-1",), "ko": ("kowiki-1",), "zh": ("zhwiki-Hans", "zhwiki-Hant")}
DOCUMENTS = 1200  #: documents in all
CHARACTERS = {"en": 6000, "ko": 3000, "zh": 2000}  #: characters read of each
LENGTHS = range(6, 51)  #: numbers of tokens in a sentence
WEIGHTS = (0.1, 0.2, 0.3, 0.45, 0.7, 1.0)  #: weights of the topic in "sense" to try


def sentences(lang: str, tokenization: str, data: Path) -> Iterator[tuple[int, list[str]]]:
    """The document and the tokens of each sentence."""
    for file, name in enumerate(TEXTS[lang]):
        documents = read_documents([data / "corpora" / lang / f"{name}.txt.xz"], unit="document")
        for number, document in enumerate(islice(documents, DOCUMENTS // len(TEXTS[lang]))):
            for sentence in split_text((document.text or "")[: CHARACTERS[lang]], tokenization):
                if len(sentence.tokens) in LENGTHS:
                    yield file * DOCUMENTS + number, sentence.tokens


def learn(name: str, data: Path) -> dict[str, np.ndarray]:
    """The map of a model and the weight of its topics, under the names in the file."""
    elmo = Elmo.from_pretrained(name, device="cpu")
    rows = weighted_rows(elmo.lexicon)
    found = list(sentences(name, elmo.lang, data))
    bags = np.stack([bag(elmo.lexicon, rows, tokens) for _, tokens in found])
    print(f"{name}: {len(found):,} sentences of {len({document for document, _ in found}):,} documents", flush=True)
    learned = learn_map(bags, [document for document, _ in found]).astype(np.float16)
    fingerprint = elmo.stored.fingerprint()
    weight = choose_weight(elmo, Topics(elmo.lexicon, rows @ learned.astype(np.float32), 0.0))
    return {fingerprint: learned, weight_name(fingerprint): np.array(weight)}


def choose_weight(elmo: Elmo, topics: Topics) -> float:
    """The best of WEIGHTS on the choosing half; of equals, the smallest."""
    words, _ = split_halves(read_senses(lang=elmo.lang.partition("-")[0]))
    elmo.lexicon.topics = topics
    places = [[find_place(elmo, sentence) for sentence in word.sentences] for word in words]
    read = [read_uses(elmo, some, elmo.lexicon) for some in places]

    def score(weight: float) -> float:
        weighted = (replace(uses, topic_weight=weight) for uses in read)
        return statistics.fmean(_judged(uses, word.senses) for uses, word in zip(weighted, words, strict=True))

    scores = {weight: score(weight) for weight in WEIGHTS}
    print({weight: round(found, 4) for weight, found in scores.items()}, flush=True)
    return max(scores, key=lambda weight: (scores[weight], -weight))


def _judged(uses: Uses, senses: Sequence[str]) -> float:
    """The share of right triplets of a word, and how well its groups agree with its senses."""
    similarity = uses.similarities(uses, "sense")
    groups = find_groups(similarity).tolist()
    return triplet_accuracy(similarity, senses) + adjusted_rand(contingency(senses, groups))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(bundled_models()))
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    fingerprints = [Elmo.from_pretrained(name, device="cpu").stored.fingerprint() for name in bundled_models()]
    kept = {*fingerprints, *map(weight_name, fingerprints)}
    for name in options.models:
        began = time.process_time()
        found = learn(name, options.data)
        earlier = load_file(MAPS) if MAPS.exists() else {}
        save_file({key: value for key, value in earlier.items() if key in kept} | found, MAPS)
        print(f"{name}: {time.process_time() - began:.1f} s of CPU", flush=True)


if __name__ == "__main__":
    main()
