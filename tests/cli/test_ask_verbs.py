"""polyseme score and polyseme substitutes, as a user sees them."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from helpers.command_line import polyseme, refusal
from polyseme.bilm_config import BiLMConfig, CharacterConfig
from polyseme.cli import score as score_verb
from polyseme.cli import substitutes as substitutes_verb
from polyseme.cli.app import app
from polyseme.cli.printing import bar
from polyseme.cli.score import names_a_file
from polyseme.elmo import Elmo
from polyseme.formats.detect import load
from polyseme.formats.model import SoftmaxWeights, StoredModel
from polyseme.formats.native import save_native
from polyseme.nn.bilm import BiLM
from polyseme.text.characters import ByteScheme
from polyseme.text.vocabulary import Indexer, Vocabulary

WORDS = ("<S>", "</S>", "<UNK>", "the", "cat", "[", "sees", "a", "dog", ".")
MARKED = "the [cat] sees a dog ."


@pytest.fixture(autouse=True)
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder "model", and "vectors" without a softmax."""
    monkeypatch.chdir(tmp_path)
    characters = CharacterConfig(alphabet=261, dim=3, max_characters=8, filters=((1, 4),), highways=1)
    config = BiLMConfig(characters=characters, cell=8, projection=4)
    torch.manual_seed(0)
    tensors = {name: (0.5 * torch.randn_like(value)).numpy() for name, value in BiLM(config).state_dict().items()}
    softmax = SoftmaxWeights(torch.randn(len(WORDS), 4).numpy(), torch.randn(len(WORDS)).numpy())
    indexer = Indexer(ByteScheme(max_characters=8))
    card = {"tokenization": "whitespace"}
    vocabulary = Vocabulary(WORDS, tuple(range(10, 20)))
    save_native(StoredModel(config, tensors, indexer, vocabulary, softmax, card=card), "model")
    save_native(StoredModel(config, tensors, indexer, card=card), "vectors")


def rows(printed: str) -> list[dict[str, str]]:
    header, *lines = printed.splitlines()
    return [dict(zip(header.split("\t"), line.split("\t"), strict=True)) for line in lines]


def test_score_prints_tokens_and_boundaries_as_lines() -> None:
    found = rows(polyseme("score", "the zebra sees\na dog", "--model", "model").stdout)
    expected = Elmo(load("model"), device="cpu").score("the zebra sees\na dog")
    assert expected.backward is not None
    assert [row["token"] for row in found] == ["<S>", "the", "zebra", "sees", "</S>", "<S>", "a", "dog", "</S>"]
    assert [row["sentence"] for row in found] == ["0"] * 5 + ["1"] * 4
    assert [row["unknown"] for row in found if row["token"] == "zebra"] == ["1"]
    assert float(found[3]["forward"]) == pytest.approx(expected.forward[2], rel=1e-4)
    assert float(found[3]["backward_surprisal"]) == pytest.approx(-expected.backward[2] / math.log(2), rel=1e-4)
    assert float(found[2]["entropy"]) == pytest.approx(expected.entropy[1], rel=1e-4)
    assert (found[2]["begin"], found[2]["end"]) == ("4", "9")
    assert (found[0]["forward"], found[4]["backward"]) == ("", "")
    assert [found[2][name] for name in ("forward", "backward", "surprisal", "backward_surprisal")] == [""] * 4


def test_score_gives_unknown_words_a_figure_only_when_asked() -> None:
    asked = rows(polyseme("score", "the zebra", "--model", "model", "--unknown", "score").stdout)
    expected = Elmo(load("model"), device="cpu").score("the zebra", unknown="score")
    assert float(asked[2]["forward"]) == pytest.approx(expected.forward[1], rel=1e-4)
    (line,) = polyseme("score", "the zebra", "--model", "model", "--json").stdout.splitlines()
    assert json.loads(line)["sentences"][0]["surprisal"][1] is None


def test_score_of_words_has_one_row_a_word_and_no_boundaries() -> None:
    Path("a.txt").write_text("the cat\na zebra\n")
    found = rows(polyseme("score", "a.txt", "--model", "model", "--words").stdout)
    assert [(row["text"], row["sentence"], row["number"], row["word"], row["unknown"]) for row in found] == [
        *[("0", "0", "0", "the", "0"), ("0", "0", "1", "cat", "0")],
        *[("1", "0", "0", "a", "0"), ("1", "0", "1", "zebra", "1")],
    ]
    assert (found[3]["surprisal"], found[3]["backward_surprisal"]) == ("", "")
    assert float(found[1]["surprisal"]) > 0 and float(found[3]["backward_entropy"]) > 0


def test_a_sentence_may_start_warm() -> None:
    warm = Elmo(load("model"), device="cpu", state="warm")
    found = rows(polyseme("score", "the cat", "--model", "model", "--state", "warm").stdout)
    assert float(found[1]["forward"]) == pytest.approx(warm.score("the cat").forward[0], rel=1e-4)
    (best,) = rows(polyseme("substitutes", MARKED, "--model", "model", "--state", "warm", "-k", "1").stdout)
    assert float(best["forward"]) == pytest.approx(warm.substitutes(MARKED, k=1)[0].forward, rel=1e-4)
    (reset,) = rows(polyseme("substitutes", MARKED, "--model", "model", "-k", "1").stdout)
    assert reset["forward"] != best["forward"]


def test_score_of_a_file_has_the_number_of_the_line_and_one_row_a_sentence() -> None:
    Path("a.txt").write_text("the cat\n\na dog sees\n")
    found = rows(polyseme("score", "a.txt", "--model", "model", "--sentences").stdout)
    expected = Elmo(load("model"), device="cpu").score(["the cat", "a dog sees"])
    assert [(row["text"], row["tokens"], row["words"]) for row in found] == [
        ("0", "2", "the cat"),
        ("2", "3", "a dog sees"),
    ]
    for row, one in zip(found, expected, strict=True):
        assert float(row["forward"]) == pytest.approx(one.total.forward, rel=1e-4)
        assert float(row["perplexity"]) == pytest.approx(one.total.perplexities[0], rel=1e-4)


