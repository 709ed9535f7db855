"""Sentiment trees, and the biattentive network on them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from helpers.paths import DATA, needs
from helpers.small_features import WHERE, small_features, small_inputs
from polyseme.errors import InputError
from polyseme.settings import with_values
from polyseme.tasks.data_files import find_data
from polyseme.tasks.inputs import Where
from polyseme.tasks.run import TaskPlan, train_task
from polyseme.tasks.spans import Span
from polyseme.tasks.sst.data import SstSentence, parse_tree
from polyseme.tasks.sst.network import SstSizes
from polyseme.tasks.sst.task import TASK
from polyseme.tasks.trained_task import Task
from polyseme.text.tokenization import split_text

SIZES = SstSizes(hidden=5)
LABELS = {"labels": ["0", "1", "2", "3", "4"]}
SENTENCES = [SstSentence(tuple("abcde"), "0"), SstSentence(("f",), "4"), SstSentence(tuple("gah"), "2")]

TREE = "(3 (2 It) (4 (2 's) (4 (1 -LRB-) (4 lovely\\/fine))))"


def test_a_tree_has_words_a_label_and_phrases() -> None:
    sentence = parse_tree(TREE)
    assert sentence.tokens == ("It", "'s", "(", "lovely/fine")
    assert sentence.label == "3"
    assert set(sentence.phrases) == {
        Span("2", 0, 1),
        Span("4", 1, 4),
        Span("2", 1, 2),
        Span("4", 2, 4),
        Span("1", 2, 3),
        Span("4", 3, 4),
    }


def test_subtrees_are_extra_examples_by_choice() -> None:
    sentence = parse_tree(TREE)
    assert TASK.for_training([sentence], SstSizes(subtrees=False)) == [sentence]
    extra = TASK.for_training([sentence, sentence], SstSizes(subtrees=True, shortest_phrase=1))
    assert extra[0] == SstSentence(sentence.tokens, "3")
    assert SstSentence(("'s", "(", "lovely/fine"), "4") in extra
    assert len(extra) == 7
    longer = TASK.for_training([sentence], SstSizes(subtrees=True, shortest_phrase=3))
    assert longer == [SstSentence(sentence.tokens, "3"), SstSentence(("'s", "(", "lovely/fine"), "4")]


@pytest.mark.parametrize("line", ["(3 (2 It)", "(3 It))", "(3 (2 It) (4))", "3 no tab", "()", "(2 a) (3 b)", "x\t "])
def test_what_is_no_tree_is_refused_with_its_line(line: str, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text(f"{TREE}\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 2: "):
        TASK.read(tmp_path / "train.txt", split_text)


def test_a_label_behind_the_sentence_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("sentence\tlabel\nIt 's lovely\t3\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 2: the label .* is more than one word; expected a tree, or label, tab"):
        TASK.read(tmp_path / "train.txt", split_text)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    pairs = [(SstSentence(("It", "'s", "fine")), "3"), (SstSentence(("No",)), "0")]
    (tmp_path / "a.txt").write_text("".join(TASK.write(pairs)), encoding="utf-8")
    found = TASK.read(tmp_path / "a.txt", split_text)
    assert [(s.tokens, s.label) for s in found] == [(s.tokens, label) for s, label in pairs]


@pytest.mark.parametrize("elmo", WHERE)
def test_a_sentence_has_the_same_scores_alone_and_among_others(elmo: Where) -> None:
    features = small_features(elmo)
    network = TASK.network(SIZES, LABELS, small_inputs(features)).eval()
    together = network.scores(TASK.collate(SENTENCES, LABELS, features).tokens)
    for row, one in enumerate(SENTENCES):
        alone = network.scores(TASK.collate([one], LABELS, features).tokens)
        torch.testing.assert_close(together[row], alone[0], atol=1e-5, rtol=1e-4)


def test_the_attention_is_that_of_the_paper() -> None:
    """The vectors that the second LSTM reads, computed token by token."""
    features = small_features()
    network = TASK.network(SIZES, LABELS, small_inputs(features)).eval()
    read: list[torch.Tensor] = []
    network.encoder.register_forward_hook(lambda module, given, result: read.append(result))
    network.integrator.register_forward_hook(lambda module, given, result: read.append(given[0]))
    network.scores(TASK.collate(SENTENCES[:1], LABELS, features).tokens)
    [x], [joined] = read
    for row, own in enumerate(x):
        context = torch.softmax(x @ own, dim=0) @ x
        torch.testing.assert_close(joined[row], torch.cat([own, own - context, own * context]))


@pytest.mark.parametrize("elmo", WHERE)
def test_every_parameter_takes_part(elmo: Where) -> None:
    features = small_features(elmo)
    network = TASK.network(SIZES, LABELS, small_inputs(features))
    network(TASK.collate(SENTENCES, LABELS, features)).backward()
    still = [name for name, p in network.named_parameters() if p.grad is None or not p.grad.any()]
    assert [name for name in still if not name.startswith("tokens.")] == []


def test_it_learns_and_padding_does_not_matter(tmp_path: Path, model: str) -> None:
    good, bad = ["good", "great", "fine"], ["bad", "awful", "poor"]
    lines = [f"(4 (2 a) (4 ({3} {word}) (2 film)))" for word in good]
    lines += [f"(0 (2 a) (0 ({1} {word}) (2 film)))" for word in bad]
    for split in ("train", "dev"):
        (tmp_path / f"{split}.txt").write_text("\n".join(lines * 2) + "\n", encoding="utf-8")
    sizes = {"hidden": 12, "characters": 8, "static": "none", "model": model, "elmo": "both", "epochs": 12, "batch": 3}
    steady = {"rate": 0.01, "dropout": 0.0, "elmo_dropout": 0.0, "patience": 12, "halve_after": 0, "subtrees": False}
    preset = with_values(TASK.presets["cpu"], {**sizes, **steady}, "a task")
    result = train_task(TaskPlan("sst", find_data(tmp_path), tmp_path / "run", preset))
    assert result.scores.values["accuracy"] > 80
    task = Task.load(tmp_path / "run")
    items = [["a", "good", "film"], ["a"] * 25, ["bad"]]
    with torch.no_grad():
        batch = task.place.batch([SstSentence(tuple(item)) for item in items])
        together = task.place.network.scores(batch.tokens)
        for row, item in enumerate(items):
            alone = task.place.network.scores(task.place.batch([SstSentence(tuple(item))]).tokens)
            torch.testing.assert_close(together[row], alone[0], atol=1e-5, rtol=1e-4)


@needs(DATA)
@pytest.mark.shared
def test_counts_of_the_real_treebank() -> None:
    examples = TASK.read(TASK.find(DATA / "sst").dev, split_text)
    assert len(examples) == 1101
    assert sum(len(example.phrases) + 1 for example in examples) == 41447
