"""benchmarks/models.py: parts are kept, never mixed with another model's; test is read only when it is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import models
from helpers.small_lms import small_lm
from models_page import section
from polyseme.pretrain.training.evaluate_files import evaluate_files
from polyseme.pretrain.training.parallel import side_by_side
from polyseme.probes.linear_probe import ProbeChoices, probe_tags
from polyseme.reproduce import knowledge

TAGS = {"the": "DET", "a": "DET", "cat": "NOUN", "present": "NOUN", "sat": "VERB", "is": "VERB", ".": "PUNCT"}
SENTENCES = ("the cat sat .", "a present is the present .", "the present sat .", "is a cat the cat")


def treebank(sentences: tuple[str, ...]) -> str:
    blocks = (
        "".join(f"{n}\t{w}\t_\t{TAGS[w]}\t_\t_\t_\t_\t_\t_\n" for n, w in enumerate(sentence.split(), start=1))
        for sentence in sentences
    )
    return "\n".join(blocks) + "\n"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A language "en" with a few sentences of everything."""
    folder = tmp_path / "data"
    (folder / "pos" / "bank").mkdir(parents=True)
    (folder / "corpora" / "en").mkdir(parents=True)
    (folder / "corpora" / "en" / "held.txt").write_text("The cat sat on a present.\nHere is your cat.\n\nA cat.\n")
    for split, sentences in (("train", SENTENCES), ("dev", SENTENCES[:2]), ("test", SENTENCES[2:])):
        (folder / "pos" / "bank" / f"x-{split}.conllu").write_text(treebank(sentences))
    monkeypatch.setitem(models.LANGUAGES, "en", models.Language(("en/held",), (("bank", "upos"),)))
    quick = ProbeChoices(decays=(1e-4,), steps=60)
    monkeypatch.setattr(knowledge, "probe_tags", lambda *given: probe_tags(*given[:4], quick))
    return folder


def bench(data: Path, *, seed: int = 0, test: bool = False) -> models.Bench:
    return models.Bench("en", small_lm(seed), data, None, test, 1)


def read(results: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((results / "model-en.json").read_text())
    return found


def test_parts_are_kept_and_never_mixed(data: Path, tmp_path: Path) -> None:
    models.measure(bench(data), tmp_path, None)
    first = read(tmp_path)
    assert set(first["parts"]) == {"senses", "speed", "pos-bank-upos", "perplexity", "states"}

    marked = read(tmp_path)
    for part in marked["parts"].values():
        part["mark"] = True
    del marked["parts"]["perplexity"]
    (tmp_path / "model-en.json").write_text(json.dumps(marked))
    models.measure(bench(data), tmp_path, None)
    again = read(tmp_path)["parts"]
    assert {name for name, part in again.items() if "mark" in part} == set(again) - {"perplexity"}
    assert again["perplexity"]["files"] == first["parts"]["perplexity"]["files"]

    models.measure(bench(data), tmp_path, ["senses"])
    assert "mark" not in read(tmp_path)["parts"]["senses"]
    assert "mark" in read(tmp_path)["parts"]["states"]

    models.measure(bench(data, seed=1), tmp_path, ["senses"])
    other = read(tmp_path)
    assert set(other["parts"]) == {"senses"}
    assert other["digest"] != first["digest"]


def test_test_is_read_only_when_it_is_asked_for(data: Path, tmp_path: Path) -> None:
    (data / "pos" / "bank" / "x-test.conllu").rename(tmp_path / "x-test.conllu")
    models.measure(bench(data), tmp_path, ["pos-bank-upos"])
    assert read(tmp_path)["parts"]["pos-bank-upos"]["layers"]["test"] is None
    (tmp_path / "x-test.conllu").rename(data / "pos" / "bank" / "x-test.conllu")
    models.measure(bench(data, test=True), tmp_path, ["pos-bank-upos"])
    part = read(tmp_path)["parts"]["pos-bank-upos"]
    assert len(part["layers"]["test"]) == 3
    assert part["most_frequent"]["test"] is not None


def test_the_figures_are_those_of_the_functions_and_stand_on_the_page(data: Path, tmp_path: Path) -> None:
    models.measure(bench(data), tmp_path, ["perplexity", "senses", "states", "pos-bank-upos"])
    result = read(tmp_path)
    (held_out,) = result["parts"]["perplexity"]["files"].values()
    path = data / "corpora" / "en" / "held.txt"
    with side_by_side() as run:
        documents = list(evaluate_files(small_lm(), [path], unit="document", lang="en", run=run))
    first, *others = (document.likelihood for document in documents)
    assert held_out == sum(others, first).to_dict()
    assert result["parts"]["senses"]["layers"][0]["share"] == 0.5
    states = result["parts"]["states"]
    assert states["reset"]["perplexity"]["average"] == pytest.approx(held_out["average"])
    assert states["reset"]["perplexity"] != states["carry"]["perplexity"]
    text = section(result, tmp_path)
    assert f"| {held_out['forward']:.1f} | {held_out['backward']:.1f} | {held_out['average']:.1f} |" in text
    assert "| carry |" in text
    assert (tmp_path / "model-en-layers.png").stat().st_size > 1000


def test_an_unknown_part_is_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="there is no part wds; there are: senses, speed"):
        models.measure(bench(data), tmp_path, ["wds"])
