"""polyseme evaluate and polyseme finetune, as a user sees them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from helpers.command_line import polyseme, refusal
from polyseme.bilm_config import BiLMConfig, CharacterConfig
from polyseme.cli import evaluate as evaluate_verb
from polyseme.cli import finetune as finetune_verb
from polyseme.elmo import Elmo
from polyseme.formats.detect import load
from polyseme.formats.model import SoftmaxWeights, StoredModel
from polyseme.formats.native import save_native
from polyseme.lm.likelihood import Likelihood
from polyseme.nn.bilm import BiLM
from polyseme.pretrain.training.evaluate_files import evaluate_files
from polyseme.text.characters import ByteScheme
from polyseme.text.vocabulary import Indexer, Vocabulary

WORDS = ("<S>", "</S>", "<UNK>", "the", "cat", "sees", "a", "dog", ".")
TEXT = "the cat sees a dog .\nthe dog sees\n\na zebra\n"
CHANGES = ("softmax.kind=full", "text.tokens=60", "budget.tokens=200", "budget.validate_every=100")
SHORT = [word for change in CHANGES for word in ("--set", change)]


@pytest.fixture(autouse=True)
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders "model", "forward" that reads one way, "vectors" without a softmax; files a.txt and b.txt."""
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(TEXT)
    Path("b.txt").write_text("the cat\n")
    characters = CharacterConfig(alphabet=261, dim=3, max_characters=8, filters=((1, 4),), highways=1)
    indexer, card = Indexer(ByteScheme(max_characters=8)), {"tokenization": "whitespace"}
    for name, both in (("model", True), ("forward", False)):
        config = BiLMConfig(characters=characters, cell=8, projection=4, bidirectional=both)
        torch.manual_seed(0)
        tensors = {name: (0.5 * torch.randn_like(value)).numpy() for name, value in BiLM(config).state_dict().items()}
        softmax = SoftmaxWeights(torch.randn(len(WORDS), 4).numpy(), torch.randn(len(WORDS)).numpy())
        save_native(StoredModel(config, tensors, indexer, Vocabulary(WORDS), softmax, card=card), name)
        if both:
            save_native(StoredModel(config, tensors, indexer, card=card), "vectors")


def rows(printed: str) -> list[dict[str, str]]:
    header, *lines = printed.splitlines()
    return [dict(zip(header.split("\t"), line.split("\t"), strict=True)) for line in lines]


def expected(*files: str, **options: str) -> Likelihood:
    found = evaluate_files(load("model"), files, **options)  # type: ignore[arg-type]
    return sum((document.likelihood for document in found), Likelihood())


@pytest.mark.parametrize("state", ["reset", "warm", "carry"])
def test_evaluate_prints_the_figures_of_each_file_and_of_all(state: str) -> None:
    found = rows(polyseme("evaluate", "model", "a.txt", "b.txt", "--state", state, "--threads", "1").stdout)
    assert [row["file"] for row in found] == ["a.txt", "b.txt", "all"]
    for row, files in zip(found, (["a.txt"], ["b.txt"], ["a.txt", "b.txt"]), strict=True):
        figures = expected(*files, state=state).to_dict()
        assert {name: float(row[name]) for name in figures} == pytest.approx(figures, rel=1e-4)
        assert (row["state"], row["vocabulary_size"]) == (state, "9")


def test_evaluate_as_json_and_by_document() -> None:
    plain = json.loads(polyseme("evaluate", "model", "a.txt", "--json").stdout)
    assert plain["vocabulary_size"] == 9
    assert plain["average"] == pytest.approx(expected("a.txt").perplexity)
    assert plain["unknown_rate"] == pytest.approx(1 / 11)
    assert [one["file"] for one in plain["files"]] == ["a.txt"]
    *documents, last = polyseme("evaluate", "model", "a.txt", "b.txt", "--json", "--per-document").stdout.splitlines()
    assert [(json.loads(line)["file"], json.loads(line)["document"]) for line in documents] == [
        ("a.txt", "0"),
        ("a.txt", "1"),
        ("b.txt", "0"),
    ]
    assert json.loads(last)["tokens"] == sum(json.loads(line)["tokens"] for line in documents)
    assert json.loads(last)["average"] == pytest.approx(expected("a.txt", "b.txt").perplexity)


def test_evaluate_on_a_terminal_is_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate_verb, "on_terminal", lambda: True)
    shown = polyseme("evaluate", "model", "a.txt", "--per-document").stdout
    assert "model, state reset, a vocabulary of 9 words" in shown
    assert f"{expected('a.txt').perplexity:.2f}" in shown
    assert sum("a.txt" in line for line in shown.splitlines()) == 3


def test_evaluate_splits_text_as_asked_and_knows_one_direction() -> None:
    Path("c.txt").write_text("the cat.")
    english = rows(polyseme("evaluate", "model", "c.txt", "--lang", "en").stdout)
    assert english[0]["tokens"] == "3"
    (forward,) = rows(polyseme("evaluate", "forward", "a.txt").stdout)
    assert (forward["backward"], forward["forward"]) == ("", forward["average"])


