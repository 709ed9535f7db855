"""Over HTTP come the numbers that the library gives, and for what it cannot do one sentence."""

from __future__ import annotations

import io
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.running_server import SENTENCES, Client, running, served
from polyseme.elmo import Elmo
from polyseme.errors import ConfigError
from polyseme.serve.served import Models, load_models
from polyseme.tasks.trained_task import Task

TEXTS = ["They fished from the bank. It rained.", "Here is your birthday present.", ""]
MARKED = "They fished from the [bank] of the river."


@pytest.fixture
def elmo(models: Models) -> Elmo:
    return models.find("en").elmo


def test_health(server: Client) -> None:
    assert server.get("/health").json["status"] == "ok"


def test_models_tell_what_can_be_asked(server: Client) -> None:
    found = server.get("/models").json["models"]
    assert [(one["name"], one["lang"], one["layers"], one["index"]["state"]) for one in found] == [
        ("en", "en", 3, "ready"),
        ("ko", "ko", 3, "ready"),
        ("zh", "zh", 3, "ready"),
    ]


def test_encode_gives_tokens_offsets_sentences_and_mixed_vectors(server: Client, elmo: Elmo) -> None:
    answer = server.post("/encode", texts=TEXTS)
    assert answer.status == 200
    for found, expected in zip(answer.json["texts"], elmo.encode(TEXTS), strict=True):
        assert found["tokens"] == expected.tokens
        assert found["offsets"] == expected.offsets.tolist()
        assert [tuple(span) for span in found["sentences"]] == expected.sentences
        vectors = np.array(found["vectors"], dtype=np.float32).reshape(-1, expected.vectors.shape[1])
        np.testing.assert_allclose(vectors, expected.vectors, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("layers", ["all", "top", 0, 1, 2])
def test_layers_are_bit_equal_in_json_and_npy(server: Client, elmo: Elmo, layers: str | int) -> None:
    expected = np.concatenate([one.layers for one in elmo.encode(TEXTS)], axis=1)
    expected = expected if layers == "all" else expected[-1 if layers == "top" else int(layers)]
    answer = server.post("/encode", texts=TEXTS, layers=layers, format="npy")
    np.testing.assert_array_equal(np.load(io.BytesIO(answer.body)), expected)
    assert answer.headers["polyseme-tokens"] == ",".join(str(len(one)) for one in elmo.encode(TEXTS))
    texts = server.post("/encode", texts=TEXTS[:1], layers=layers).json["texts"]
    shown = np.array(texts[0]["vectors"], dtype=np.float32)
    np.testing.assert_array_equal(shown, expected[..., : shown.shape[-2], :])


def test_a_mix_of_ones_own(server: Client, elmo: Elmo) -> None:
    (found,) = server.post("/encode", texts=TEXTS[:1], mix=[0, 1, -0.5]).json["texts"]
    layers = elmo.encode(TEXTS[0]).layers
    np.testing.assert_allclose(found["vectors"], layers[1] - 0.5 * layers[2], rtol=1e-5, atol=1e-6)


def test_tokens_are_taken_as_they_are(server: Client, elmo: Elmo) -> None:
    tokens = [["They", "fished."], ["x y", "!"]]
    answer = server.post("/encode", tokens=tokens, layers="all")
    for found, expected in zip(answer.json["texts"], elmo.encode_tokens(tokens), strict=True):
        assert found["tokens"] == expected.tokens
        np.testing.assert_array_equal(np.array(found["vectors"], dtype=np.float32), expected.layers)


def test_one_vector_a_text(server: Client, elmo: Elmo) -> None:
    answer = server.post("/encode", texts=TEXTS, pool="mean", format="npy")
    expected = np.stack([one.mean() for one in elmo.encode(TEXTS)])
    np.testing.assert_allclose(np.load(io.BytesIO(answer.body)), expected, rtol=1e-5, atol=1e-6)


def test_scores_are_those_of_the_library(server: Client, elmo: Elmo) -> None:
    answer = server.post("/score", texts=TEXTS)
    for found, expected in zip(answer.json["texts"], elmo.score(TEXTS), strict=True):
        assert expected.backward is not None
        assert found["tokens"] == expected.tokens
        assert found["unknown"] == expected.unknown.tolist()
        for name in ("forward", "backward", "entropy", "backward_entropy"):
            np.testing.assert_allclose(np.array(found[name], float), getattr(expected, name), rtol=1e-6)
        np.testing.assert_allclose(found["ends"], expected.ends, rtol=1e-6)
        totals = [value for total in expected.totals for value in total.perplexities]
        np.testing.assert_allclose(np.array(found["perplexities"]).ravel(), totals, rtol=1e-6)


def test_a_word_that_the_model_does_not_know_is_flagged_and_has_no_figure(server: Client) -> None:
    (found,) = server.post("/score", texts=["the qwxzyv sat"]).json["texts"]
    assert found["unknown"] == [False, True, False]
    assert found["forward"][1] is found["backward"][1] is None
    assert found["forward"][2] < 0 < found["entropy"][1]


@pytest.mark.parametrize("direction", ["both", "forward", "backward"])
@pytest.mark.parametrize("exclude", [False, True])
def test_substitutes_are_those_of_the_library(server: Client, elmo: Elmo, direction: Any, exclude: bool) -> None:
    answer = server.post("/substitutes", text=MARKED, k=7, direction=direction, exclude_original=exclude)
    expected = elmo.substitutes(MARKED, 7, direction=direction, exclude_original=exclude)
    assert [one["word"] for one in answer.json["substitutes"]] == [one.word for one in expected]
    for found, one in zip(answer.json["substitutes"], expected, strict=True):
        for name in ("probability", "forward", "backward"):
            assert found[name] == pytest.approx(asdict(one)[name], rel=1e-5)


def test_a_place_can_be_given_by_its_position(server: Client) -> None:
    tokens = ["They", "fished", "from", "the", "bank", "of", "the", "river", "."]
    by_position = server.post("/substitutes", tokens=tokens, position=4, k=5)
    assert by_position.json == server.post("/substitutes", text=MARKED, k=5).json


def test_similarity_of_marked_words_is_that_of_the_library(server: Client, elmo: Elmo) -> None:
    second = "I have some money in the [bank]."
    answer = server.post("/similarity", first=MARKED, second=second)
    assert answer.json["cosines"] == pytest.approx(elmo.similarity(MARKED, second).tolist(), abs=1e-5)
    assert answer.json["cosines"][0] == pytest.approx(1, abs=1e-5)
    assert "grids" not in answer.json


@pytest.mark.parametrize("by", ["place", "sentence", "substitutes", "sense"])
def test_similarity_by_context_is_that_of_the_library(server: Client, elmo: Elmo, by: Any) -> None:
    second = "I have some money in the [bank]."
    answer = server.post("/similarity", first=MARKED, second=second, by=by).json
    expected = elmo.similarity(MARKED, second, by=by)
    assert answer == {"model": "en", "by": by, "similarity": pytest.approx(expected, abs=1e-5)}


def test_similarity_by_context_needs_two_marked_words_and_no_layers(server: Client) -> None:
    unmarked = server.post("/similarity", first=MARKED, second="no word is marked", by="sense")
    assert unmarked.status == 422 and "brackets" in unmarked.error
    for more in ({"grid": True}, {"mix": [1, 1, 1]}):
        refused = server.post("/similarity", first=MARKED, second=MARKED, by="sense", **more)
        assert refused.status == 422 and "no grid and no mix" in refused.error


def test_a_grid_compares_every_word_with_every_word(server: Client, elmo: Elmo) -> None:
    first, second = "They fished.", "A bank lends money."
    answer = server.post("/similarity", first=first, second=second, grid=True).json
    a, b = elmo.encode([first, second])
    for grid, x, y in zip([*answer["grids"], answer["mix_grid"]], [*a.layers, a.vectors], [*b.layers, b.vectors],
                          strict=True):  # fmt: skip
        expected = (x / np.linalg.norm(x, axis=1, keepdims=True)) @ (y / np.linalg.norm(y, axis=1, keepdims=True)).T
        np.testing.assert_allclose(grid, expected, atol=1e-5)


def test_neighbours_are_those_of_the_index(server: Client, models: Models) -> None:
    index = models.find("en").index
    assert index is not None
    for layer in range(3):
        answer = server.post("/neighbours", text=MARKED, k=5, layer=layer)
        expected = index.neighbours(MARKED, layer=layer, k=5)
        assert [one["similarity"] for one in answer.json["neighbours"]] == pytest.approx(
            [one.similarity for one in expected], abs=1e-3
        )


def test_neighbours_by_a_mix_are_the_nearest_of_all_words(server: Client, elmo: Elmo) -> None:
    """Against a search through every token of the index, which is small enough for it."""
    weights = [0.2, 0.5, 0.3]
    answer = server.post("/neighbours", text=MARKED, k=5, mix=weights)
    here = _mixed(elmo.encode(MARKED.replace("[", "").replace("]", "")).layers, weights)[4]
    every = np.concatenate([_mixed(one.layers, weights) for one in elmo.encode(SENTENCES)])
    cosines = np.sort(every @ here / np.linalg.norm(every, axis=1) / np.linalg.norm(here))[::-1]
    found = [one["similarity"] for one in answer.json["neighbours"]]
    assert found == pytest.approx(cosines[:5].tolist(), abs=2e-3)


def _mixed(layers: np.ndarray, weights: list[float]) -> np.ndarray:
    return np.tensordot(weights, layers, axes=1)


@pytest.mark.parametrize("text", [MARKED, "A [zebra] fished."])
def test_neighbours_have_the_defaults_of_the_library(server: Client, models: Models, text: str) -> None:
    """By sense among uses of a word that the index has, else by the top layer among all words."""
    index = models.find("en").index
    assert index is not None
    found = server.post("/neighbours", text=text, k=5).json["neighbours"]
    expected = index.neighbours(text, k=5)
    assert [one["text"] for one in found] == [one.text for one in expected]
    assert [one["similarity"] for one in found] == pytest.approx([one.similarity for one in expected], abs=1e-3)


def test_a_sentence_of_the_index_is_not_its_own_neighbour(server: Client) -> None:
    marked = SENTENCES[0].replace("bank", "[bank]")
    for same_word in (True, False):
        found = server.post("/neighbours", text=marked, same_word=same_word, layer="top").json["neighbours"]
        assert found and SENTENCES[0] not in [one["text"] for one in found]


def test_neighbours_of_the_same_word_only(server: Client) -> None:
    found = server.post("/neighbours", text=MARKED, same_word=True, k=100).json["neighbours"]
    assert len(found) == 50
    assert {one["word"] for one in found} == {"bank"}
    assert all(one["text"][slice(*one["span"])] == "bank" for one in found)


def test_the_sense_map_has_every_occurrence_in_every_layer(server: Client, models: Models) -> None:
    answer = server.post("/senses", text=MARKED).json
    points = np.array(answer["points"])
    assert answer["total"] == 50
    assert points.shape == (3, 50, 2)
    assert len(answer["groups"]) == len(answer["occurrences"]) == 50
    assert len(answer["names"]) == max(answer["groups"]) + 1
    # Layer 0 sees the word alone: all occurrences are one point, and what was typed lies on it.
    assert np.abs(points[0]).max() < 1e-2
    assert np.abs(answer["here"][0]).max() < 1e-2
    assert points[1:].std(axis=1).min() > 0.1


def test_the_sense_map_lies_by_sense_too(server: Client, models: Models) -> None:
    """A sentence of the index lies on its own mark, and the groups are those of the similarities that are drawn."""
    answer = server.post("/senses", text=SENTENCES[0].replace("bank", "[bank]")).json
    points = np.array(answer["sense"]["points"])
    number = [one["text"] for one in answer["occurrences"]].index(SENTENCES[0])
    np.testing.assert_allclose(answer["sense"]["here"], points[number], atol=1e-4)
    senses = models.find("en").sense_map("bank")
    assert senses is not None
    similarity = senses.uses.similarities(senses.uses, "sense")
    pairs = np.triu(np.ones_like(similarity, bool), 1)
    alike = senses.labels[:, None] == senses.labels
    assert answer["sense"]["same"] == pytest.approx(similarity[alike & pairs].mean(), abs=1e-5)
    assert answer["sense"]["cross"] == pytest.approx(similarity[~alike & pairs].mean(), abs=1e-5)
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    assert distances[alike & pairs].mean() < distances[~alike & pairs].mean()


def test_neighbours_by_sense_are_those_of_the_index(server: Client, models: Models) -> None:
    index = models.find("en").index
    assert index is not None
    found = server.post("/neighbours", text=MARKED, by="sense", same_word=True).json["neighbours"]
    expected = index.neighbours(MARKED, by="sense", same_word=True)
    assert [one["similarity"] for one in found] == pytest.approx([one.similarity for one in expected], abs=1e-4)
    for more in ({}, {"same_word": True, "layer": 1}, {"same_word": True, "mix": [1, 1, 1]}):
        refused = server.post("/neighbours", text=MARKED, by="sense", **more)
        assert refused.status == 422 and "same_word" in refused.json["error"]


def test_a_word_that_the_index_does_not_have(server: Client) -> None:
    answer = server.post("/senses", text="A [zebra] fished.").json
    assert (answer["total"], answer["occurrences"], answer["here"], answer["sense"]) == (0, [], None, None)


def test_other_languages(server: Client) -> None:
    assert server.post("/score", model="ko", texts=["배를 타고 갔다."]).json["texts"][0]["tokens"][0] == "배를"
    found = server.post("/senses", model="zh", text="我在[银行]工作。").json
    assert found["total"] >= 4


def test_many_at_once_get_what_each_would_get_alone(server: Client) -> None:
    """Batched or not, the bits are the same; and some that fail do not harm the others."""
    asked: list[tuple[str, dict[str, Any]]] = []
    for number, line in enumerate(SENTENCES[:24]):
        asked.append(("/encode", {"texts": [line], "layers": "all"}))
        asked.append(("/score", {"texts": [line] if number % 5 else "wrong"}))
        asked.append(("/substitutes", {"text": line.replace("bank", "[bank]"), "k": 3}))
    alone = [server.post(path, **fields) for path, fields in asked]
    with ThreadPoolExecutor(24) as pool:
        together = list(pool.map(lambda one: server.post(one[0], **one[1]), asked))
    for (path, _), a, b in zip(asked, alone, together, strict=True):
        assert a.status == b.status
        if path == "/encode":
            assert a.body == b.body
        elif a.status == 200 and path == "/score":
            x, y = a.json["texts"][0], b.json["texts"][0]
            np.testing.assert_allclose(x["forward"], y["forward"], rtol=1e-5)
        elif a.status == 200:
            assert [one["word"] for one in a.json["substitutes"]] == [one["word"] for one in b.json["substitutes"]]


def test_requests_are_batched_and_counted() -> None:
    with running(Models([served("en", SENTENCES)])) as client:
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda line: client.post("/encode", texts=[line] * 20), SENTENCES[:64]))
        lines = dict(line.rsplit(" ", 1) for line in client.get("/metrics").body.decode().splitlines())
    assert lines['polyseme_requests_total{path="/encode",status="200"}'] == "64"
    assert int(lines["polyseme_batch_requests_count"]) < 64  # less often asked than answered
    assert float(lines["polyseme_batch_requests_sum"]) == 64
    assert math.isfinite(float(lines["process_resident_memory_bytes"]))
    assert lines["polyseme_queue_requests"] == lines["polyseme_queue_tokens"] == "0"


