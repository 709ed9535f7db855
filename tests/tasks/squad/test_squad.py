"""Reading comprehension from a file to answers."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from helpers.small_runs import assert_it_learned, small_run
from helpers.toy_data import write_korquad, write_squad
from polyseme.errors import InputError
from polyseme.tasks.data_files import FileReading
from polyseme.tasks.squad.data import Question
from polyseme.tasks.squad.network import BidafSizes
from polyseme.tasks.squad.task import TASK
from polyseme.text.tokenization import split_text


def test_answers_are_found(tmp_path: Path) -> None:
    train, dev = write_squad(tmp_path / "train.json", 60, 0), write_squad(tmp_path / "dev.json", 12, 1)
    task, finished = small_run("squad", tmp_path, train, dev, hidden=12, paragraphs=1.0, epochs=6, rate=0.02, batch=10)
    assert_it_learned(finished, "f1", 25)  # any of the three cities is right in 33 of 100 cases, any token in 7
    assert task.evaluate(dev).values == finished.scores.values
    context = "Here Ada likes Rome. Here Bob likes Oslo."
    found = task.predict({"id": "x", "context": context, "question": ["What does Bob like?", "What does Ada like?"]})
    assert [one["question"] for one in found] == ["What does Bob like?", "What does Ada like?"]
    assert all(context[one["start"] : one["end"]] == one["answer"] for one in found)
    assert task.predict(f"{context}\tWhat does Bob like?")[0]["answer"] == found[0]["answer"]
    official = json.loads("".join(TASK.write(task.answer(TASK.read(dev, split_text)))))
    assert sorted(official) == sorted(f"q{number}" for number in range(12))


def test_long_paragraphs_and_answers_without_a_place_are_not_trained_on(tmp_path: Path) -> None:
    path = write_squad(tmp_path / "a.json", 3, 0)
    content = json.loads(path.read_text())
    content["data"][0]["paragraphs"][0]["qas"][0]["answers"][0]["answer_start"] = 1
    content["data"][0]["paragraphs"][1]["context"] += " More words" * 50
    path.write_text(json.dumps(content))
    questions = TASK.read(path, split_text)
    sizes = BidafSizes(longest_paragraph=100)
    assert TASK.for_training(questions, sizes) == questions[2:]
    assert TASK.left_out(questions, sizes) == (
        "questions that are not trained on: 1 whose answers are not where they say, "
        "1 in paragraphs of more than 100 tokens"
    )
    assert TASK.left_out(questions[2:], sizes) == ""


def test_a_share_of_the_paragraphs_is_always_the_same_share(tmp_path: Path) -> None:
    questions = TASK.read(write_squad(tmp_path / "a.json", 200, 0), split_text)
    some, more = (TASK.for_training(questions, BidafSizes(paragraphs=share)) for share in (0.3, 0.6))
    assert 0.2 * 200 < len(some) < 0.4 * 200 < len(more) < 0.8 * 200
    assert all(question in more for question in some)


def test_a_file_without_answers_can_be_answered_and_not_be_scored(tmp_path: Path) -> None:
    path = write_squad(tmp_path / "a.json", 1, 0)
    content = json.loads(path.read_text())
    del content["data"][0]["paragraphs"][0]["qas"][0]["answers"]
    path.write_text(json.dumps(content))
    questions = TASK.read(path, split_text)
    assert (questions[0].answers, questions[0].spans) == ((), ())
    with pytest.raises(InputError, match=r"a\.json: the question 'q0' has no answers"):
        TASK.check_gold(questions, str(path))
    assert TASK.left_out(questions, BidafSizes()) == "questions that are not trained on: 1 without an answer"


def test_a_dev_set_without_answers_is_refused_before_training(tmp_path: Path) -> None:
    train, dev = write_squad(tmp_path / "train.json", 4, 0), write_squad(tmp_path / "dev.json", 2, 1)
    content = json.loads(dev.read_text())
    content["data"][0]["paragraphs"][1]["qas"][0] |= {"answers": [], "is_impossible": True}
    dev.write_text(json.dumps(content))
    with pytest.raises(InputError, match="'q1' has no answers"):
        small_run("squad", tmp_path, train, dev, hidden=4, paragraphs=1.0, epochs=1)
    assert not (tmp_path / "run" / "last.safetensors").exists()


def test_questions_without_an_id_get_a_free_one() -> None:
    asked = {"context": "Ada likes Rome.", "question": "Who?"}
    items = [asked, {**asked, "id": "0"}, asked, {**asked, "id": "0-0"}, {**asked, "id": "a"}]
    pairs = [(question, {"span": [number % 3, 3]}) for number, item in enumerate(items) for question in _asked(item)]
    assert json.loads("".join(TASK.write(pairs)), object_pairs_hook=list) == [
        ("0", "likes Rome"),
        ("0-0", "Ada likes Rome"),
        ("a", "likes Rome"),
        ("0-1", "Ada likes Rome"),
        ("2", "Rome"),
    ]
    with pytest.raises(InputError, match="two questions with the id 'a'"):
        list(TASK.write([pairs[-1], pairs[-1]]))


def _asked(item: dict[str, str]) -> list[Question]:
    return TASK.examples(item, split_text)


def test_questions_of_a_list_have_names_of_their_own() -> None:
    asked = {"context": "Ada likes Rome.", "question": ["Who?", "What?"]}
    assert [question.id for question in TASK.examples({"id": "a", **asked}, split_text)] == ["a-0", "a-1"]
    assert [question.id for question in TASK.examples(asked, split_text)] == ["", ""]
    [single] = TASK.examples({"id": "a", **asked, "question": "Who?"}, split_text)
    assert single.id == "a"


@pytest.mark.parametrize("item", ["text", ["a"], {"context": "a"}, {"context": "", "question": "b"}, {"question": "b"}])
def test_what_is_no_question_is_refused(item: object) -> None:
    with pytest.raises(InputError, match="needs an object with a context and a question"):
        TASK.examples(item, split_text)


def test_korean_answers_end_inside_words(tmp_path: Path) -> None:
    """No answer is a whole word, so a network that points at words would have an exact match of 0."""
    train, dev = write_korquad(tmp_path / "train.json", 60, 0), write_korquad(tmp_path / "dev.json", 12, 1)
    changes = {"hidden": 12, "paragraphs": 1.0, "epochs": 6, "rate": 0.02, "batch": 10, "lang": "ko-eojeol"}
    task, finished = small_run("squad", tmp_path, train, dev, **changes)
    assert finished.scores.values["exact_match"] >= 25
    assert task.evaluate(dev).values == finished.scores.values
    context = "영희는 서울에서 산다. 철수는 부산에 산다."
    (found,) = task.predict({"context": context, "question": "영희는 어디 사는가?"})
    assert context[found["start"] : found["end"]] == found["answer"]


ORACLES = {
    "ko": (
        "백범 김구는 1876년에 황해도에서 태어났다. 《백범일지》를 썼다.",
        ["김구", "1876년", "백범일지", "백범 김구"],
    ),
    "zh": ("北京市是中华人民共和国的首都。《红楼梦》写于清朝。", ["京市", "华人民", "共和国", "红楼梦", "清朝"]),
}


@pytest.mark.parametrize("lang", ORACLES)
def test_an_oracle_gets_every_answer_in_korean_and_chinese(tmp_path: Path, lang: str) -> None:
    context, texts = ORACLES[lang]
    qas = [
        {"id": str(n), "question": context[:3], "answers": [{"text": text, "answer_start": context.index(text)}]}
        for n, text in enumerate(texts)
    ]
    path = tmp_path / "dev.json"
    path.write_text(json.dumps({"data": [{"paragraphs": [{"context": context, "qas": qas}]}]}), encoding="utf-8")
    split = "ko-eojeol" if lang == "ko" else lang
    questions = TASK.read(path, FileReading(partial(split_text, lang=split), split))
    best = [{"span": list(question.spans[0]), "cut": list(question.cuts[0])} for question in questions]
    assert TASK.score(best, questions).values == {"exact_match": 100, "f1": 100}
    words = [{"span": found["span"]} for found in best]
    assert TASK.score(words, questions).values["exact_match"] < 100