def test_finetune_reports_before_and_after_and_what_comes_next(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("c.txt").write_text(TEXT * 20)
    polyseme("prepare", "c.txt", "--out", "corpus", "--lang", "whitespace", "--workers", "1")
    arguments = ["finetune", "model", "corpus", "--threads", "1", *SHORT]
    result = polyseme(*arguments, "--out", "run", "--softmax-tokens", "100")
    found = {row["held-out perplexity"]: float(row["average"]) for row in rows(result.stdout)}
    assert list(found) == ["before", "softmax fitted", "after"]  # zebra is new
    assert found["after"] < found["before"]
    assert "next: polyseme evaluate" in result.stderr.lower()
    assert Elmo.from_pretrained("run/model", device="cpu").score("a zebra").unknown.tolist() == [False, False]

    plain = json.loads(polyseme(*arguments, "--out", "other", "--seed", "1", "--json", "--quiet").stdout)
    assert plain["after"]["average"] <= plain["before"]["average"]
    monkeypatch.setattr(finetune_verb, "on_terminal", lambda: True)
    shown = polyseme("finetune", "model", "corpus", "--out", "run", "--resume", "--threads", "1").stdout
    assert f"{found['before']:.2f}" in shown  # a finished run, asked again


def test_pretrain_with_init_says_that_the_shape_is_the_models() -> None:
    Path("c.txt").write_text("the cat sees a dog .\n" * 20)
    options = ["--lang", "whitespace", "--workers", "1", "--vocabulary", "model/vocab.txt"]
    polyseme("prepare", "c.txt", "--out", "corpus", *options)
    said = "the network has the shape of model, not that of the recipe tiny"
    arguments = ["pretrain", "corpus", "--recipe", "tiny", "--init", "model", "--out", "run", "--threads", "1", *SHORT]
    assert said in polyseme(*arguments).stderr
    assert load("run/model").card["training"]["recipe"]["model"]["cell"] == 8
    assert said not in polyseme(*arguments, "--resume").stderr  # the recipe of the run has it


def test_a_resumed_run_keeps_its_recipe_and_refuses_to_be_another_run() -> None:
    Path("c.txt").write_text(TEXT * 20)
    polyseme("prepare", "c.txt", "--out", "corpus", "--lang", "whitespace", "--workers", "1")
    arguments = ["pretrain", "corpus", "--out", "run", "--threads", "1"]
    polyseme(*arguments, "--recipe", "tiny", *SHORT)
    resume = [*arguments, "--resume"]
    polyseme(*resume, "--set", "optimizer.rate=0.002", "--set", "budget.tokens=300")
    recipe = json.loads(Path("run/recipe.json").read_text())
    assert (recipe["name"], recipe["text"]["tokens"]) == ("tiny", 60)
    assert (recipe["optimizer"]["rate"], recipe["budget"]["tokens"]) == (0.002, 300)
    assert load("run/model").card["training"]["recipe"] == recipe
    polyseme(*resume, "--recipe", "tiny")
    assert json.loads(Path("run/recipe.json").read_text()) == recipe
    for change, sentence in (
        (["--recipe", "compact"], "the run in run has the recipe tiny, not compact; leave out --recipe"),
        (["--seed", "3"], "run holds another run: seed was 0 and is 3; resume it with that"),
        (["--set", "model.cell=64"], "run holds another run: model.cell was 128 and is 64; resume it with that"),
        (["--valid", "a.txt"], "a.txt"),
        (["--init", "model"], "run began with another model"),
    ):
        assert sentence in refusal(*resume, *change)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["evaluate", "vectors", "a.txt"], "vectors has no softmax, so it gives vectors but no probabilities"),
        (["evaluate", "model", "empty.txt"], "empty.txt has no text to evaluate"),
        (["evaluate", "model", "binary.txt"], "binary.txt holds binary data"),
        (["evaluate", "model", "missing.txt"], "missing.txt does not exist"),
        (["finetune", "model", "a.txt", "--out", "run"], "a.txt is not a prepared corpus"),
        (["finetune", "a.txt", "corpus", "--out", "run"], "a.txt: this is not a model that polyseme knows"),
        (["finetune", "model", "corpus", "--out", "run", "--set", "budget.token=3"], "a recipe has no 'budget.token'"),
        (["finetune", "model", "corpus", "--out", "run", "--resume"], "run holds no run to resume"),
    ],
)
def test_failures_are_one_sentence_and_nothing_else(arguments: list[str], sentence: str) -> None:
    Path("empty.txt").touch()
    Path("binary.txt").write_bytes(b"\x00\x01" * 100)
    assert sentence in refusal(*arguments)


def test_wrong_use_has_code_2() -> None:
    polyseme("evaluate", "model", code=2)
    polyseme("evaluate", "model", "a.txt", "--state", "cold", code=2)
