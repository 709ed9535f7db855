"""An index finds the words that a comparison by hand finds, and says where they stand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.damage import flip_bit, rewrite
from helpers.tiny_models import tiny_elmo, tiny_model
from polyseme import Index
from polyseme.elmo import Elmo
from polyseme.errors import ConfigError, InputError, JobError
from polyseme.formats.native import save_native
from polyseme.index.files import post

LINES = [
    "the present is here",
    "",
    "here is your birthday present .",
    "Present day , present time",
    "zwei naïve 日本語 words",
]
WORDS = [word for line in LINES for word in line.split()]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def elmo() -> Elmo:
    return tiny_elmo()


def test_a_single_text_is_no_list_of_characters() -> None:
    assert Index.in_memory(tiny_elmo(), "a present for you").sentences == 1


@pytest.fixture(params=["disk", "memory", "tokens"])
def index(request: pytest.FixtureRequest, elmo: Elmo, text: Path, tmp_path: Path) -> Index:
    """The same text as a folder, in memory, and from tokens."""
    if request.param == "disk":
        return Index.build(elmo, text, tmp_path / "index", layers="all")
    if request.param == "memory":
        return Index.in_memory(elmo, LINES)
    return Index.in_memory(elmo, [line.split() for line in LINES])


def by_hand(elmo: Elmo, wanted: np.ndarray, layer: int) -> np.ndarray:
    """The cosine of every token, in the order of the text."""
    vectors = np.concatenate([elmo.encode(line).layers[layer] for line in LINES])
    cosines: np.ndarray = vectors @ wanted / (np.linalg.norm(vectors, axis=1) * np.linalg.norm(wanted))
    return cosines


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_neighbours_are_those_of_a_comparison_by_hand(index: Index, elmo: Elmo, layer: int) -> None:
    expected = by_hand(elmo, elmo.encode("live in the present .").layers[layer, 3], layer)
    found = index.neighbours("live in the [present] .", layer=layer, k=100)
    similarities = [one.similarity for one in found]
    assert similarities == sorted(similarities, reverse=True)
    np.testing.assert_allclose(
        similarities, expected[[one.row for one in found]], atol=5e-4
    )  # float16 has three digits
    assert [one.word for one in found] == [WORDS[one.row] for one in found]
    assert sorted(one.row for one in found) == list(range(len(WORDS)))


def test_a_neighbour_says_where_it_stands(index: Index) -> None:
    (found,) = index.neighbours("here is your birthday [present] .", k=1)
    assert found.similarity == pytest.approx(1.0, abs=1e-3)
    assert (found.word, found.position, found.tokens) == ("present", 4, LINES[2].split())
    assert (found.text, found.text[slice(*found.span)]) == (LINES[2], "present")
    assert found.marked == "here is your birthday [present] ."
    assert (found.document, found.sentence) == ("2", 0)
    assert Path(found.source).name in ("text.txt", "memory")


def test_a_vector_asks_too_and_gives_the_same(index: Index, elmo: Elmo) -> None:
    vector = elmo.encode("live in the present .").layers[1, 3]
    assert index.neighbours(vector, layer=1) == index.neighbours("live in the [present] .", layer=1)
    longer = index.neighbours(7 * vector.astype(np.float64), layer=1)
    np.testing.assert_allclose(
        [one.similarity for one in longer], [one.similarity for one in index.neighbours(vector, layer=1)], atol=1e-6
    )


def test_several_marked_words_are_their_mean(index: Index, elmo: Elmo) -> None:
    vector = elmo.encode("a birthday present").layers[2, 1:].mean(axis=0)
    assert index.neighbours("a [birthday present]") == index.neighbours(vector)


def test_the_same_word_only(index: Index) -> None:
    found = index.neighbours("live in the [PRESENT] .", same_word=True)
    assert sorted(one.word for one in found) == ["Present", "present", "present", "present"]
    cosines = [one.similarity for one in found]
    assert cosines == sorted(cosines, reverse=True)
    assert index.neighbours("an [unheard] word", same_word=True) == []


def test_occurrences_in_the_order_of_the_text_whatever_their_case(index: Index) -> None:
    assert [one.marked for one in index.occurrences("present")] == [
        "the [present] is here",
        "here is your birthday [present] .",
        "[Present] day , present time",
        "Present day , [present] time",
    ]
    assert [one.row for one in index.occurrences("日本語")] == [WORDS.index("日本語")]
    assert index.occurrences("gift") == []
    assert (index.count("present"), index.count("gift")) == (4, 0)


def test_the_span_is_clear_where_a_sentence_has_brackets_of_its_own() -> None:
    (found,) = Index.in_memory(tiny_elmo(), ["the [ old ] present"]).occurrences("present")
    assert found.marked == "the [ old ] [present]"
    assert found.text[slice(*found.span)] == found.word == "present"


def test_layers_of_occurrences(index: Index, elmo: Elmo) -> None:
    layers = index.layers_of(index.occurrences("present"))  # [L+1, n, W]
    assert (layers.dtype, layers.shape) == (np.float32, (3, 4, 8))
    expected = [elmo.encode(LINES[line]).layers[:, position] for line, position in ((0, 1), (2, 4), (3, 0), (3, 3))]
    np.testing.assert_allclose(layers, np.stack(expected, axis=1), rtol=2e-3, atol=1e-5)


def test_layers_that_are_not_here_are_encoded_again(elmo: Elmo) -> None:
    index = Index.in_memory(elmo, LINES, layers="top")
    places = index.occurrences("present")[::-1]
    expected = [elmo.encode(one.text).layers[:, one.position] for one in places]
    np.testing.assert_allclose(index.layers_of(places), np.stack(expected, axis=1), atol=1e-6)
    assert index.layers == (2,)
    assert index.layers_of([]).shape == (3, 0, 8)


def test_sizes(index: Index) -> None:
    assert (len(index), index.sentences, index.layers) == (len(WORDS), 4, (0, 1, 2))
    assert repr(index) == "Index(19 tokens, 4 sentences, layers 0, 1, 2)"


def test_a_text_of_several_sentences_is_split_as_the_model_says() -> None:
    index = Index.in_memory(tiny_elmo(lang="en"), ["Live here. Here is a present, for you."])
    (found,) = index.occurrences("present")
    assert found.marked == "Here is a [present], for you."
    assert (found.document, found.sentence, found.tokens[-1]) == ("0", 1, ".")


def test_an_index_finds_its_model_by_itself(text: Path, tmp_path: Path) -> None:
    save_native(tiny_model(), tmp_path / "model")
    elmo = Elmo.from_pretrained(tmp_path / "model", lang="whitespace", state="warm")
    built = Index.build(elmo, text, tmp_path / "index", model=str(tmp_path / "model"))
    opened = Index.open(tmp_path / "index")
    assert opened.neighbours("the [present]") == built.neighbours("the [present]")
    assert (opened.elmo.state, opened.elmo.lang) == ("warm", "whitespace")


def test_another_model_is_refused(elmo: Elmo, text: Path, tmp_path: Path) -> None:
    Index.build(elmo, text, tmp_path / "index")
    with pytest.raises(JobError, match=r'the index was made otherwise: model was "1:.*" and is "1:'):
        Index.open(tmp_path / "index", tiny_elmo(seed=1))
    with pytest.raises(JobError, match='state was "reset" and is "warm"'):
        Index.open(tmp_path / "index", Elmo(tiny_model(), state="warm"))
    save_native(tiny_model(1), tmp_path / "model")
    rewrite(tmp_path / "index" / "index.json", model=str(tmp_path / "model"))
    with pytest.raises(JobError, match=r'made otherwise: model was "1:.*" and is "1:.*"; open it with the model'):
        Index.open(tmp_path / "index").neighbours("the [present]")
    with pytest.raises(ConfigError, match=r"Index.open\(folder, elmo\)"):
        rewrite(tmp_path / "index" / "index.json", model=None)
        Index.open(tmp_path / "index").neighbours("the [present]")


def test_what_cannot_be_asked(index: Index) -> None:
    with pytest.raises(ConfigError, match="layer 3 is not in this index, which holds: 0, 1, 2"):
        index.neighbours("the [present]", layer=3)
    with pytest.raises(ConfigError, match="k is 0"):
        index.neighbours("the [present]", k=0)
    with pytest.raises(InputError, match=r"vector of 8 finite numbers, but an array of shape \[3\]"):
        index.neighbours(np.ones(3))
    with pytest.raises(InputError, match="8 finite numbers"):
        index.neighbours(np.full(8, np.nan))
    with pytest.raises(InputError, match="no word is marked"):
        index.neighbours("the present")
    with pytest.raises(ConfigError, match="same_word needs one word"):
        index.neighbours(np.ones(8), same_word=True)


def test_what_cannot_be_built(elmo: Elmo, text: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="numbers from 0 to 2"):
        Index.build(elmo, text, tmp_path / "index", layers=[3])
    with pytest.raises(ConfigError, match="numbers from 0 to 2"):
        Index.in_memory(elmo, LINES, layers="bottom")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="state"):
        Index.in_memory(Elmo(tiny_model(), state="carry"), LINES)
    with pytest.raises(InputError, match="standard input"):
        Index.build(elmo, "-", tmp_path / "index")
    with pytest.raises(InputError, match=r"nowhere.txt does not exist"):
        Index.build(elmo, tmp_path / "nowhere.txt", tmp_path / "index")
    (tmp_path / "empty.txt").write_text("\n\n")
    with pytest.raises(InputError, match="no text to index"):
        Index.build(elmo, tmp_path / "empty.txt", tmp_path / "index")
    Index.build(elmo, text, tmp_path / "index")
    with pytest.raises(JobError, match="already exists"):
        Index.build(elmo, text, tmp_path / "index")


@pytest.mark.parametrize(
    "name", ["index.json", "contents.json", "postings.bin", "layer-2.f2", "sentences.jsonl", "words.txt"]
)
def test_a_damaged_index_is_named(elmo: Elmo, text: Path, tmp_path: Path, name: str) -> None:
    Index.build(elmo, text, tmp_path / "index")
    path = tmp_path / "index" / name
    whole = path.read_bytes()
    for seed in range(20):
        flip_bit(path, seed)
        with pytest.raises(InputError, match=f"index is not an index: {name} is damaged.*; make one with"):
            Index.open(tmp_path / "index")
        path.write_bytes(whole)
        Index.open(tmp_path / "index")
    path.write_bytes(whole[:-2])
    with pytest.raises(InputError, match=f"index is not an index: .*{name}"):
        Index.open(tmp_path / "index")
    path.unlink()
    with pytest.raises(InputError, match=f"index is not an index: .*{name}"):
        Index.open(tmp_path / "index")


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"pieces": {}}, "contents.json does not know sentences.jsonl"),
        ({"pieces": None}, "pieces is None, but should be a section"),
        ({"version": 2}, "contents.json has version 2, where 1 was expected"),
        ({"words": 3}, "words.txt has .* words where 3 were expected"),
    ],
)
def test_contents_that_do_not_fit_are_named(
    elmo: Elmo, text: Path, tmp_path: Path, told: dict[str, Any], said: str
) -> None:
    Index.build(elmo, text, tmp_path / "index")
    rewrite(tmp_path / "index" / "contents.json", **told)
    with pytest.raises(InputError, match=f"index is not an index: .*{said}"):
        Index.open(tmp_path / "index")


def test_postings_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = np.random.default_rng(0).integers(0, 7, 1000).astype(np.uint32)
    expected = np.argsort(tokens, kind="stable")
    for block in (1, 3, 256, 1000, 5000):
        monkeypatch.setattr("polyseme.index.files._POSTING_BLOCK", block)
        postings = np.empty(1000, np.uint64)
        posted = post(tokens, 9, postings)
        assert postings.tolist() == expected.tolist()
        assert posted.tolist() == np.searchsorted(tokens[expected], np.arange(10)).tolist()
