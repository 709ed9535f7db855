"""The span ranker against its definition: pairs one by one, the loss by enumeration, chains by following links."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from helpers.small_features import WHERE, small_features, small_inputs
from polyseme.tasks.coref import network as network_module
from polyseme.tasks.coref.candidates import candidate_spans, distance_buckets
from polyseme.tasks.coref.data import CorefDocument, new_document
from polyseme.tasks.coref.network import CorefSizes, Ranking, SpanRanker, chain_of_spans
from polyseme.tasks.coref.task import TASK, cut_document

SIZES = CorefSizes(hidden=4, scorer=5, feature=3, widest=3, antecedents=4, kept=0.8, dropout=0.0, input_dropout=0.0)
HEAD_BIASES = ("head.0.bias", "head.2.bias")
GENRES = {"genres": ["bc", "nw"]}
TEXT = CorefDocument(
    name="nw/x",
    part=0,
    sentences=(("a", "b", "c"), ("d", "a"), ("e", "f", "g", "h")),
    speakers=("x", "x", "x", "-", "-", "y", "y", "x", "x"),
    chains={4: ((0, 1), (4, 5)), 7: ((1, 3), (3, 4), (5, 7))},
)


def ranker(elmo: str = "none") -> tuple[SpanRanker, object]:
    features = small_features(elmo)  # type: ignore[arg-type]
    return TASK.network(SIZES, GENRES, small_inputs(features)), features


def test_scores_are_those_of_networks_over_joined_vectors() -> None:
    """The first layers are split into parts for speed; here they are put together again, pair by pair."""
    network, features = ranker()
    network.eval()
    [document] = TASK.collate([TEXT], GENRES, features)  # type: ignore[arg-type]
    ranking = network.rank(document)
    x, h = network._read(document)
    vectors = []
    for start, last in zip(ranking.starts.tolist(), ranking.lasts.tolist(), strict=True):
        shares = torch.softmax(network.head(h[start : last + 1]).squeeze(1), dim=0)
        head = shares @ x[start : last + 1]
        vectors.append(torch.cat([h[start], h[last], head, network.width.weight[last - start]]))
    mention = [network.mention_score(network.mention(g)) for g in vectors]
    assert network.speaker is not None and network.genre is not None
    first = torch.cat(
        [layer.weight for layer in (network.anaphor, network.antecedent, network.product, network.pair)], dim=1
    )
    for i in range(len(vectors)):
        assert float(ranking.scores[i, 0].detach()) == 0
        for back in range(1, ranking.scores.shape[1]):
            j = i - back
            if j < 0:
                assert ranking.scores[i, back] < -1e30
                continue
            speakers = [TEXT.speakers[int(ranking.starts[k])] for k in (i, j)]
            same = int(speakers[0] == speakers[1] != "-")
            distance = network.distance.weight[int(distance_buckets(torch.tensor(back)))]
            features_ = torch.cat([distance, network.speaker.weight[same], network.genre.weight[2]])
            joined = torch.cat([vectors[i], vectors[j], vectors[i] * vectors[j], features_])
            expected = network.pair_score(first @ joined + network.product.bias) + mention[i] + mention[j]
            assert float(ranking.scores[i, back]) == pytest.approx(float(expected), abs=1e-4)


def test_pairs_scored_in_blocks_have_the_scores_of_all_together(monkeypatch: pytest.MonkeyPatch) -> None:
    network, features = ranker()
    network.eval()
    [document] = TASK.collate([TEXT], GENRES, features)  # type: ignore[arg-type]
    together = network.rank(document).scores
    monkeypatch.setattr(network_module, "PAIRS_TOGETHER", 9)
    assert torch.allclose(network.rank(document).scores, together, atol=1e-6)


def test_the_loss_is_that_of_all_true_antecedents_together_and_of_mentions() -> None:
    network, features = ranker()
    network.eval()
    [document] = TASK.collate([TEXT], GENRES, features)  # type: ignore[arg-type]
    ranking = network.rank(document)
    spans = [(a, b + 1) for a, b in zip(ranking.starts.tolist(), ranking.lasts.tolist(), strict=True)]
    chain = {mention: number for number, mentions in TEXT.chains.items() for mention in mentions}
    losses = []
    for i, span in enumerate(spans):
        shares = torch.softmax(ranking.scores[i], dim=0)
        true = [
            back
            for back in range(1, len(shares))
            if i - back >= 0 and span in chain and chain.get(spans[i - back]) == chain[span]
        ]
        losses.append(-sum(shares[back] for back in true or [0]).log())  # type: ignore[union-attr]
    shares = torch.sigmoid(ranking.candidates)
    starts, lasts = candidate_spans(document.sentences, SIZES.widest)
    candidates = [(a, b + 1) for a, b in zip(starts.tolist(), lasts.tolist(), strict=True)]
    true = [share if span in chain else 1 - share for span, share in zip(candidates, shares, strict=True)]
    expected = torch.stack(losses).mean() - torch.stack(true).log().sum() / len(spans)
    assert float(network([document])) == pytest.approx(float(expected), abs=1e-4)
    assert len(spans) == 8  # 0.8 of nine tokens, rounded up


def test_spans_know_their_chain() -> None:
    starts, lasts = torch.tensor([0, 1, 4]), torch.tensor([0, 1, 5])
    mentions = torch.tensor([[0, 0, 1], [4, 5, 2], [1, 8, 3]])  # the last one is wider than any candidate
    assert chain_of_spans(starts, lasts, mentions, 9, 3).tolist() == [1, 0, 2]
    assert chain_of_spans(starts, lasts, None, 9, 3).tolist() == [0, 0, 0]


@pytest.mark.parametrize("seed", range(5))
def test_in_training_true_mentions_are_kept_beside_the_best_spans(seed: int) -> None:
    """With the scores of a new network alone, links to learn from would be there only by chance."""
    torch.manual_seed(seed)
    network, features = ranker()
    [document] = TASK.collate([TEXT], GENRES, features)  # type: ignore[arg-type]
    mentions = sorted(mention for chain in TEXT.chains.values() for mention in chain)
    kept = network.train().rank(document)
    spans = zip(kept.starts.tolist(), (kept.lasts + 1).tolist(), kept.chains.tolist(), strict=True)
    found = [(start, end) for start, end, chain in spans if chain]
    told, untold = network.eval().rank(document), network.rank(replace(document, mentions=None))
    assert found == mentions
    assert torch.equal(told.starts, untold.starts) and torch.equal(told.lasts, untold.lasts)
    best = set(zip(untold.starts.tolist(), untold.lasts.tolist(), strict=True))
    assert best <= set(zip(kept.starts.tolist(), kept.lasts.tolist(), strict=True))


def test_a_new_network_tells_spans_apart() -> None:
    """With PyTorch's own start the scores of different spans would differ by a few hundredths, and learning be slow."""
    torch.manual_seed(0)
    network = TASK.network(CorefSizes(), GENRES, small_inputs(small_features("none"))).eval()
    spans = torch.randn(200, network.mention.in_features)
    with torch.no_grad():
        mentions = network.mention_score(network.mention(spans))
        pairs = network.pair_score(network.product(spans) + network.anaphor(spans) + network.antecedent(spans.flip(0)))
    assert 0.5 < float(mentions.std()) < 4
    assert 0.5 < float(pairs.std()) < 4


