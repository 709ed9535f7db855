"""The nearest sense, on a text made by hand, where it can be told by looking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from helpers.paths import DATA, needs
from polyseme.errors import InputError
from polyseme.probes.wsd import SenseMeans, SenseScore, evaluate_senses, score_senses
from polyseme.probes.wsd_data import (
    Instance,
    SenseSentence,
    find_sense_files,
    lemma_of,
    read_first_senses,
    read_keys,
    read_sense_sentences,
)

TRAIN = """<?xml version="1.0" encoding="UTF-8" ?>
<corpus lang="en"><text id="d0">
<sentence id="d0.s0">
<wf lemma="the" pos="DET">The</wf><instance id="d0.s0.t0" lemma="bank" pos="NOUN">banks</instance>
<wf lemma="of" pos="ADP">of</wf><wf lemma="``" pos=".">``</wf><wf lemma="river" pos="NOUN">rivers</wf>
</sentence>
<sentence id="d0.s1">
<instance id="d0.s1.t0" lemma="bank" pos="NOUN">bank</instance><wf lemma="x" pos="NOUN">money</wf>
</sentence>
<sentence id="d0.s2">
<instance id="d0.s2.t0" lemma="bank" pos="VERB">bank</instance><wf lemma="x" pos="NOUN">here</wf>
</sentence>
<sentence id="d0.s3">
<wf lemma="to" pos="PRT">to</wf><instance id="d0.s3.t0" lemma="take_place" pos="VERB">take place</instance>
</sentence>
</text></corpus>
"""
TRAIN_KEYS = """\
d0.s0.t0 bank%1:17:01::
d0.s1.t0 bank%1:14:00:: bank%1:06:00::
d0.s2.t0 bank%2:40:00::
d0.s3.t0 take_place%2:30:00::
"""
TEST = """<?xml version="1.0" encoding="UTF-8" ?>
<corpus lang="en"><text id="d0">
<sentence id="d0.s0">
<instance id="d0.s0.t0" lemma="bank" pos="NOUN">Bank</instance><wf lemma="x" pos="NOUN">river</wf>
<instance id="d0.s0.t1" lemma="gift" pos="NOUN">gift</instance>
</sentence>
<sentence id="d0.s1"><instance id="d0.s1.t0" lemma="bank" pos="NOUN">bank</instance>
<wf lemma="x" pos="NOUN">cash</wf></sentence>
</text></corpus>
"""
TEST_KEYS = """\
d0.s0.t0 bank%1:17:01::
d0.s0.t1 gift%1:21:00:: gift%1:07:00::
d0.s1.t0 bank%1:06:00::
"""
INDEX = """\
bank%1:06:00:: 02787772 9 1
bank%1:14:00:: 08420278 2 20
bank%1:17:01:: 09213565 1 25
gift%1:07:00:: 05624029 2 5
gift%1:21:00:: 13265011 1 14
"""


class Meanings:
    """Vectors that know: layer 0 is the word, layer 1 whether its sentence speaks of water or of money."""

    layers, width = 2, 3

    def stream(self, sentences: Iterable[Sequence[str]]) -> Iterator[np.ndarray]:
        for tokens in sentences:
            word = np.array([[len(token), 1, 0] for token in tokens], np.float32)
            water = any(token.lower().startswith("river") for token in tokens)
            context = np.tile(np.array([water, not water, 0.2], np.float32), (len(tokens), 1))
            yield np.stack([word, context])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "semcor").mkdir()
    (tmp_path / "semcor" / "semcor.data.xml").write_text(TRAIN, encoding="utf-8")
    (tmp_path / "semcor" / "semcor.gold.key.txt").write_text(TRAIN_KEYS)
    (tmp_path / "small.data.xml").write_text(TEST, encoding="utf-8")
    (tmp_path / "small.gold.key.txt").write_text(TEST_KEYS)
    (tmp_path / "index.sense").write_text(INDEX)
    return tmp_path


def test_sentences_and_instances(folder: Path) -> None:
    first, *_, last = read_sense_sentences(folder / "semcor" / "semcor.data.xml")
    assert first == SenseSentence(["The", "banks", "of", '"', "rivers"], [Instance("d0.s0.t0", ("bank", "NOUN"), 1, 2)])
    assert last == SenseSentence(["to", "take", "place"], [Instance("d0.s3.t0", ("take_place", "VERB"), 1, 3)])


def test_keys_and_first_senses(folder: Path) -> None:
    keys = read_keys(folder / "small.gold.key.txt")
    assert keys["d0.s0.t1"] == {"gift%1:21:00::", "gift%1:07:00::"}
    first = read_first_senses(folder / "index.sense")
    assert first == {("bank", "NOUN"): "bank%1:17:01::", ("gift", "NOUN"): "gift%1:21:00::"}
    assert lemma_of("good%5:00:00:large:00") == ("good", "ADJ")


def test_the_nearest_sense_by_layer_with_the_first_sense_behind_it(folder: Path) -> None:
    """The river is told by layer 1; "gift" is not in the training text; the money bank has no first sense."""
    (score,) = evaluate_senses(Meanings(), folder, ["small"]).values()
    assert (score.words, score.seen, score.first_sense) == (3, 2, 2)
    assert score.right[1] == 3
    assert score.f1[1] == 1.0
    assert score.first_sense_f1 == pytest.approx(2 / 3)
    assert score.right[0] < 3  # the word alone does not tell


def test_where_senses_are_equally_near_the_first_one_counts() -> None:
    bank, same = ("bank", "NOUN"), np.ones((3, 1, 2), np.float32) / np.sqrt(2).astype(np.float32)
    same[1] *= 1 + 1e-7
    means = SenseMeans({bank: ["a", "b", "c"]}, {bank: same})
    vector = np.ones((1, 2), np.float32)
    assert [means.nearest(bank, vector, first) for first in "abc"] == [["a"], ["b"], ["c"]]
    assert means.nearest(bank, vector, "seen nowhere") is not None
    means.units[bank][1] = [[1, 0]]
    assert means.nearest(bank, np.array([[1, 0]], np.float32), "a") == ["b"]


def test_a_word_of_several_tokens_is_their_mean(folder: Path) -> None:
    sentences = read_sense_sentences(folder / "semcor" / "semcor.data.xml")
    means = SenseMeans.read(Meanings(), sentences, read_keys(folder / "semcor" / "semcor.gold.key.txt"))
    expected = np.array([(len("take") + len("place")) / 2, 1, 0])
    np.testing.assert_allclose(means.units["take_place", "VERB"][0, 0], expected / np.linalg.norm(expected), rtol=1e-6)
    assert means.senses["bank", "NOUN"] == ["bank%1:06:00::", "bank%1:14:00::", "bank%1:17:01::"]
    assert means.nearest(("gift", "NOUN"), np.ones((2, 3), np.float32)) is None


def test_only_the_lemmas_that_are_asked_for_are_kept(folder: Path) -> None:
    sentences = read_sense_sentences(folder / "semcor" / "semcor.data.xml")
    keys, told = read_keys(folder / "semcor" / "semcor.gold.key.txt"), list[int]()
    means = SenseMeans.read(Meanings(), sentences, keys, {("bank", "VERB")}, told.append)
    assert list(means.senses) == [("bank", "VERB")]
    assert told == [5, 7, 9, 12]


def test_scores_add_up() -> None:
    total = SenseScore(2, 1, [1, 2], 1) + SenseScore(2, 2, [0, 1], 0)
    assert total == SenseScore(4, 3, [1, 3], 1)


def test_what_cannot_be_used(folder: Path) -> None:
    with pytest.raises(InputError, match=r"there is no other.data.xml"):
        find_sense_files(folder, "other")
    (folder / "small.data.xml").write_text("<corpus><sentence>")
    with pytest.raises(InputError, match=r"small.data.xml is not an XML file of word senses"):
        list(read_sense_sentences(folder / "small.data.xml"))
    (folder / "small.data.xml").write_text("<corpus><sentence><instance id='a'>x</instance></sentence></corpus>")
    with pytest.raises(InputError, match="an instance has no 'lemma'"):
        list(read_sense_sentences(folder / "small.data.xml"))
    (folder / "index.sense").write_text("bank\n")
    with pytest.raises(InputError, match=r"line 1 is not in the format of WordNet's index.sense"):
        read_first_senses(folder / "index.sense")
    (folder / "small.gold.key.txt").write_text("d0.s0.t0\n")
    with pytest.raises(InputError, match="line 1 has no sense key"):
        read_keys(folder / "small.gold.key.txt")
    with pytest.raises(InputError, match="'bank' is not a sense key"):
        lemma_of("bank")


@pytest.mark.shared
@needs(DATA / "wsd" / "eval")
def test_the_first_sense_is_the_known_baseline() -> None:
    """65.2 on ALL in Raganato et al. (2017); Peters et al. (2018) print 65.9. Nothing else answers here."""
    data, keys = find_sense_files(DATA / "wsd" / "eval", "ALL")
    first = read_first_senses(DATA / "wsd" / "wordnet-3.0" / "index.sense.xz")
    nothing = SenseMeans({}, {})
    score = score_senses(Meanings(), nothing, read_sense_sentences(data), read_keys(keys), first)
    assert (score.words, score.seen) == (7253, 0)
    assert score.right == [score.first_sense] * 2
    assert round(100 * score.first_sense_f1, 1) == 65.2
