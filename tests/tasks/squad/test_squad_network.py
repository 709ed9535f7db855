"""BiDAF: the best span against all spans, and answers that do not depend on what stands beside a question."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers.small_features import WHERE, small_features, small_inputs
from polyseme.tasks.squad.data import Paragraph, Question
from polyseme.tasks.squad.network import BidafSizes, best_cuts, best_spans
from polyseme.tasks.squad.task import TASK

SIZES = BidafSizes(hidden=4, longest_answer=3)


def paragraph(*sentences: str) -> Paragraph:
    tokens = tuple(" ".join(sentences).split())
    offsets = tuple((2 * place, 2 * place + 1) for place in range(len(tokens)))
    lengths = [len(sentence.split()) for sentence in sentences]
    spans = tuple((sum(lengths[:i]), sum(lengths[: i + 1])) for i in range(len(lengths)))
    return Paragraph(" ".join(tokens), tokens, offsets, spans)


LONG, SHORT = paragraph("a b c .", "d e f g", "h"), paragraph("b a")
QUESTIONS = [
    Question("1", "c d", ("c", "d"), LONG, ("c",), ((2, 3),)),
    Question("2", "e", ("e",), SHORT, ("b a",), ((0, 2),)),
    Question("3", "g h a b", ("g", "h", "a", "b"), LONG, ("g h",), ((7, 9),)),
]


@given(st.integers(0, 2**31), st.integers(1, 6), st.integers(1, 7))
def test_the_best_span_is_the_best_of_all_up_to_the_longest(seed: int, count: int, longest: int) -> None:
    torch.manual_seed(seed)
    starts, ends = torch.randn(2, count), torch.randn(2, count)
    first, last, score = best_spans(starts, ends, longest)
    for row in range(2):
        spans = {(a, b): float(starts[row, a] + ends[row, b]) for a in range(count) for b in range(a, count)}
        allowed = {span: value for span, value in spans.items() if span[1] - span[0] < longest}
        best = max(allowed, key=allowed.__getitem__)
        assert (int(first[row]), int(last[row])) == best
        assert float(score[row]) == pytest.approx(allowed[best])


@pytest.mark.parametrize("elmo", WHERE)
def test_a_question_has_the_same_answer_alone_and_among_others(elmo: str) -> None:
    features = small_features(elmo)  # type: ignore[arg-type]
    network = TASK.network(SIZES, {}, small_inputs(features)).eval()
    batch = TASK.collate(QUESTIONS, {}, features)
    assert batch.which.tolist() == [0, 1, 0]  # a paragraph stands there once
    starts, ends = network.log_shares(batch)
    for row, question in enumerate(QUESTIONS):
        count = len(question.paragraph.tokens)
        alone = network.log_shares(TASK.collate([question], {}, features))
        assert torch.allclose(starts[row, :count], alone[0][0], atol=1e-4)
        assert torch.allclose(ends[row, :count], alone[1][0], atol=1e-4)
        assert float(starts[row, :count].exp().sum()) == pytest.approx(1, abs=1e-5)


def test_the_loss_is_that_of_the_answers_place() -> None:
    features = small_features()
    network = TASK.network(SIZES, {}, small_inputs(features)).eval()
    batch = TASK.collate(QUESTIONS, {}, features)
    starts, ends = network.log_shares(batch)
    expected = -(starts[0, 2] + ends[0, 2] + starts[1, 0] + ends[1, 1] + starts[2, 7] + ends[2, 8]) / 3
    assert float(network(batch)) == pytest.approx(float(expected), abs=1e-5)


@pytest.mark.parametrize("elmo", WHERE)
def test_every_parameter_takes_part(elmo: str) -> None:
    features = small_features(elmo)  # type: ignore[arg-type]
    network = TASK.network(SIZES, {}, small_inputs(features))
    network(TASK.collate(QUESTIONS, {}, features)).backward()
    still = {name for name, p in network.named_parameters() if p.grad is None or not p.grad.any()}
    # what a token adds to all its similarities moves no softmax over them; the paper's formula has it all the same
    still -= {"self_similarity.first.weight"}
    assert [name for name in still if not name.startswith("tokens.")] == []


def test_elmo_at_the_output_is_dropped_by_its_own_dropout_alone() -> None:
    """Numbers of the output are those of ELMo, whatever the network's own dropout leaves out."""
    features = small_features("output")
    network = TASK.network(BidafSizes(hidden=4, dropout=0.9), {}, small_inputs(features)).train()
    network.tokens.eval()
    vectors = network.tokens(TASK.collate(QUESTIONS, {}, features).questions)
    encoded = network._encode(vectors)
    assert torch.equal(encoded[:, :, 8:], vectors.output)
    assert float((encoded[:, :, :8] == 0).float().mean()) > 0.5


@given(st.integers(0, 2**31), st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_the_best_cut_leaves_a_character_of_every_token(seed: int, lengths: list[int]) -> None:
    torch.manual_seed(seed)
    logits, letters = torch.randn(2, 1, 5), torch.tensor([lengths])
    first, last = 0, len(lengths) - 1
    (cut,), (score,) = best_cuts(logits, torch.tensor([first]), torch.tensor([last]), letters)
    front, back = torch.log_softmax(logits, dim=2)[:, 0].tolist()
    allowed = {
        (a, b): front[a] + back[b]
        for a in range(min(5, lengths[first]))
        for b in range(min(5, lengths[last]))
        if first != last or a + b < lengths[first]
    }
    best = max(allowed, key=allowed.__getitem__)
    assert tuple(cut.tolist()) == best
    assert float(score) == pytest.approx(allowed[best], abs=1e-6)
