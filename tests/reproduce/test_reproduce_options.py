"""What `polyseme reproduce` is given: noticed at once if it is wrong, remembered by a report that is made in parts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from helpers.command_line import polyseme, refusal
from helpers.paper_data import TINY
from helpers.paths import BENCHMARKS
from helpers.reproduced import Reproduced, figures, quickly_reproduced
from polyseme.elmo import Elmo
from polyseme.jobs.manifests import digest
from polyseme.reproduce import sense_distances
from polyseme.reproduce.bench import Bench
from polyseme.reproduce.data_sets import find_task_data
from polyseme.reproduce.measurement import Missing
from polyseme.reproduce.report_parts import PARTS
from polyseme.reproduce.task_runs import Conditions, TaskRun, training
from polyseme.tasks.definition import find_task
from polyseme.tasks.vectors.static import PACKAGE

COMMITTED = BENCHMARKS / "report" / "reproduction.json"


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reproduced]:
    """Data and a model, and nothing measured yet."""
    with quickly_reproduced(tmp_path_factory.mktemp("options")) as made:
        yield made


def test_only_the_chosen_parts_are_planned(given: Reproduced, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[str] = []
    for name, part in list(PARTS.items()):
        plan = lambda bench, part=part: planned.append(part.name) or part.plan(bench)  # noqa: E731
        monkeypatch.setitem(PARTS, name, replace(part, plan=plan))
    given.run("--only", "senses", out=tmp_path)
    assert set(planned) == {"senses"}
    assert figures(tmp_path).keys() == {"senses"}
    assert "Not run yet." in (tmp_path / "report.md").read_text(encoding="utf-8")


def cove(path: Path, width: int = 4) -> str:
    """Weights that read vectors of so many numbers."""
    torch.save(nn.LSTM(width, 3, num_layers=2, bidirectional=True).state_dict(), path)
    return str(path)


def test_questions_stay_until_others_are_given(given: Reproduced, tmp_path: Path) -> None:
    asked = ("--ask", "Your [cat] is on the bank.", "--ask", "Here is a [play].")
    given.run("--only", "table4", *asked, out=tmp_path)
    before = figures(tmp_path)["table4"]
    given.run("--only", "senses", out=tmp_path)
    assert figures(tmp_path)["table4"] == before
    assert [one["question"] for one in before["biLM"]] == list(asked[1::2])
    given.run("--only", "senses", "--ask", "The [bank].", out=tmp_path)
    assert figures(tmp_path)["table4"] is None


def test_cove_stays_where_it_was_measured(given: Reproduced, tmp_path: Path) -> None:
    out = tmp_path / "report"
    given.run("--only", "table5", "--cove", cove(tmp_path / "cove.pth"), out=out)
    before = figures(out)["table5"]["CoVe"]
    assert before
    said = given.run("--only", "table6", out=out).stderr
    assert "table6: skipped, the weights of CoVe are not given (--cove)" in said
    assert figures(out)["table5"]["CoVe"] == before
    assert "table6: skipped" not in given.run("--only", "senses", out=out).stderr
    text = (out / "report.md").read_text(encoding="utf-8")
    assert "| CoVe, layer 1 | – | – | 93.3 |" in text


def to_do(given: Reproduced, part: str, *options: str, out: Path) -> int:
    rows = [line.split("\t") for line in given.run("--only", part, *options, "--estimate", out=out).stdout.splitlines()]
    return int(rows[1][2])


def test_static_vectors_are_known_by_their_content(given: Reproduced, tmp_path: Path) -> None:
    copy, out = tmp_path / "copy.txt", tmp_path / "report"
    shutil.copy(given.static, copy)
    given.run("--only", "table4,table5", out=out)
    for part in ("table4", "table5"):
        assert to_do(given, part, "--vectors", str(copy), out=out) == 0
    copy.write_text(copy.read_text().replace("3.5", "2.5"))
    for options in ((), ("--estimate",)):
        refused = given.run("--only", "senses", "--vectors", str(copy), *options, out=out, code=1).stderr
        assert 'holds a report of other figures: static vectors was "' in refused
    (out / "reproduction.json").unlink()  # what was measured is there, and belongs to no report
    for part in ("table4", "table5"):
        assert to_do(given, part, "--vectors", str(copy), out=out) == 1


def test_task_runs_know_static_vectors_by_their_content(given: Reproduced, tmp_path: Path) -> None:
    data = find_task("ner").find(given.data / "ner" / "uner-ewt")

    def settings(static: str) -> Any:
        return training(TaskRun("ner"), data, Conditions(tmp_path, None, "en", changes={"static": static})).settings

    copy = tmp_path / "copy.txt"
    shutil.copy(given.static, copy)
    assert digest(settings(str(copy))) == digest(settings(given.static))
    copy.write_text("the 1 2 3 4\n")
    assert digest(settings(str(copy))) != digest(settings(given.static))
    assert settings(PACKAGE)["inputs"]["static"] == PACKAGE  # so that what was measured before is found


def test_ambiguous_words_belong_to_their_sentences(
    given: Reproduced, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(given.elmo, str(given.model), given.data, tmp_path, TINY)
    before = sense_distances.plan(bench).settings
    other = tmp_path / "senses.tsv"
    other.write_text(sense_distances.SENSES.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    monkeypatch.setattr(sense_distances, "SENSES", other)
    assert digest(sense_distances.plan(bench).settings) != digest(before)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--ask", "No word is marked."), "no word is marked in 'No word is marked.'"),
        (("--ask", "[Two] [words]."), "2 are marked: [Two], [words]"),
        (("--cove", "nope.pth"), "there is no file nope.pth"),
        (("--data", "nope"), "there is no folder nope with data sets"),
        (("--vectors", "nope.txt"), "there is no file nope.txt"),
        (("--vectors", "none", "--only", "table4"), "give a file of them, or glove-6b-50d"),
        (("--task", "pos", "--only", "table1"), "the task 'pos' is in none of table1; they train: squad, snli, srl"),
        (("--task", "coref", "--only", "table2,senses"), "the task 'coref' is in none of table2, senses"),
        (("--task", "ner", "--only", "table4"), "the task 'ner' is in none of table4; they train none"),
        (("--task", "nre"), "there is no task 'nre'"),
        (("--only", "table7"), "there is no part 'table7'; there are: table1, table2"),
    ],
)
def test_what_is_wrong_is_said_before_the_model_is_loaded(
    given: Reproduced, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], said: str
) -> None:
    def load(*given: Any, **options: Any) -> None:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr(Elmo, "from_pretrained", load)
    monkeypatch.chdir(tmp_path)
    assert said in given.run(*options, out=tmp_path / "report", code=1).stderr
    assert not (tmp_path / "report").exists()


def test_cove_that_reads_other_vectors_is_refused_at_once(given: Reproduced, tmp_path: Path) -> None:
    weights = cove(tmp_path / "cove.pth", width=5)
    refused = given.run("--cove", weights, "--estimate", out=tmp_path / "report", code=1).stderr
    assert "cove.pth reads word vectors of 5 numbers" in refused


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (json.dumps({"version": 1, "parts": {}}), "it does not say which model, budget and static vectors"),
        (json.dumps({"version": 1, "model": "en", "budget": "quick", "static": "x"}), "it does not say which model"),
        (json.dumps({"version": 1, "questions": "one"}), "its questions are not a list of sentences"),
        ("{", "holds no results of polyseme reproduce"),
    ],
)
def test_a_folder_with_other_results_is_refused(given: Reproduced, tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "reproduction.json").write_text(content, encoding="utf-8")
    assert said in given.run("--only", "senses", out=tmp_path, code=1).stderr
    assert (tmp_path / "reproduction.json").read_text(encoding="utf-8") == content


@pytest.mark.parametrize(
    "damaged",
    [
        {"parts": 3},
        {"parts": {"table1": []}},
        {"parts": {"table1": {"figures": {"ner": 5}}}},
        {"parts": {"table4": {"figures": {"tokens": "many"}}}},
        {"parts": {"figure1": {"figures": {"snli": {"baseline": [{}], "elmo": [{}]}}}}},
        {"parts": {}, "model": "en", "budget": "huge"},
    ],
)
def test_damaged_results_are_refused_in_one_sentence(tmp_path: Path, damaged: dict[str, Any]) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"version": 1, **damaged}), encoding="utf-8")
    assert "results.json is damaged" in refusal("reproduce", "--render", str(path), "--out", str(tmp_path / "page.md"))
    assert not (tmp_path / "page.md").exists()


def test_results_are_written_again_as_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert polyseme("reproduce", "--render", str(COMMITTED), "--out", str(page)).stdout == f"{page.as_posix()}\n"
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert list(tmp_path.iterdir()) == [page]


def test_an_empty_folder_is_not_in_the_way_of_the_next(given: Reproduced, tmp_path: Path) -> None:
    shutil.copytree(given.data / "coref", tmp_path / "coref")
    (tmp_path / "coref" / "conll-2012").mkdir()
    found = find_task_data(tmp_path, "coref")
    assert not isinstance(found, Missing)
    assert found[0] == "coref/ontogum"
    shutil.rmtree(tmp_path / "coref" / "ontogum")
    missing = find_task_data(tmp_path, "coref")
    assert isinstance(missing, Missing)
    assert missing.reason.startswith("coref/conll-2012 has no file with 'train' in its name")


def test_results_are_written_again_into_a_folder(tmp_path: Path) -> None:
    polyseme("reproduce", "--render", str(COMMITTED), "--out", str(tmp_path / "again"))
    assert (tmp_path / "again" / "reproduction.json").read_bytes() == COMMITTED.read_bytes()
