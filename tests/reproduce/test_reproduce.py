"""polyseme reproduce, whole: on a few lines of every set, its figures are those that are computed without it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from helpers.command_line import polyseme
from helpers.paper_data import TEXT, TINY
from helpers.reproduced import Reproduced, figures, quickly_reproduced
from helpers.small_lms import small_lm
from polyseme.formats.native import save_native
from polyseme.index import builder
from polyseme.index.vector_index import Index
from polyseme.lm.likelihood import Likelihood
from polyseme.pretrain.training.evaluate_files import evaluate_files
from polyseme.pretrain.training.parallel import side_by_side
from polyseme.probes.cove import CoVeVectors
from polyseme.probes.frozen import BiLMVectors, TableVectors
from polyseme.probes.linear_probe import ProbeChoices, probe_tags
from polyseme.probes.wsd import evaluate_senses
from polyseme.reproduce import task_runs
from polyseme.reproduce.budgets import BUDGETS
from polyseme.reproduce.data_sets import find_task_data
from polyseme.reproduce.measurement import Missing
from polyseme.reproduce.neighbour_questions import QUESTIONS, measure_neighbours
from polyseme.senses.labelled import read_senses, tell_apart
from polyseme.settings import with_values
from polyseme.tasks.data_files import find_data
from polyseme.tasks.definition import find_task
from polyseme.tasks.run import TaskPlan, train_task
from polyseme.tasks.trained_task import Task
from polyseme.tasks.treebank import read_treebank


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reproduced]:
    """All parts, once for all tests of this file."""
    with quickly_reproduced(tmp_path_factory.mktemp("reproduce")) as made:
        made.run()
        yield made


def train_directly(
    reproduced: Reproduced, task: str, folder: Path, seed: int, **choices: Any
) -> tuple[float, TaskPlan]:
    definition, changes = find_task(task), TINY.changes[task]
    common = {"static": reproduced.static, "model": str(reproduced.model)}
    preset = with_values(definition.presets["cpu"], {**common, **changes, **choices}, "a task")
    found = find_task_data(reproduced.data, task)
    assert not isinstance(found, Missing)
    plan = TaskPlan(task, found[1], folder, preset, "cpu", seed)
    return train_task(plan).scores.values[definition.metric], plan


def test_scores_of_tasks_are_those_of_their_runs(reproduced: Reproduced, tmp_path: Path) -> None:
    row = reproduced.parts["table1"]["ner"]
    for seed in range(2):
        dev, plan = train_directly(reproduced, "ner", tmp_path / f"none{seed}", seed, elmo="none")
        assert row["baseline"][seed]["score"] == dev
        assert plan.data.test is not None
        assert row["baseline"][seed]["test"]["score"] == Task.load(plan.out).evaluate(plan.data.test).values["f1"]
    last, _ = train_directly(reproduced, "srl", tmp_path / "last", 0, elmo="input", layers="last")
    assert reproduced.parts["table2"]["srl"]["last"][0]["score"] == last
    output, _ = train_directly(reproduced, "snli", tmp_path / "output", 0, elmo="output")
    assert reproduced.parts["table3"]["snli"]["output"][0]["score"] == output


def test_every_part_has_its_rows(reproduced: Reproduced) -> None:
    parts = reproduced.parts
    assert list(parts["table1"]) == ["squad", "snli", "srl", "coref", "ner", "sst"]
    assert {row["split"] for row in parts["table1"].values()} == {"dev", "test"}  # only ner has a test set
    assert parts["table2"]["snli"]["lambda_0.001"] == parts["table1"]["snli"]["elmo"]
    assert parts["table3"]["snli"]["both"] == parts["table1"]["snli"]["elmo"]
    assert [one["share"] for one in parts["figure1"]["srl"]["elmo"]] == [0.5, 1.0]
    half, whole = (one["runs"][0]["examples"]["train"] for one in parts["figure1"]["srl"]["elmo"])
    assert half == round(whole / 2)
    mixes = parts["figure2"]["coref"]["runs"][0]["mixes"]
    assert [len(mixes[place]["shares"]) for place in ("input", "output")] == [3, 3]


def test_what_the_frozen_model_knows(reproduced: Reproduced) -> None:
    parts, elmo, data = reproduced.parts, reproduced.elmo, reproduced.data
    found = evaluate_senses(BiLMVectors(elmo), data / "wsd", ["semeval2007"])["semeval2007"]
    assert parts["table5"]["biLM"]["semeval2007"]["f1"] == found.f1
    assert parts["table5"]["biLM"]["semeval2007"]["first_sense"] == found.first_sense_f1 == 0.5
    files = find_data(data / "pos" / "en_ewt", (".conllu",))
    train, dev, test = (read_treebank(path, "xpos") for path in (files.train, files.dev, files.test) if path)
    choices = ProbeChoices(steps=TINY.probe_steps)
    assert parts["table6"]["biLM"]["test"] == probe_tags(BiLMVectors(elmo), train, dev, test, choices).test
    static = TableVectors.load(reproduced.static, [s.tokens for s in (*train, *dev, *test)])
    assert parts["table6"]["static"]["dev"] == probe_tags(static, train, dev, test, choices).dev
    path = data / "corpora" / "en" / "enwiki-heldout.txt"
    with side_by_side() as run:
        likelihood = sum((one.likelihood for one in evaluate_files(small_lm(), [path], run=run)), Likelihood())
    assert [parts["perplexity"][key] for key in ("forward", "backward")] == list(likelihood.perplexities)
    assert parts["perplexity"]["average"] == likelihood.perplexity
    reports = tell_apart(elmo, read_senses(lang="en"))
    assert [layer["share"] for layer in parts["senses"]["layers"]] == [report.share.mean for report in reports]


def test_neighbours_are_those_of_the_index(reproduced: Reproduced) -> None:
    found = reproduced.parts["table4"]
    index = Index.in_memory(reproduced.elmo, [text for text in TEXT.split("\n") if text])
    assert found["tokens"] == len(index)
    assert [asked["question"] for asked in found["biLM"]] == list(QUESTIONS)
    assert found["texts"] == ["enwiki-heldout.txt"]
    for asked in found["biLM"]:
        question = asked["question"]
        same_word = index.neighbours(question, by="word", k=2, same_word=True)
        for name, nearest in (("any_word", index.neighbours(question, k=3, same_word=False)), ("this_word", same_word)):
            assert [one["sentence"] for one in asked[name]] == [one.marked for one in nearest]
            assert [one["similarity"] for one in asked[name]] == pytest.approx([one.similarity for one in nearest])
    assert set(found["static"]) == {"play", "bank", "present"}
    assert not (reproduced.out / "index").exists()
    assert all(word != other for word, near in found["static"].items() for other, _ in near)


def test_neighbours_go_on_where_they_were_stopped(
    reproduced: Reproduced, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was encoded before is not encoded again, and an index of another text is not in the way."""
    path, work = tmp_path / "text.txt", tmp_path / "index"

    def measure(text: str) -> dict[str, Any]:
        path.write_text(text, encoding="utf-8")
        return measure_neighbours(reproduced.elmo, [path], QUESTIONS[:2], reproduced.static, 1000, work)

    def stop(*given: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(builder, "put_folder_in_place", stop)
        measure(TEXT)
    assert list(work.glob("*.partial"))
    with monkeypatch.context() as patch:
        patch.setattr(builder, "encode_window", stop)
        found = measure(TEXT)
    assert found["biLM"] == reproduced.parts["table4"]["biLM"][:2]
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(builder, "put_folder_in_place", stop)
        measure(TEXT)
    assert measure("The cat sat on the bank.")["tokens"] == 7
    assert not work.exists()
    assert measure(" \n")["tokens"] == 0


def test_the_report_shows_these_figures_beside_the_papers(reproduced: Reproduced) -> None:
    parts, text = reproduced.parts, reproduced.markdown
    snli = [f"{runs[0]['score']:.2f}" for runs in (parts["table2"]["snli"][name] for name in ("baseline", "last"))]
    assert re.search(
        rf"\| SNLI \| accuracy, snli \| {snli[0]} \| {snli[1]} \|.*\| 88\.1 \| 89\.1 \| 89\.3 \| 89\.5 \|", text
    )
    layers = [f"{100 * share:.1f}" for share in parts["table6"]["biLM"]["test"]]
    assert re.search(rf"\| biLM, layer 1 \| [\d.]+ \| {layers[1]} \| 97\.3 \|", text)
    assert f"{parts['perplexity']['forward']:.1f} | {parts['perplexity']['backward']:.1f}" in text
    assert "91.93 ± 0.19" in text
    assert "Korean was skipped: looked for the folder pos/ko_gsd" in text


def test_the_page_needs_nothing_else(reproduced: Reproduced) -> None:
    page = (reproduced.out / "report.html").read_text(encoding="utf-8")
    sources = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert sources
    assert all(source.startswith(("data:image/svg+xml;base64,", "#")) for source in sources)
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", reproduced.markdown)
    assert pictures == [f"reproduction-{name}.svg" for name in ("figure-1", "figure-2", "senses", "languages")]
    assert all((reproduced.out / name).read_bytes().startswith(b"<?xml") for name in pictures)


def test_what_is_there_is_not_measured_again(reproduced: Reproduced, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any, **options: Any) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr(task_runs, "train_task", refuse)
    before = (reproduced.out / "report.html").read_bytes()
    reproduced.run()
    assert (reproduced.out / "report.html").read_bytes() == before
    rows = [line.split("\t") for line in reproduced.run("--estimate").stdout.splitlines()]
    assert rows[0] == ["part", "done", "to do", "seconds"]
    assert {row[2] for row in rows[1:]} == {"0"}
    once = len(list((reproduced.out / "results").iterdir()))  # a file for each measurement, however many parts share it
    assert rows[-1][:2] == ["all", str(once)]
    assert sum(int(row[1]) for row in rows[1:-1]) > once


def test_the_report_is_made_anew_from_the_figures(reproduced: Reproduced, tmp_path: Path) -> None:
    results = str(reproduced.out / "reproduction.json")
    polyseme("reproduce", "--render", results, "--out", str(tmp_path / "again"))
    for name in ("report.html", "report.md", "reproduction.json", "reproduction-figure-1.svg"):
        assert (tmp_path / "again" / name).read_bytes() == (reproduced.out / name).read_bytes()
    polyseme("reproduce", "--render", results, "--out", str(tmp_path / "page.md"))
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == reproduced.markdown


def test_figures_of_other_models_and_budgets_never_mix(reproduced: Reproduced, tmp_path: Path) -> None:
    save_native(small_lm(seed=1), tmp_path / "other")
    refused = reproduced.run(model=tmp_path / "other", code=1)
    assert re.search(r'a report of other figures: model was "small 1:.*" and is "small 1:.*"', refused.stderr)
    for options in ((), ("--estimate",)):
        refused = reproduced.run("--budget", "cpu", *options, code=1)
        assert 'budget was "quick" and is "cpu"; choose another folder' in refused.stderr
    elsewhere = reproduced.run("--estimate", model=tmp_path / "other", out=tmp_path / "report").stdout
    assert elsewhere.splitlines()[1].split("\t")[:3] == ["table1", "0", "14"]  # one seed of five tasks, two of ner


def test_an_interrupted_report_goes_on(reproduced: Reproduced, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options, out = ("--only", "table3", "--task", "snli", "--task", "srl"), tmp_path / "report"
    trained, runs = list[str](), [(task, place) for task in ("snli", "srl") for place in ("input", "both", "output")]

    def interrupted(plan: TaskPlan, **given: Any) -> Any:
        trained.append(plan.out.name)
        if len(trained) == 3:
            raise KeyboardInterrupt
        return train_task(plan, **given)

    monkeypatch.setattr(task_runs, "train_task", interrupted)
    stopped = reproduced.run(*options, out=out, code=130)
    assert "the same command continues" in stopped.stderr
    table = figures(out)["table3"]
    assert [table[task][place][0] is not None for task, place in runs] == [True] * 2 + [False] * 4
    reproduced.run(*options, out=out)
    assert trained[2:4] == [trained[2]] * 2  # the one that was stopped is the next
    assert len(trained) == 7
    for task, place in runs:
        again, before = (found["table3"][task][place][0] for found in (figures(out), reproduced.parts))
        assert {**again, "seconds": 0} == {**before, "seconds": 0}


def test_a_run_that_fails_leaves_the_others_alone(
    reproduced: Reproduced, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    diverging = {**TINY.changes["ner"], "rate": 1e30}
    monkeypatch.setitem(BUDGETS, "quick", replace(TINY, changes={**TINY.changes, "ner": diverging}))
    options = ("--only", "table1,senses", "--task", "ner")
    failed = reproduced.run(*options, out=tmp_path / "report", code=1)
    assert "measurements failed; the report lists them" in failed.stderr
    text = (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    assert "NER: a run failed: the loss is" in text
    assert "| token layer | 1.000 | 1.000 |" in text


def test_what_is_not_there_is_named(reproduced: Reproduced, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    said = reproduced.run("--data", str(empty), "--estimate", out=tmp_path / "report").stderr
    assert "table4: skipped, looked for corpora/en/enwiki-heldout.txt or corpora/en/en-everyday.txt" in said
    assert "ner/conll-2003 or ner/uner-ewt with files named train and dev in the data folder" in said
    assert "table5: skipped, looked for semcor.data.xml, semcor.gold.key.txt, semeval2007.data.xml" in said
    (empty / "sst").mkdir()
    said = reproduced.run("--data", str(empty), "--estimate", out=tmp_path / "report").stderr
    assert "table1: skipped, sst has no file with 'train' in its name; found: nothing" in said
    said = reproduced.run("--only", "table7", code=1).stderr
    assert "there is no part 'table7'; there are: table1, table2" in said
    assert "there is no task 'nre'" in reproduced.run("--task", "nre", code=1).stderr


def test_cove_has_its_rows_where_it_is_given(reproduced: Reproduced, tmp_path: Path) -> None:
    weights = tmp_path / "cove.pth"
    torch.save(nn.LSTM(4, 3, num_layers=2, bidirectional=True).state_dict(), weights)
    out = tmp_path / "report"
    reproduced.run("--only", "table5,table6", "--cove", str(weights), out=out)
    text = (out / "report.md").read_text(encoding="utf-8")
    assert re.search(r"\| CoVe, layer 2 \| [\d.]+ \| 64\.7 \|", text)
    assert re.search(r"\| CoVe, layer 1 \| [\d.]+ \| [\d.]+ \| 93\.3 \|", text)
    cove = CoVeVectors.load(
        weights, TableVectors.load(reproduced.static, [["the", "bank", "here", "on", "your", "is"]])
    )
    expected = evaluate_senses(cove, reproduced.data / "wsd", ["semeval2007"])["semeval2007"].f1
    assert figures(out)["table5"]["CoVe"]["semeval2007"]["f1"] == expected
