"""A scikit-learn pipeline on ELMo's vectors compared with one on TF-IDF, with few and with many labelled sentences.

    python benchmarks/sklearn_pipeline.py [persons sentiment]

Two questions about a sentence: is it for or against a film (Stanford Sentiment Treebank without neutral sentences), and
does it name a person (Universal NER on the English Web Treebank, half of the sentences do)? Films were tried first, and
ELMo lost there with many labels; persons were added afterwards, because a gain was expected.

Each pipeline is a vectoriser and a logistic regression. Its settings are chosen on the dev set, for each number of
labelled sentences; accuracy is measured on the test set, with newly drawn training sentences. The interval of a
difference comes from a bootstrap over draws and test sentences, the same for both pipelines.

Results: results/sklearn_pipeline.json, from which a table in docs/ecosystem.md is written. Needs the data sets and the
extras sklearn and tasks.
"""

from __future__ import annotations

import argparse
import json
import lzma
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from pages import fill_in, table
from shared_data import DATA

RESULTS = Path(__file__).parent / "results/sklearn_pipeline.json"
SIZES = (25, 100, 500, None)  # None: every training sentence
DRAWS = {"dev": range(5), "test": range(100, 110)}  # seeds for drawing training sentences; one draw if all are used
STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)  # C of the logistic regression
Sentences = tuple[list[str], np.ndarray[Any, Any]]  # texts, and whether the answer is yes
NAMES = {"tfidf": "TF-IDF", "elmo": "ELMo", "both": "both"}
#: What TF-IDF counts: words, words and pairs of words, or case-sensitive groups of up to four letters.
TERMS: dict[int | str, dict[str, Any]] = {
    1: {"token_pattern": r"\S+"},
    2: {"token_pattern": r"\S+", "ngram_range": (1, 2)},
    "letters": {"analyzer": "char_wb", "ngram_range": (1, 4), "lowercase": False},
}
ASKED = {"sentiment": "for or against the film?", "persons": "names a person?"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", nargs="*", help="all unless named")
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for question in parser.parse_args().questions or QUESTIONS:
        found[question] = measured(Features({part: QUESTIONS[question](part) for part in ("train", "dev", "test")}))
        RESULTS.write_text(json.dumps(found, indent=2) + "\n")
    write_page()


def measured(features: Features) -> dict[str, Any]:
    """For each number of labelled sentences: the settings chosen on dev, and their accuracy on test."""
    began, rows = time.process_time(), []
    for size in SIZES:
        chosen = {arm: max(choices(arm), key=lambda one: features.right(one, size, "dev").mean()) for arm in NAMES}
        right = {arm: features.right(one, size, "test") for arm, one in chosen.items()}  # [draws, test sentences]
        rows.append(
            {
                "labelled": size or len(features.labels["train"]),
                "chosen": chosen,
                "accuracy": {arm: float(one.mean()) for arm, one in right.items()},
                "gain": {arm: interval(right[arm] - right["tfidf"]) for arm in ("elmo", "both")},
            }
        )
        print(rows[-1], flush=True)
    counts = {name: len(labels) for name, labels in features.labels.items()}
    return {"sentences": counts, "rows": rows, "cpu_seconds": round(time.process_time() - began)}


def sentiment(part: str) -> Sentences:
    from polyseme.tasks.sst.data import read_sentiment

    read = [one for one in read_sentiment(DATA / "sst" / f"{part}.txt.xz") if one.label != "2"]  # 2 is neutral
    return [" ".join(one.tokens) for one in read], np.array([str(one.label) > "2" for one in read])


def persons(part: str) -> Sentences:
    (path,) = (DATA / "ner/uner-ewt").glob(f"*-{part}.*")
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        blocks = lines.read().split("# text = ")[1:]
    texts = np.array([block.partition("\n")[0] for block in blocks])
    named = np.array(["\tB-PER\t" in block for block in blocks])
    others = np.random.default_rng(0).permutation(np.flatnonzero(~named))[: named.sum()]
    chosen = np.sort(np.concatenate([np.flatnonzero(named), others]))
    return texts[chosen].tolist(), named[chosen]


QUESTIONS: dict[str, Callable[[str], Sentences]] = {"persons": persons, "sentiment": sentiment}


def choices(arm: str) -> list[dict[str, Any]]:
    """Eighteen settings for TF-IDF, which includes groups of letters, and twelve for each of the others."""
    options: dict[str, dict[str, tuple[Any, ...]]] = {
        "tfidf": {"words": (1, 2, "letters"), "C": STRENGTHS},
        "elmo": {"pool": ("mean", "max"), "C": tuple(one / 100 for one in STRENGTHS)},
        "both": {"words": (1,), "pool": ("mean",), "weight": (0.03, 0.1), "C": STRENGTHS},
    }
    return [dict(zip(options[arm], values, strict=True)) for values in product(*options[arm].values())]


class Features:
    """Texts as matrices, computed once for each setting, since vectorisers do not see labels."""

    def __init__(self, parts: dict[str, Sentences]) -> None:
        self.texts = {name: texts for name, (texts, _) in parts.items()}
        self.labels = {name: labels for name, (_, labels) in parts.items()}
        self._vectors: dict[tuple[str, str], np.ndarray[Any, Any]] = {}

    def right(self, choice: dict[str, Any], size: int | None, part: str) -> np.ndarray[Any, Any]:
        """[draws, sentences of the part]: which ones a pipeline trained on ``size`` sentences gets right."""
        from scipy.sparse import csr_matrix, hstack
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import StandardScaler

        found = []
        for seed in DRAWS[part] if size else [0]:
            rows = np.random.default_rng(seed).permutation(len(self.texts["train"]))[:size]
            learned, asked = [], []
            if "words" in choice:
                tfidf = TfidfVectorizer(sublinear_tf=True, **TERMS[choice["words"]])
                learned.append(tfidf.fit_transform([self.texts["train"][row] for row in rows]))
                asked.append(tfidf.transform(self.texts[part]))
            if "pool" in choice:
                scaler, weight = StandardScaler(), choice.get("weight", 1.0)
                learned.append(csr_matrix(scaler.fit_transform(self.vectors("train", choice["pool"])[rows]) * weight))
                asked.append(csr_matrix(scaler.transform(self.vectors(part, choice["pool"])) * weight))
            inputs, questions = (one[0] if len(one) == 1 else hstack(one).tocsr() for one in (learned, asked))
            if "words" not in choice:
                inputs, questions = inputs.toarray(), questions.toarray()
            model = LogisticRegression(C=choice["C"], max_iter=300).fit(inputs, self.labels["train"][rows])
            found.append(model.predict(questions) == self.labels[part])
        return np.array(found, dtype=float)

    def vectors(self, part: str, pool: Any) -> np.ndarray[Any, Any]:
        from polyseme.sklearn import ElmoVectorizer

        if (part, pool) not in self._vectors:
            self._vectors[part, pool] = ElmoVectorizer(pool=pool).fit_transform(self.texts[part])
        return self._vectors[part, pool]


def interval(gain: np.ndarray[Any, Any], times: int = 2000) -> list[float]:
    """[draws, sentences] → the mean, and its 95 % bootstrap interval over draws and sentences."""
    rng = np.random.default_rng(0)
    draws, count = gain.shape
    means = []
    for _ in range(times):
        rows, columns = rng.integers(draws, size=draws), rng.integers(count, size=count)
        means.append(gain[rows].mean(axis=0)[columns].mean())
    return [float(gain.mean()), *map(float, np.quantile(means, (0.025, 0.975)))]


def write_page() -> None:
    fill_in("ecosystem.md", "sklearn pipeline", pipeline_table(json.loads(RESULTS.read_text())))


def pipeline_table(found: dict[str, Any]) -> str:
    def gain(values: list[float]) -> str:
        mean, low, high = (100 * value for value in values)
        return f"{mean:+.1f} ({low:+.1f} to {high:+.1f})"

    rows = [
        [ASKED[question], f"{row['labelled']:,}"]
        + [f"{100 * row['accuracy'][arm]:.1f}" for arm in NAMES]
        + [gain(row["gain"][arm]) for arm in ("elmo", "both")]
        for question in found
        for row in found[question]["rows"]
    ]
    return table(["question", "labelled", *NAMES.values(), "ELMo − TF-IDF", "both − TF-IDF"], rows)


if __name__ == "__main__":
    main()