def test_a_model_without_a_softmax_gives_vectors_and_a_map_but_no_words() -> None:
    with running(Models([served("bare", SENTENCES, softmax=False)])) as client:
        assert client.post("/encode", texts=["They fished."]).status == 200
        assert set(map(len, client.post("/senses", text=MARKED).json["names"])) == {0}
        answer = client.post("/substitutes", text=MARKED)
        assert (answer.status, "has no softmax" in answer.error) == (422, True)


def test_tag_gives_what_the_library_gives(server: Client, models: Models) -> None:
    texts = ["Ada left. Bob slept.", "Eve sang .", ""]
    answer = server.post("/tag", texts=texts)
    assert (answer.status, answer.json["tasks"]) == (200, ["ner", "pos"])
    expected = [Task.load(models.find("en").runs[name]).predict(texts) for name in ("ner", "pos")]
    for text, found, names, parts in zip(texts, answer.json["texts"], *expected, strict=True):
        assert found["text"] == text
        assert len(found["sentences"]) == len(names["sentences"])
        for sentence, name, part in zip(found["sentences"], names["sentences"], parts["sentences"], strict=True):
            assert sentence["entities"] == name["entities"]
            assert sentence["tags"] == part["tags"]
            assert all(text[one["start_char"] : one["end_char"]] == one["text"] for one in sentence["entities"])


