"""The role tagger: every predicate on its own, a V over each, and predicates found where none are given."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from helpers.small_features import WHERE, small_features, small_inputs
from polyseme.tasks.spans import Span
from polyseme.tasks.srl.data import Frame, new_sentence
from polyseme.tasks.srl.network import RoleTagger, SrlSizes
from polyseme.tasks.srl.task import TASK, SrlExample

SIZES = SrlSizes(hidden=6, depth=3, predicate_dim=3, detector=4, dropout=0.1)


def example(words: str, *frames: Frame) -> SrlExample:
    sentence = new_sentence(words.split(), frames)
    return SrlExample(sentence.words, tuple(frame.predicate for frame in frames), sentence)


ONE = Frame(1, "b", (Span("A0", 0, 1), Span("V", 1, 2), Span("A1", 2, 4)))
TWO = Frame(3, "d", (Span("V", 2, 4),))
EXAMPLES = [example("a b c d", ONE, TWO), example("e"), example("g h a b c d e", ONE)]
ROLES = TASK.vocabularies(EXAMPLES)


def tagger(elmo: str = "none") -> tuple[RoleTagger, object]:
    features = small_features(elmo)  # type: ignore[arg-type]
    return TASK.network(SIZES, ROLES, small_inputs(features)), features


def test_roles_become_tags() -> None:
    assert ROLES == {"tags": ["O", "B-A0", "I-A0", "B-A1", "I-A1", "B-V", "I-V"]}


@pytest.mark.parametrize("elmo", WHERE)
def test_a_sentence_has_the_same_answer_alone_and_among_others(elmo: str) -> None:
    network, features = tagger(elmo)
    network.eval()
    together = network.predict(TASK.collate(EXAMPLES, ROLES, features))  # type: ignore[arg-type]
    alone = [network.predict(TASK.collate([one], ROLES, features))[0] for one in EXAMPLES]  # type: ignore[arg-type]
    assert together == alone
    assert [[frame["predicate"] for frame in found["frames"]] for found in together] == [[1, 3], [], [1]]


def test_a_v_covers_every_predicate_and_roles_stand_side_by_side() -> None:
    network, features = tagger()
    network.eval()
    words = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
    asked = SrlExample(tuple(words), tuple(range(10)), None)
    [found] = network.predict(TASK.collate([asked], ROLES, features))  # type: ignore[arg-type]
    for frame in found["frames"]:
        assert any(span.label == "V" and span.start <= frame["predicate"] < span.end for span in frame["spans"])
        assert all(one.end <= other.start for one, other in zip(frame["spans"], frame["spans"][1:], strict=False))


def test_a_predicate_is_never_the_continuation_of_another_one() -> None:
    roles = {"tags": [*ROLES["tags"], "B-C-V", "I-C-V"]}
    features = small_features()
    network = TASK.network(SIZES, roles, small_inputs(features)).eval()
    with torch.no_grad():
        network.tag.bias[-2:] = 50.0  # would rather be C-V everywhere
    asked = SrlExample(("a", "b", "c", "d"), (0, 2, 3), None)
    [found] = network.predict(TASK.collate([asked], roles, features))
    for frame in found["frames"]:
        [verb] = [span for span in frame["spans"] if span.label == "V"]
        assert verb.start <= frame["predicate"] < verb.end


def test_two_predicates_of_a_sentence_get_roles_of_their_own() -> None:
    """The words are the same: only the mark tells which predicate is asked for."""
    torch.manual_seed(0)
    features = small_features()
    sizes = replace(SIZES, hidden=12, depth=2, dropout=0.0)
    network = TASK.network(sizes, ROLES, small_inputs(features))
    batch = TASK.collate(EXAMPLES, ROLES, features)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
    for _ in range(60):
        optimizer.zero_grad()
        network.train()(batch).backward()
        optimizer.step()
    asked = [SrlExample(one.words, None, None) for one in EXAMPLES]
    found = network.eval().predict(TASK.collate(asked, ROLES, features))
    spans = [[(frame["predicate"], tuple(frame["spans"])) for frame in one["frames"]] for one in found]
    assert spans == [[(1, ONE.spans), (3, TWO.spans)], [], [(1, ONE.spans)]]


def test_where_no_predicates_are_given_those_that_are_found_are_read() -> None:
    network, features = tagger()
    network.eval()
    asked = [SrlExample(one.words, None, None) for one in EXAMPLES]
    with torch.no_grad():
        network.is_predicate.bias.fill_(0.0)
    found = network.predict(TASK.collate(asked, ROLES, features))  # type: ignore[arg-type]
    assert [[frame["predicate"] for frame in one["frames"]] for one in found] == [one["detected"] for one in found]
    with torch.no_grad():
        network.is_predicate.bias.fill_(100.0)
    found = network.predict(TASK.collate(asked, ROLES, features))  # type: ignore[arg-type]
    assert [one["detected"] for one in found] == [[0, 1, 2, 3], [0], [0, 1, 2, 3, 4, 5, 6]]


def test_the_loss_is_that_of_tags_and_predicates() -> None:
    network, features = tagger()
    network.eval()
    batch = TASK.collate(EXAMPLES, ROLES, features)  # type: ignore[arg-type]
    vectors = network._vectors(batch.tokens)
    logits = torch.log_softmax(network._tag_logits(vectors, batch.sentences, batch.places), dim=2)
    tags = [[1, 5, 3, 4], [0, 0, 5, 6], [1, 5, 3, 4, 0, 0, 0]]
    picked = [logits[row, place, tag] for row, line in enumerate(tags) for place, tag in enumerate(line)]
    chance = torch.sigmoid(network._predicate_logits(vectors))
    predicates = {(0, 1), (0, 3), (2, 1)}
    seen = [
        chance[row, place] if (row, place) in predicates else 1 - chance[row, place]
        for row, one in enumerate(EXAMPLES)
        for place in range(len(one.words))
    ]
    expected = -torch.stack(picked).mean() - torch.stack(seen).log().mean()
    assert float(network(batch)) == pytest.approx(float(expected), abs=1e-5)


def test_sentences_without_predicates_are_trained_on_too() -> None:
    network, features = tagger()
    loss = network(TASK.collate([EXAMPLES[1]], ROLES, features))  # type: ignore[arg-type]
    loss.backward()
    assert network.is_predicate.weight.grad is not None


@pytest.mark.parametrize("elmo", WHERE)
def test_every_parameter_takes_part(elmo: str) -> None:
    network, features = tagger(elmo)
    network(TASK.collate(EXAMPLES, ROLES, features)).backward()  # type: ignore[arg-type]
    trained = [(name, p.grad) for name, p in network.named_parameters() if p.requires_grad]
    still = [name for name, grad in trained if grad is None or not grad.any()]
    assert [name for name in still if not name.startswith("tokens.")] == []
