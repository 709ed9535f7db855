"""Texts tagged by several tasks at once: one record a text, with sentences, places and confidences."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from helpers.small_runs import small_run
from helpers.toy_names import write_names
from polyseme.cli.tag_output import page_of
from polyseme.errors import ConfigError, FormatError
from polyseme.tasks import bundled_tasks
from polyseme.tasks.tagging import _merged, language_of, tag_documents
from polyseme.tasks.trained_task import Task
from polyseme.text.readers import Document

TREES = "1\tAda\t_\tPROPN\t_\t_\t_\t_\t_\t_\n2\tleft\t_\tVERB\t_\t_\t_\t_\t_\t_\n3\t.\t_\tPUNCT\t_\t_\t_\t_\t_\t_\n\n"


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> list[Task]:
    folder = tmp_path_factory.mktemp("tagging")
    names = write_names(folder / "names")
    (folder / "trees.conllu").write_text(TREES * 4, encoding="utf-8")
    sizes = {"hidden": 12, "depth": 1, "batch": 4, "rate": 0.02}
    ner, _ = small_run("ner", folder / "a", names / "train.txt", names / "dev.txt", **sizes, epochs=6)
    trees = folder / "trees.conllu"
    pos, _ = small_run("pos", folder / "b", trees, trees, **sizes, epochs=4)
    return [ner, pos]


def test_a_text_is_one_record_with_its_sentences(tasks: list[Task]) -> None:
    text = "Ada left .  Bob saw new Rome ."
    empty, record = tag_documents(tasks, [Document("a", "", None, ""), Document("b", text, None, "")])
    assert empty == {"id": "a", "text": "", "sentences": []}
    assert (record["id"], record["text"]) == ("b", text)
    first, second = record["sentences"]
    assert [text[a:b] for a, b in second["offsets"]] == second["tokens"] == ["Bob", "saw", "new", "Rome", "."]
    assert len(first["tags"]) == len(first["confidences"]) == 3
    for sentence in record["sentences"]:
        for entity in sentence["entities"]:
            assert text[entity["start_char"] : entity["end_char"]] == entity["text"]
            assert 0 < entity["confidence"] <= 1
    assert [entity["label"] for entity in second["entities"]] == ["PER", "LOC"]
    json.dumps(record)


def test_tokens_stay_as_they_are(tasks: list[Task]) -> None:
    (record,) = tag_documents(tasks, [Document("x", None, [["Ada", "left-him", "."], ["Rome"]], "")])
    assert record["text"] == "Ada left-him . Rome"
    assert [sentence["tokens"] for sentence in record["sentences"]] == [["Ada", "left-him", "."], ["Rome"]]
    assert record["sentences"][1]["offsets"] == [[15, 19]]


def test_the_page_escapes_what_it_shows(tasks: list[Task]) -> None:
    page = "".join(page_of(tag_documents(tasks, [Document("0", "Ada <left> Rome & Bob .", None, "")])))
    assert "<left>" not in page
    assert "&lt;" in page
    assert "http" not in page


def test_task_models_have_names(tasks: list[Task], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundled_tasks, "bundled_tasks_folder", lambda: tmp_path)
    with pytest.raises(FormatError, match=r"no task model en/ner is bundled .*polyseme task train ner"):
        Task.load("en/ner")
    run = Path(tasks[0].about.inputs.model).parent / "run"
    shutil.copytree(run, tmp_path / "en" / "ner")
    assert bundled_tasks.bundled_tasks() == ["en/ner"]
    assert Task.load("en/ner").predict("Ada left .") == tasks[0].predict("Ada left .")


@pytest.mark.parametrize(
    ("text", "lang"), [("Ada lives.", "en"), ("런던에 살았다 中", "ko"), ("她住在伦敦。", "zh"), ("", "en")]
)
def test_the_script_tells_the_language(text: str, lang: str) -> None:
    assert language_of(text) == lang


def test_names_among_morphemes_join_parts_of_speech_of_words() -> None:
    text = "김철수는 서울에 산다."
    entities = [{"label": "PS", "start": 0, "end": 1, "text": "김철수", "start_char": 0, "end_char": 3}]
    morphemes = {"tokens": ["김철수", "는"], "offsets": [[0, 3], [3, 4]], "entities": entities}
    words = {"tokens": ["김철수는", "서울에"], "offsets": [[0, 4], [5, 8]], "tags": ["NOUN", "ADV"]}
    records = [{"text": text, "sentences": [one]} for one in (morphemes, words)]
    expected = words | {"entities": [entities[0] | {"start": 0, "end": 1}]}
    assert _merged(records) == _merged(records[::-1]) == {"text": text, "sentences": [expected]}
    with pytest.raises(ConfigError, match="split the text differently"):
        _merged([records[1], {"text": text, "sentences": [morphemes | {"tags": ["NOUN", "ADP"]}]}])
    with pytest.raises(ConfigError, match="split the text differently"):
        _merged([records[1], {"text": text, "sentences": []}])