def test_a_few_steps_on_one_document_find_its_chains() -> None:
    """The whole way from spans to links, loss and back."""
    torch.manual_seed(0)
    features = small_features("none")
    sizes = replace(SIZES, hidden=20, scorer=20, antecedents=20)
    network = TASK.network(sizes, GENRES, small_inputs(features))
    batch = TASK.collate([TEXT], GENRES, features)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(40):
        optimizer.zero_grad()
        network.train()(batch).backward()
        optimizer.step()
    [found] = network.eval().predict(batch)
    assert sorted(found) == sorted([list(mention) for mention in chain] for chain in TEXT.chains.values())


def test_chains_follow_the_best_antecedents(monkeypatch: pytest.MonkeyPatch) -> None:
    network, features = ranker()
    [document] = TASK.collate([TEXT], GENRES, features)  # type: ignore[arg-type]
    scores = torch.tensor([[0, -9, -9], [0, -1, -9], [0, 1, 2], [0, -1, 3], [0, -2, -1], [0, 5, 1]]).float()
    places = torch.arange(6)
    monkeypatch.setattr(network, "rank", lambda given: Ranking(places, places, places, scores, places, places))
    assert network.predict([document]) == [[[[0, 1], [2, 3]], [[1, 2], [3, 4]], [[4, 5], [5, 6]]]]


@pytest.mark.parametrize("elmo", WHERE)
def test_every_parameter_takes_part(elmo: str) -> None:
    network, features = ranker(elmo)
    network(TASK.collate([TEXT], GENRES, features)).backward()  # type: ignore[arg-type]
    still = [name for name, p in network.named_parameters() if p.grad is None or not p.grad.any()]
    # what all tokens of a span share moves no softmax over them
    assert [name for name in still if not name.startswith("tokens.") and name not in HEAD_BIASES] == []


def test_a_document_without_words_has_no_chains() -> None:
    network, features = ranker()
    empty = new_document("-", [], {})
    assert network.eval().predict(TASK.collate([empty], GENRES, features)) == [[]]  # type: ignore[arg-type]


def test_a_document_of_one_word() -> None:
    network, features = ranker()
    assert network.eval().predict(TASK.collate([new_document("-", [["a"]], {})], GENRES, features)) == [[]]  # type: ignore[arg-type]


def test_pieces_keep_the_mentions_that_lie_in_them() -> None:
    """Also one that is alone there: what is a mention in the document is not taught to be none."""
    first, second = cut_document(TEXT, 2)
    assert first.sentences == TEXT.sentences[:2]
    assert first.chains == {4: ((0, 1), (4, 5)), 7: ((1, 3), (3, 4))}
    assert second.chains == {7: ((0, 2),)}
    assert (second.sentences, second.speakers) == (TEXT.sentences[2:], TEXT.speakers[5:])
    assert cut_document(TEXT, 50)[0].chains == TEXT.chains
    assert TASK.for_training([TEXT], replace(SIZES, training_sentences=2)) == [first, second]


@pytest.mark.parametrize("elmo", WHERE)
def test_a_sentence_is_read_the_same_in_every_document(elmo: str) -> None:
    """Sentences are sorted and padded to be read together; that must not be seen in what is read."""
    network, features = ranker(elmo)
    network.eval()
    [document] = TASK.collate([TEXT], GENRES, features)  # type: ignore[arg-type]
    whole = network._read(document)
    alone = [
        network._read(TASK.collate([new_document("-", [sentence], {})], GENRES, features)[0])  # type: ignore[arg-type]
        for sentence in TEXT.sentences
    ]
    for part, together in enumerate(whole):
        torch.testing.assert_close(together, torch.cat([read[part] for read in alone]), atol=1e-5, rtol=1e-4)
