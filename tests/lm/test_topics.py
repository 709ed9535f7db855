"""Topics: sentences of one document lie together, and the word itself plays no part."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from helpers.paths import ROOT
from helpers.small_lms import WORDS, small_elmo
from polyseme.elmo import Elmo
from polyseme.encoding import Floats, unit
from polyseme.formats.releases.known import bundled_models
from polyseme.lm.places import Place
from polyseme.lm.topics import TOPICS, Topics, learn_map, weight_name, weighted_rows

ELMO = small_elmo()
LEXICON = ELMO.lexicon


def nearer_share(vectors: Floats, documents: np.ndarray) -> float:
    """How often two of one document are nearer than two of others, over all pairs of pairs."""
    cosines = unit(vectors) @ unit(vectors).T
    same = documents[:, None] == documents
    pairs = np.triu(np.ones_like(same), 1)
    return float((cosines[same & pairs][:, None] > cosines[~same & pairs]).mean())


def test_a_map_finds_what_documents_differ_in() -> None:
    """Ten numbers differ by document, forty others vary as much and mean nothing."""
    random = np.random.default_rng(0)
    documents = np.repeat(np.arange(200), 6)
    about = random.normal(size=(200, 10))[documents] + 0.3 * random.normal(size=(1200, 10))
    bags = np.concatenate([about, random.normal(size=(1200, 40))], axis=1).astype(np.float32)
    train, held_out = documents < 180, documents >= 180
    found = learn_map(bags[train], documents[train].tolist())
    assert found.shape == (50, TOPICS) and found.dtype == np.float32
    plain, mapped = (nearer_share(one[held_out], documents[held_out]) for one in (bags, bags @ found))
    assert plain < 0.9 < 0.95 < mapped


def test_the_topic_is_the_sum_of_the_other_words_that_are_known() -> None:
    words = np.random.default_rng(1).normal(size=(len(WORDS), 3)).astype(np.float32)
    topics = Topics(LEXICON, words, 1.0)
    for target in ("present", "zebra"):
        found = topics.around(Place(["the", "cat", target, "unheard", "the"], 2, 3))
        the, cat = WORDS.index("the"), WORDS.index("cat")
        np.testing.assert_allclose(found, 2 * words[the] + words[cat], atol=1e-6)
    assert not topics.around(Place(["present"], 0, 1)).any()
    assert topics.around_all([]).shape == (0, 3)


def test_frequent_words_are_short() -> None:
    lengths = np.linalg.norm(weighted_rows(LEXICON), axis=1)
    assert lengths[WORDS.index("Here")] > lengths[WORDS.index("cat")] > lengths[WORDS.index("the")]


def test_a_map_belongs_to_one_model(tmp_path: Path) -> None:
    path = tmp_path / "maps.safetensors"
    stored = {ELMO.fingerprint: np.ones((5, 2), np.float16), weight_name(ELMO.fingerprint): np.array(0.5)}
    save_file(stored, path)
    found = Topics.of(LEXICON, ELMO.fingerprint, path)
    assert found is not None and found.words.shape == (len(WORDS), 2) and found.weight == 0.5
    assert Topics.of(LEXICON, small_elmo(1).fingerprint, path) is None
    assert LEXICON.topics is None


@pytest.mark.parametrize("name", bundled_models())
def test_every_bundled_model_has_topics(name: str) -> None:
    topics = Elmo.from_pretrained(name).lexicon.topics
    assert topics is not None, "run: python benchmarks/learn_topics.py " + name
    assert topics.words.shape[1] == TOPICS and np.isfinite(topics.words).all() and topics.weight > 0


def test_the_page_on_senses_states_the_weights_of_the_bundled_models() -> None:
    page = " ".join((ROOT / "docs" / "senses.md").read_text(encoding="utf-8").split())
    weights = {name: Elmo.from_pretrained(name).lexicon.topics for name in ("en", "ko", "zh")}
    en, ko, zh = (f"{found.weight:g}" for found in weights.values() if found is not None)
    assert f"*sense* is {en} for English, {ko} for Korean and {zh} for Chinese." in page