def test_score_as_json_and_of_tables_and_treebanks() -> None:
    Path("a.jsonl").write_text('{"body": "the cat"}\n{"body": "a dog"}\n')
    lines = polyseme("score", "a.jsonl", "--field", "body", "--model", "model", "--json").stdout.splitlines()
    assert [json.loads(line)["text"] for line in lines] == ["the cat", "a dog"]
    Path("a.csv").write_text("nr,text\nx7,the cat\n")
    (line,) = polyseme("score", "a.csv", "--id", "nr", "--model", "model", "--json").stdout.splitlines()
    assert json.loads(line)["id"] == "x7"
    Path("b.conllu").write_text("# sent_id = x\n1\tthe\t_\n2\tcat\t_\n\n")
    (line,) = polyseme("score", "b.conllu", "--model", "model", "--json").stdout.splitlines()
    assert (json.loads(line)["id"], json.loads(line)["sentences"][0]["tokens"]) == ("x", ["the", "cat"])


def test_score_of_standard_input() -> None:
    found = CliRunner().invoke(app, ["score", "-", "--model", "model", "--sentences"], input="the cat\n")
    assert rows(found.stdout)[0]["words"] == "the cat"


def test_score_on_a_terminal_is_a_table_with_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_verb, "on_terminal", lambda: True)
    shown = polyseme("score", "the zebra [", "--model", "model").stdout
    assert re.search(r"zebra +unknown +unknown", shown) and "█" in shown
    assert [line.split()[0] for line in shown.splitlines() if line.strip()][-2:] == ["sum,", "perplexity"]
    assert " [ " in shown  # no markup of rich
    assert "the zebra [" in polyseme("score", "the zebra [", "--model", "model", "--sentences").stdout
    assert re.search(r"zebra +unknown +unknown +\d", polyseme("score", "a zebra", "--model", "model", "--words").stdout)


def test_substitutes_as_lines_json_and_table(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = Elmo(load("model"), device="cpu").substitutes(MARKED, k=3, direction="forward")
    arguments = ("substitutes", MARKED, "--model", "model", "--k", "3", "--direction", "forward")
    found = rows(polyseme(*arguments).stdout)
    assert [row["word"] for row in found] == [one.word for one in expected]
    assert [float(row["probability"]) for row in found] == pytest.approx(
        [one.probability for one in expected], rel=1e-4
    )
    plain = json.loads(polyseme(*arguments, "--json").stdout)
    assert [one["word"] for one in plain] == [one.word for one in expected]
    monkeypatch.setattr(substitutes_verb, "on_terminal", lambda: True)
    shown = polyseme("substitutes", MARKED, "--model", "model", "-k", "100", "--exclude-original").stdout
    words = [line.split()[0] for line in shown.splitlines() if "%" in line or "e-" in line]
    assert sorted(words) == sorted(set(WORDS[3:]) - {"cat"})


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["score", "the cat", "--model", "vectors"],
            "vectors has no softmax, so it gives vectors but no probabilities",
        ),
        (["score", "missing.txt", "--model", "model"], "missing.txt does not exist"),
        (["score", "the cat", "--model", "model", "--words", "--json"], "give one of them"),
        (["score", "", "--model", "model"], "'' has no word to score"),
        (["score", "empty.txt", "--model", "model"], "empty.txt has no word to score"),
        (["score", "binary.txt", "--model", "model"], "binary.txt holds binary data"),
        (["score", "the cat", "--field", "body", "--model", "model"], "the cat does not exist"),
        (["substitutes", MARKED, "--model", "vectors"], "polyseme finetune MODEL DIR --out RUN"),
        (["substitutes", "the cat", "--model", "model"], "no word is marked in 'the cat'"),
        (["substitutes", "[the] [cat]", "--model", "model"], "2 are marked: [the], [cat]"),
        (["neighbours", "the cat"], "no word is marked in 'the cat'; put one in brackets"),
    ],
)
def test_failures_are_one_sentence_and_nothing_else(arguments: list[str], sentence: str) -> None:
    Path("empty.txt").touch()
    Path("binary.txt").write_bytes(b"\x00\x01" * 100)
    assert sentence in refusal(*arguments)


def test_wrong_use_has_code_2() -> None:
    polyseme("substitutes", MARKED, "--k", "0", code=2)
    polyseme("substitutes", MARKED, "--direction", "sideways", code=2)


@pytest.mark.parametrize(
    ("argument", "is_file"),
    [
        ("-", True),
        ("a.txt", True),
        ("*.TXT", True),
        ("He left a.txt", False),
        ("and/or", False),
        ("1/2.5", False),
        ("", False),
        ("model", True),
        ("nowhere/test.bio", True),
        ("nowhere\\test.bio", True),
        ("./nowhere", True),
        ("../nowhere", True),
        ("/nowhere/test", True),
        ("C:\\nowhere", True),
        ("~/nowhere", True),
        ("/", True),
        ("/ or \\", False),
        ("test.iob2", True),
        ("x" * 5000, False),
        ("\0", False),
    ],
)
def test_a_text_is_told_from_a_file(argument: str, is_file: bool) -> None:
    assert names_a_file(argument) == is_file


def test_bars() -> None:
    assert [bar(share, 4) for share in (0, 0.5, 1, 9, -1)] == ["", "██", "████", "████", ""]
    assert bar(0.28, 4) == "█▏"