def test_tag_by_one_task(server: Client) -> None:
    ((sentence,),) = (one["sentences"] for one in server.post("/tag", texts=["Ada left."], tasks=["pos"]).json["texts"])
    assert sentence.keys() == {"tokens", "offsets", "tags", "confidences"}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"texts": ["a"], "tasks": ["srl"]}, "there is no task 'srl' here; there are: ner, pos"),
        ({"texts": ["가"], "model": "ko"}, "there is no task model for 'ko' here; start the server with one"),
        ({"texts": []}, "the field 'texts' should be a list of texts"),
    ],
)
def test_what_cannot_be_tagged_is_refused_in_one_sentence(server: Client, asked: dict[str, Any], said: str) -> None:
    answer = server.post("/tag", **asked)
    assert answer.status == 422
    assert said in answer.error


def test_a_run_is_given_to_its_model_or_refused(models: Models, tmp_path: Path) -> None:
    run = models.find("en").runs["ner"]
    models.find("en").elmo.save_pretrained(tmp_path / "en")
    loaded = load_models([str(tmp_path / "en")], [], tasks=[run])
    assert loaded.default.runs["ner"] == run  # in the place of the bundled one
    assert "ner" in loaded.default.describe()["tasks"]
    models.find("zh").elmo.save_pretrained(tmp_path / "zh")
    with pytest.raises(ConfigError, match="trained with none of the models that are served"):
        load_models([str(tmp_path / "zh")], [], tasks=[run])
