"""The task models in the box: each belongs to its biLM, and finds what a person finds in a plain sentence."""

from __future__ import annotations

import json

import pytest

from helpers.paths import BENCHMARKS
from polyseme import Task
from polyseme.tasks.bundled_tasks import bundled_tasks, bundled_tasks_folder

NAMES = {
    "en": ("Ada Lovelace lived in London.", {"Ada Lovelace": "PER", "London": "LOC"}),
    "ko": ("김철수는 어제 서울에서 친구를 만났다.", {"김철수": "PS", "서울": "LC"}),
    "zh": ("法国总统马克龙到北京访问。", {"法国": "LOC", "马克龙": "PER", "北京": "LOC"}),
}
TAGS = {
    "en": ("She quickly opened the old door.", ["PRON", "ADV", "VERB", "DET", "ADJ", "NOUN", "PUNCT"]),
    "ko": ("그는 오래된 문을 열었다.", ["PRON", "VERB", "NOUN", "VERB", "PUNCT"]),
    "zh": ("他打开了门。", ["PRON", "VERB", "AUX", "NOUN", "PUNCT"]),
}


def test_names_and_parts_of_speech_are_there_in_three_languages() -> None:
    assert {f"{lang}/{task}" for lang in ("en", "ko", "zh") for task in ("ner", "pos")} <= set(bundled_tasks())


@pytest.mark.parametrize("lang", NAMES)
def test_names(lang: str) -> None:
    text, expected = NAMES[lang]
    [record] = Task.load(f"{lang}/ner").predict(text)
    [sentence] = record["sentences"]
    found = {entity["text"]: entity["label"] for entity in sentence["entities"]}
    assert found.items() >= expected.items()


@pytest.mark.parametrize("lang", TAGS)
def test_parts_of_speech(lang: str) -> None:
    text, expected = TAGS[lang]
    [record] = Task.load(f"{lang}/pos").predict(text)
    [sentence] = record["sentences"]
    assert sentence["tags"] == expected


def test_roles() -> None:
    [record] = Task.load("en/srl").predict("Ada gave Bob a book.")
    [frame] = record["sentences"][0]["frames"]
    assert [(role["role"], role["text"]) for role in frame["roles"] if role["role"] != "V"] == [
        ("A0", "Ada"),
        ("A2", "Bob"),
        ("A1", "a book"),
    ]


def test_coreference() -> None:
    [record] = Task.load("en/coref").predict("The president arrived late. He said that he was sorry.")
    chains = [[mention["text"] for mention in chain] for chain in record["chains"]]
    assert ["The president", "He", "he"] in chains


@pytest.mark.parametrize("name", bundled_tasks())
def test_cards_state_the_scores_and_the_licence(name: str) -> None:
    card = (bundled_tasks_folder() / name / "README.md").read_text(encoding="utf-8")
    scores = json.loads((BENCHMARKS / "results" / "task_models.json").read_text(encoding="utf-8"))[name]["scores"]
    assert "(CC BY" in card
    for split, values in scores.items():
        for metric, value in values.items():
            assert f"| {split} | {metric} | {value:.2f} |" in card
