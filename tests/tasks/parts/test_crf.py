"""The CRF against every sequence there is, written out."""

from __future__ import annotations

from itertools import pairwise, product

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from polyseme.tasks.parts.crf import CRF
from polyseme.tasks.spans import Scheme, may_end, may_follow, may_start

TAGS: dict[Scheme, list[str]] = {
    "IOB2": ["O", "B-X", "I-X", "B-Y", "I-Y"],
    "BIOUL": ["O", "B-X", "I-X", "L-X", "U-X", "U-Y"],
}


def random_crf(seed: int, scheme: Scheme, tags: list[str]) -> CRF:
    torch.manual_seed(seed)
    crf = CRF.of(tags, scheme)
    for parameter in crf.parameters():
        torch.nn.init.normal_(parameter)
    return crf.double()


def allowed_sequences(tags: list[str], length: int, scheme: Scheme) -> list[tuple[int, ...]]:
    def allowed(path: tuple[int, ...]) -> bool:
        named = [tags[tag] for tag in path]
        steps = all(may_follow(a, b, scheme) for a, b in pairwise(named))
        return steps and may_start(named[0], scheme) and may_end(named[-1], scheme)

    return [path for path in product(range(len(tags)), repeat=length) if allowed(path)]


def score(crf: CRF, emissions: torch.Tensor, paths: list[tuple[int, ...]]) -> torch.Tensor:
    p = torch.tensor(paths)  # [paths, N]
    total = crf.start[p[:, 0]] + crf.end[p[:, -1]] + emissions[torch.arange(p.shape[1]), p].sum(dim=1)
    return total + crf.transitions[p[:, :-1], p[:, 1:]].sum(dim=1)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    scheme=st.sampled_from(["IOB2", "BIOUL"]),
)
def test_probability_and_best_path_by_enumeration(seed: int, lengths: list[int], scheme: Scheme) -> None:
    tags = TAGS[scheme]
    crf = random_crf(seed, scheme, tags)
    emissions = torch.randn(len(lengths), max(lengths), len(tags), dtype=torch.float64)
    mask = torch.arange(max(lengths))[None, :] < torch.tensor(lengths)[:, None]
    gold = torch.zeros(mask.shape, dtype=torch.int64)
    expected, best = [], []
    for row, length in enumerate(lengths):
        paths = allowed_sequences(tags, length, scheme)
        scores = score(crf, emissions[row], paths)
        chosen = seed % len(paths)
        gold[row, :length] = torch.tensor(paths[chosen])
        expected.append(torch.logsumexp(scores, 0) - scores[chosen])
        best.append(list(paths[int(scores.argmax())]))
    torch.testing.assert_close(crf(emissions, gold, mask), torch.stack(expected), rtol=1e-9, atol=1e-9)
    assert crf.best(emissions, mask) == best


def test_what_stands_behind_the_end_does_not_matter() -> None:
    crf = random_crf(1, "BIOUL", TAGS["BIOUL"])
    emissions = torch.randn(1, 3, 6, dtype=torch.float64)
    longer = torch.cat([emissions, 100 * torch.randn(1, 4, 6, dtype=torch.float64)], dim=1)
    mask = torch.tensor([[True] * 3 + [False] * 4])
    tags = torch.tensor([[0, 4, 0, 3, 3, 3, 3]])
    short = crf(emissions, tags[:, :3], mask[:, :3])
    torch.testing.assert_close(crf(longer, tags, mask), short)
    assert crf.best(longer, mask) == crf.best(emissions, mask[:, :3])


def test_empty_sentences_have_an_empty_path_and_no_loss() -> None:
    crf = random_crf(0, "IOB2", TAGS["IOB2"])
    mask = torch.tensor([[True, True], [False, False]])
    emissions = torch.randn(2, 2, 5, dtype=torch.float64)
    losses = crf(emissions, torch.zeros(2, 2, dtype=torch.int64), mask)
    assert losses[0] > 0
    assert losses[1] == 0
    assert crf.best(emissions, mask)[1] == []
    assert crf.best(emissions[:, :0], mask[:, :0]) == [[], []]


def test_gradients_are_those_of_the_formula() -> None:
    crf = random_crf(3, "IOB2", TAGS["IOB2"])
    emissions = torch.randn(2, 3, 5, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True, True, True], [True, True, False]])
    gold = torch.tensor([[1, 2, 0], [0, 3, 0]])
    assert torch.autograd.gradcheck(lambda e: crf(e, gold, mask).sum(), (emissions,))
