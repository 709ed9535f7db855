"""The files of CoNLL-2003, which a stranger has, train as they are."""

from __future__ import annotations

from pathlib import Path

from polyseme.tasks.ner.task import TASK
from polyseme.tasks.run import TaskPlan, train_task
from polyseme.tasks.trained_task import Task

SENTENCES = (
    "EU NNP I-NP I-ORG\nrejects VBZ I-VP O\nGerman JJ I-NP I-MISC\ncall NN I-NP O\n. . O O\n",
    "Peter NNP I-NP I-PER\nBlackburn NNP I-NP I-PER\n",
    "BRUSSELS NNP I-NP I-LOC\n1996-08-22 CD I-NP O\n",
    "Japan NNP I-NP I-LOC\nbeat VBD I-VP O\nChina NNP I-NP I-LOC\nGerman JJ I-NP I-MISC\nBritish JJ I-NP B-MISC\n",
)
SMALL = {"elmo": "none", "static": "none", "characters": 8, "hidden": 16, "batch": 4, "rate": 0.05, "patience": 25}


def test_conll_2003_trains_as_it_is(tmp_path: Path) -> None:
    """Its own names, four columns with blanks, IOB1, a line that begins each document, either kind of line end."""
    document = "-DOCSTART- -X- O O\n\n" + "\n".join(SENTENCES) + "\n"
    for name, end in (("eng.train", "\n"), ("eng.testa", "\r\n"), ("eng.testb", "\n")):
        (tmp_path / name).write_bytes((document * 2).replace("\n", end).encode())
    files = TASK.find(tmp_path)
    assert (files.train.name, files.dev.name) == ("eng.train", "eng.testa")
    assert files.test == tmp_path / "eng.testb"
    finished = train_task(TaskPlan.of("ner", files, tmp_path / "run", epochs=25, **SMALL))
    assert set(finished.scores.classes) == {"LOC", "MISC", "ORG", "PER"}
    assert finished.scores.values["f1"] >= 60
    assert Task.load(tmp_path / "run").evaluate(tmp_path / "eng.testb").values == finished.scores.values
