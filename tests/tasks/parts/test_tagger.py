"""The network under taggers of words and of spans: a sentence is scored by itself."""

from __future__ import annotations

import pytest
import torch

from helpers.small_features import WHERE, small_features, small_inputs
from polyseme.tasks.inputs import Where
from polyseme.tasks.ner.task import TASK, NerSentence
from polyseme.tasks.parts.tagger import TaggerSizes
from polyseme.tasks.spans import Span

EXAMPLES = [
    NerSentence(("a", "b", "c"), (Span("X", 0, 2),)),
    NerSentence(("d",), ()),
    NerSentence(("e", "f", "g", "h", "a", "i"), (Span("X", 1, 2), Span("Y", 3, 6))),
]
TAGS = TASK.vocabularies(EXAMPLES)


@pytest.mark.parametrize("elmo", WHERE)
def test_scores_and_loss_of_a_sentence_are_the_same_alone_and_among_others(elmo: Where) -> None:
    features = small_features(elmo)
    network = TASK.network(TaggerSizes(hidden=5, depth=2), TAGS, small_inputs(features)).eval()
    together = TASK.collate(EXAMPLES, TAGS, features)
    alone = [TASK.collate([example], TAGS, features) for example in EXAMPLES]
    scores = network.scores(together.tokens)  # [B, N, K]
    for row, batch in enumerate(alone):
        count = int(batch.tokens.lengths[0])
        torch.testing.assert_close(scores[row, :count], network.scores(batch.tokens)[0], atol=1e-5, rtol=1e-4)
    losses = torch.stack([network(batch) for batch in alone])
    torch.testing.assert_close(network(together), losses.mean(), atol=1e-5, rtol=1e-4)


def test_dropout_acts_in_training_only_and_leaves_out_the_same_numbers_of_every_token() -> None:
    features = small_features()
    network = TASK.network(TaggerSizes(hidden=5, depth=1, dropout=0.5), TAGS, small_inputs(features))
    batch = TASK.collate(EXAMPLES, TAGS, features).tokens
    assert torch.equal(network.eval().scores(batch), network.scores(batch))
    torch.manual_seed(0)
    dropped = network.train().dropout(torch.ones(2, 3, 40))
    assert torch.equal(dropped[:, :1].expand_as(dropped), dropped)
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
