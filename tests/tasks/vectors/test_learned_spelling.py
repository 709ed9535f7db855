"""Tokens spelled out: the convolution against its definition, word by word."""

from __future__ import annotations

import torch

from polyseme.tasks.vectors.learned import FILTER_WIDTH, LONGEST, Spelling, SpellingCNN

SPELLING = Spelling.of([["Ada", "left", "a", "b"]])


def test_a_word_has_the_largest_answer_of_each_filter_whatever_stands_beside_it() -> None:
    torch.manual_seed(0)
    network = SpellingCNN(SPELLING.size, 4, 6)
    words = ["Ada", "a", "left", "fall" * LONGEST]
    rows, which = SPELLING.batch([words], len(words))
    found = network(rows)[which[0]]
    for row, word in enumerate(words):
        characters = network.characters(torch.tensor(SPELLING.ids(word)))  # [C, 4], with a begin and an end
        windows = characters.unfold(0, FILTER_WIDTH, 1)  # [C - 2, 4, 3]
        answers = torch.einsum("nck,fck->nf", windows, network.convolution.weight) + network.convolution.bias
        torch.testing.assert_close(found[row], torch.relu(answers.max(dim=0).values))


def test_where_no_word_stands_there_is_nothing() -> None:
    rows, which = SPELLING.batch([["Ada"], []], 2)
    assert which.tolist() == [[1, 0], [0, 0]]
    assert not SpellingCNN(SPELLING.size, 4, 6)(rows)[0].any()


def test_a_character_that_training_never_met_says_nothing() -> None:
    network = SpellingCNN(SPELLING.size, 4, 6)
    unknown, known = SPELLING.ids("?x")[1], SPELLING.ids("a")[1]
    assert not network.characters.weight[unknown].any()
    assert network.characters.weight[known].any()
