"""The findings of the demo: what each of its figures is, on a toy model."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.command_line import toy_model
from helpers.demo_lines import SOME_WORDS, lines_with
from helpers.tiny_models import tiny_elmo
from polyseme.demo.chosen_words import choose_demo_words, examples_of, pair_of
from polyseme.demo.study import Study, flatten, index_text, prove, study
from polyseme.elmo import Elmo
from polyseme.encoding import Floats
from polyseme.index.vector_index import Index
from polyseme.prepared_text import read_target
from polyseme.senses.labelled import closeness_of, read_senses, split_halves, target_layers

EVERY_WORD = [(lang, word) for lang, words in SOME_WORDS.items() for word in words]


@pytest.fixture(scope="module")
def index() -> Index:
    elmo = Elmo.from_pretrained(toy_model())
    return index_text(elmo, ["Here is your b-day present.", *lines_with("en")], "text-en.txt")


@pytest.fixture(scope="module")
def present(index: Index) -> Study:
    return study(index, "en", "present")


@pytest.mark.parametrize(("lang", "word"), EVERY_WORD)
def test_a_word_is_shown_with_the_first_sentences_of_its_senses(lang: str, word: str) -> None:
    (listed,) = (one for one in read_senses(lang=lang) if one.word == word)
    examples = examples_of(lang, word)
    assert {example.marked for example in examples} <= set(listed.sentences)
    assert len(set(examples)) == len(examples) == 6
    senses = [example.sense for example in examples]
    assert senses == sorted(senses, key=senses.index)
    assert pair_of(lang, word) == (examples[0], examples[3])


def test_the_words_are_chosen_by_the_rule() -> None:
    for lang in ("en", "ko", "zh"):
        choosing, reporting = split_halves(read_senses(lang=lang))
        margins = {word.word: 1.0 for word in choosing} | {word.word: 0.5 for word in reporting}
        best = next(word.word for word in reversed(reporting) if word.word not in ("present", "bank"))
        margins[best] = 0.6
        found = choose_demo_words(lang, margins)
        assert len(found) == 3
        assert found[2 if lang == "en" else 0] == best  # not one of the choosing half, however good
        if lang == "en":
            assert found[:2] == ["present", "bank"]  # whatever they give


def test_the_same_sentence_is_the_nearest(present: Study) -> None:
    _, gift = present.answers
    assert gift.neighbours[0].marked == gift.example.marked
    assert gift.neighbours[0].similarity == pytest.approx(1, abs=1e-3)  # the index rounds to float16
    similarities = [one.similarity for one in gift.neighbours]
    assert similarities == sorted(similarities, reverse=True)
    assert {one.word.lower() for answer in present.answers for one in answer.neighbours} == {"present"}


def test_other_words_are_other_words_and_each_comes_once(present: Study) -> None:
    for answer in present.answers:
        words = [word.casefold() for word in answer.others]
        assert len(set(words)) == len(words) == 6
        assert "present" not in words


def test_other_words_come_in_the_order_of_their_nearest_place(index: Index, present: Study) -> None:
    (answer, _) = present.answers
    found = [one.word.casefold() for one in index.neighbours(answer.example.marked, k=100, same_word=False)]
    places = [found.index(word.casefold()) for word in answer.others]
    assert places == sorted(places)


def test_cosines_by_layer_are_those_of_the_pairs(index: Index, present: Study) -> None:
    elmo = index.elmo
    same, cross = [], []
    for a, b in combinations(present.examples, 2):
        (same if a.sense == b.sense else cross).append(elmo.similarity(a.marked, b.marked))
    assert present.alike == pytest.approx(np.mean(same, axis=0), abs=1e-5)
    assert present.unlike == pytest.approx(np.mean(cross, axis=0), abs=1e-5)
    first, second = (answer.example.marked for answer in present.answers)
    assert present.cosines == pytest.approx(elmo.similarity(first, second), abs=1e-6)
    assert (present.cosines[0], present.alike[0], present.unlike[0]) == pytest.approx((1, 1, 1), abs=1e-5)


def test_by_sense_the_pairs_are_compared_by_what_stands_around_the_word(index: Index, present: Study) -> None:
    senses = [index.elmo.sense(example.marked) for example in present.examples]
    similarity = np.array([[one.similarity(other) for other in senses] for one in senses])
    expected = closeness_of(similarity, [example.sense for example in present.examples])
    assert (present.by_sense.same, present.by_sense.cross) == pytest.approx((expected.same, expected.cross), abs=1e-5)


def test_a_place_is_shown_under_the_example_that_it_is_more_like(index: Index, present: Study) -> None:
    now, gift = (index.elmo.sense(answer.example.marked) for answer in present.answers)
    for answer, mine, other in zip(present.answers, (now, gift), (gift, now), strict=True):
        for one in answer.neighbours:
            here = index.elmo.sense(one.marked)
            assert here.similarity(mine) >= here.similarity(other)
            assert one.similarity == pytest.approx(here.similarity(mine), abs=1e-4)


def test_the_seed_sentences_stand_in_the_demo_word_for_word() -> None:
    plain = [read_target(example.marked)[0] for example in pair_of("en", "present")]
    assert plain == ["Live in present not past.", "Here is your b-day present."]


def test_the_proof_is_over_all_labelled_words(index: Index) -> None:
    found = prove(index.elmo, "en")
    assert len(found.by_word) == len(found.margins) == 60
    assert found.layers[0].mean == pytest.approx(0.5)  # layer 0 knows the word alone
    assert 0 <= found.sense.low <= found.sense.mean <= found.sense.high <= 1


def test_the_map_has_a_point_for_every_example_and_every_place(index: Index, present: Study) -> None:
    assert present.map.shape == (len(present.examples), 2)
    assert present.background.shape == (len(present.places), 2) == (index.count("present"), 2)
    same_sentence = [place.marked for place in present.places].index("Here is your b-day [present].")
    gift = [example.marked for example in present.examples].index("Here is your b-day [present].")
    assert present.background[same_sentence] == pytest.approx(present.map[gift], abs=1e-2)


def test_a_model_without_softmax_has_no_substitutes() -> None:
    found = study(index_text(tiny_elmo(lang="en"), lines_with("en"), "text"), "en", "bank")
    assert [answer.substitutes for answer in found.answers] == [[], []]
    assert all(answer.neighbours for answer in found.answers)


def test_target_layers_are_those_of_the_encoding() -> None:
    elmo = tiny_elmo(lang="en")
    (vectors,) = target_layers(elmo, ["Here is your [present]."]).transpose(1, 0, 2)
    encoding = elmo.encode("Here is your present.")
    assert vectors == pytest.approx(encoding.layers[:, encoding.find("present")[0]])


def distances(points: Floats) -> Floats:
    every: Floats = np.linalg.norm(points[:, None] - points[None], axis=2)
    return every


@st.composite
def clouds(draw: st.DrawFn) -> Floats:
    seed, count = draw(st.integers(0, 2**32 - 1)), draw(st.integers(4, 12))
    return np.random.default_rng(seed).normal(size=(count, 8)).astype(np.float32)


@given(clouds(), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=30)
def test_a_map_does_not_depend_on_where_the_axes_point(vectors: Floats, seed: int) -> None:
    turn, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(8, 8)))
    here, there = (np.concatenate(flatten(v[:-1] @ v[:-1].T, v[-1:] @ v[:-1].T)) for v in (vectors, vectors @ turn))
    assert distances(here) == pytest.approx(distances(there), abs=1e-2)


def test_directions_in_a_plane_keep_their_distances() -> None:
    angles = np.linspace(0.1, 2, 7)
    units = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1).astype(np.float32)
    points, others = flatten(units[:-2] @ units[:-2].T, units[-2:] @ units[:-2].T)
    assert distances(np.concatenate([points, others])) == pytest.approx(distances(units), abs=1e-3)
    assert points[0, 0] <= 0 <= points[0, 1]
