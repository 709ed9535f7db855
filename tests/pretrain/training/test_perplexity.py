"""evaluate: exact perplexities with the full softmax, whatever is read together, in each of the three states."""

from __future__ import annotations

import gzip
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from polyseme.bilm_config import BiLMConfig, CharacterConfig
from polyseme.elmo import Elmo
from polyseme.errors import ConfigError, InputError
from polyseme.formats.model import SoftmaxWeights, StoredModel
from polyseme.lm.likelihood import Likelihood
from polyseme.lm.scoring import score
from polyseme.nn.bilm import BiLM, BiLMState
from polyseme.pretrain.training import evaluate_files as files_module
from polyseme.pretrain.training import perplexity as perplexity_module
from polyseme.pretrain.training.build import trained_model
from polyseme.pretrain.training.evaluate_files import DocumentLikelihood, evaluate_files
from polyseme.pretrain.training.parallel import side_by_side
from polyseme.pretrain.training.perplexity import evaluate, evaluate_in_order, warm_states
from polyseme.sentence_reader import WARM_TEXT, State
from polyseme.text.characters import ByteScheme
from polyseme.text.vocabulary import Indexer, Vocabulary

WORDS = ("<S>", "</S>", "<UNK>", "the", "cat", "sat", "on", "a", "mat", ".")
DOCUMENTS = st.lists(
    st.lists(st.lists(st.sampled_from(WORDS[3:]) | st.text("xyz", min_size=1), max_size=7), max_size=4), max_size=5
)
TEXT = "the cat sat on a mat .\na cat !\n\nthe mat\n"


def small_lm(seed: int = 0, **changes: object) -> StoredModel:
    characters = CharacterConfig(alphabet=261, dim=4, max_characters=10, filters=((1, 4), (2, 6)), highways=1)
    settings = {"cell": 12, "projection": 5, "layers": 2, **changes}
    config = BiLMConfig(characters=characters, **settings)  # type: ignore[arg-type]
    torch.manual_seed(seed)
    tensors = {name: (0.6 * torch.randn_like(value)).numpy() for name, value in BiLM(config).state_dict().items()}
    return StoredModel(
        config,
        tensors,
        Indexer(ByteScheme(max_characters=10)),
        vocabulary=Vocabulary(WORDS),
        softmax=SoftmaxWeights(torch.randn(len(WORDS), 5).numpy(), torch.randn(len(WORDS)).numpy()),
        card={"name": "small", "tokenization": "whitespace"},
    )


def spelled_out(stored: StoredModel, sentence: list[str], state: BiLMState | None) -> tuple[float, float, BiLMState]:
    """Losses of one sentence by the readable network, and the states after it as training carries them.

    The state after a sentence is that before the boundary that is only predicted: ``</S>`` forward, ``<S>`` backward.
    """
    assert stored.softmax is not None and stored.vocabulary is not None
    bilm, size, n = BiLM.of(stored), stored.config.projection, len(sentence)
    ids = torch.from_numpy(stored.indexer.batch([sentence]))  # [1, N+2, K]
    with torch.no_grad():
        top = bilm(ids, state).layers[-1, 0]  # [N+2, W]
        ahead = bilm(ids[:, :-1], state).state
        back = bilm(ids[:, 1:], state).state
    after = BiLMState(torch.stack([ahead.h[0], back.h[1]]), torch.stack([ahead.c[0], back.c[1]]))
    weight, bias = torch.from_numpy(stored.softmax.weight), torch.from_numpy(stored.softmax.bias)
    forward = torch.log_softmax(top[:-1, :size] @ weight.T + bias, dim=1)
    backward = torch.log_softmax(top[1:, size:] @ weight.T + bias, dim=1)
    rows = torch.arange(n + 1)
    targets = stored.vocabulary.ids([*sentence, "</S>"]), stored.vocabulary.ids(["<S>", *sentence])
    return float(forward[rows, targets[0]].sum()), float(backward[rows, targets[1]].sum()), after


@settings(max_examples=20)
@given(DOCUMENTS, st.integers(0, 2))
def test_each_sentence_from_a_zero_state(documents: list[list[list[str]]], seed: int) -> None:
    stored = small_lm(seed)
    assert stored.vocabulary is not None
    sentences = [sentence for document in documents for sentence in document]
    found = evaluate(trained_model(stored), sentences, stored.vocabulary, stored.indexer)
    for sentence, likelihood in zip(sentences, found, strict=True):
        forward, backward, _ = spelled_out(stored, sentence, None)
        assert (likelihood.forward, likelihood.backward) == pytest.approx((forward, backward), abs=1e-4)
        assert likelihood.predictions == len(sentence) + 1
        assert likelihood.unknown == sum(token not in WORDS for token in sentence)


@settings(max_examples=20)
@given(DOCUMENTS, st.integers(0, 2))
def test_state_flows_from_sentence_to_sentence_within_a_document(documents: list[list[list[str]]], seed: int) -> None:
    stored = small_lm(seed)
    assert stored.vocabulary is not None
    found = evaluate_in_order(trained_model(stored), documents, stored.vocabulary, stored.indexer)
    for document, likelihoods in zip(documents, found, strict=True):
        state = None
        for sentence, likelihood in zip(document, likelihoods, strict=True):
            forward, backward, state = spelled_out(stored, sentence, state)
            assert (likelihood.forward, likelihood.backward) == pytest.approx((forward, backward), rel=1e-5, abs=1e-4)


def test_the_warm_state_is_that_of_elmo() -> None:
    stored = small_lm()
    elmo = Elmo(stored, device="cpu", state="warm")
    with torch.no_grad():
        expected = elmo.bilm(elmo.ids([WARM_TEXT.split()])).state
    found = warm_states(trained_model(stored), stored.indexer)
    torch.testing.assert_close(found[1][0].h, expected.h[1, 0])
    torch.testing.assert_close(found[0][1].c, expected.c[0, 1])


@pytest.mark.parametrize("state", ["reset", "warm"])
def test_score_and_evaluate_agree(tmp_path: Path, state: State) -> None:
    stored = small_lm()
    (tmp_path / "a.txt").write_text(TEXT)
    (found,) = totals(evaluate_files(stored, [tmp_path / "a.txt"], state=state)).values()
    scores = score(Elmo(stored, device="cpu", state=state), TEXT.splitlines(), unknown="score")
    assert found.forward == pytest.approx(sum(one.total.forward for one in scores), abs=1e-4)
    assert found.backward == pytest.approx(sum(one.total.backward or 0 for one in scores), abs=1e-4)
    assert (found.tokens, found.unknown, found.bytes) == tuple(
        sum(getattr(one.total, name) for one in scores) for name in ("tokens", "unknown", "bytes")
    )
    assert found.unknown == sum(int(one.unknown.sum()) for one in scores) == 1


def totals(documents: object) -> dict[str, Likelihood]:
    found: dict[str, Likelihood] = {}
    for one in documents:  # type: ignore[attr-defined]
        assert isinstance(one, DocumentLikelihood)
        found[one.source] = found.get(one.source, Likelihood()) + one.likelihood
    return found


@pytest.mark.parametrize("state", ["reset", "warm", "carry"])
def test_figures_do_not_depend_on_what_is_read_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: State
) -> None:
    random = np.random.default_rng(0)
    lines = [" ".join(random.choice(WORDS[3:], size=int(random.integers(0, 20)))) for _ in range(20)]
    path = tmp_path / "a.txt"
    path.write_text("\n".join(lines))
    stored = small_lm()
    figures = []
    for positions, window in ((4096, 1 << 16), (50, 30), (7, 1)):
        monkeypatch.setattr(perplexity_module, "BATCH_POSITIONS", positions)
        monkeypatch.setattr(files_module, "WINDOW_TOKENS", window)
        figures.append(totals(evaluate_files(stored, [path], state=state))[str(path)].to_dict())
    for other in figures[1:]:
        assert other == pytest.approx(figures[0], rel=1e-6)


def test_two_threads_give_the_same_figures(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    with side_by_side() as run:  # within it an operation has one thread, whoever calls it
        alone = totals(evaluate_files(small_lm(), [tmp_path / "a.txt"]))
        assert totals(evaluate_files(small_lm(), [tmp_path / "a.txt"], run=run)) == alone


def test_the_three_states_differ(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    states: tuple[State, ...] = ("reset", "warm", "carry")
    losses = {totals(evaluate_files(small_lm(), [tmp_path / "a.txt"], state=s)).popitem()[1].forward for s in states}
    assert len(losses) == 3


def test_documents_files_and_lines(tmp_path: Path) -> None:
    """Each document has its own figures; they add up to those of the file, however it is cut."""
    first, second = tmp_path / "a.txt", tmp_path / "b.jsonl.gz"
    first.write_text(TEXT)
    second.write_bytes(gzip.compress(b'{"id": "x", "body": "a cat"}\n{"id": "y", "body": "the mat"}\n'))
    found = list(evaluate_files(small_lm(), [first, second], field="body"))
    assert [(one.source, one.id) for one in found] == [
        (str(first), "0"),
        (str(first), "1"),
        (str(second), "x"),
        (str(second), "y"),
    ]
    assert [one.likelihood.tokens for one in found] == [10, 2, 2, 2]
    lines = list(evaluate_files(small_lm(), [first], unit="line"))
    assert [one.likelihood.tokens for one in lines] == [7, 3, 2]
    assert totals(lines)[str(first)].to_dict() == pytest.approx(totals(found)[str(first)].to_dict())


def test_text_is_split_as_the_model_says_or_as_asked(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the cat. a mat.")
    split = totals(evaluate_files(small_lm(), [tmp_path / "a.txt"])).popitem()[1]
    assert (split.tokens, split.predictions) == (4, 5)
    english = totals(evaluate_files(small_lm(), [tmp_path / "a.txt"], lang="en")).popitem()[1]
    assert english.tokens == 6


def test_bytes_are_those_of_the_text_as_written(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the  cat.\n\nдом\n", encoding="utf-8")
    found = totals(evaluate_files(small_lm(), [tmp_path / "a.txt"], lang="en")).popitem()[1]
    assert found.bytes == len("the  cat.\n") + len("дом\n".encode())
    assert found.bits_per_byte == pytest.approx(-(found.forward + found.backward) / 2 / math.log(2) / found.bytes)


def test_the_average_is_the_exponential_of_the_mean_loss() -> None:
    found = Likelihood(forward=-20.0, backward=-30.0, predictions=10)
    assert found.perplexities == pytest.approx((math.exp(2), math.exp(3)))
    assert found.perplexity == pytest.approx(math.exp(2.5))
    assert Likelihood(forward=-1e9, backward=-1.0, predictions=1).perplexities[0] == math.inf


def test_a_model_that_reads_forward_only() -> None:
    stored = small_lm(bidirectional=False)
    assert stored.vocabulary is not None
    (found,) = evaluate(trained_model(stored), [["the", "cat"]], stored.vocabulary, stored.indexer)
    (expected,) = score(Elmo(stored, device="cpu"), [["the", "cat"]])
    assert found.forward == pytest.approx(expected.total.forward, abs=1e-5)
    assert found.perplexities == (found.perplexity, None)
    assert (found + found).backward is None


def test_a_very_long_sentence_is_read_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest thing that is held is a piece, not the sentence."""
    seen: list[int] = []
    plain = perplexity_module.read_without_gradient

    def watched(model, batch, states, run):  # type: ignore[no-untyped-def]
        seen.append(len(batch.readings[0].inputs))
        return plain(model, batch, states, run)

    monkeypatch.setattr(perplexity_module, "read_without_gradient", watched)
    monkeypatch.setattr(perplexity_module, "BATCH_POSITIONS", 100)
    (tmp_path / "a.txt").write_text("the cat sat on a mat " * 200)
    found = totals(evaluate_files(small_lm(), [tmp_path / "a.txt"])).popitem()[1]
    assert found.predictions == 1201 == sum(seen)
    assert max(seen) <= 100


@pytest.mark.parametrize("content", [b"", b"\n \n\n"])
def test_an_empty_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "empty.txt").write_bytes(content)
    with pytest.raises(InputError, match=r"empty\.txt has no text to evaluate"):
        list(evaluate_files(small_lm(), [tmp_path / "a.txt", tmp_path / "empty.txt"]))


def test_bad_input_is_refused_with_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\x00\x01\x02binary\xff" * 10)
    with pytest.raises(InputError, match="holds binary data"):
        list(evaluate_files(small_lm(), [path]))
    with pytest.raises(InputError, match="missing does not exist"):
        evaluate_files(small_lm(), [tmp_path / "missing"])
    with pytest.raises(ConfigError, match="state is 'cold', but should be one of: reset, warm, carry"):
        evaluate_files(small_lm(), [path], state="cold")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="no input is a table"):
        evaluate_files(small_lm(), [path], field="body")


def test_a_model_without_a_softmax_or_with_another_vocabulary_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(TEXT)
    with pytest.raises(ConfigError, match=r"small has no softmax.*polyseme finetune"):
        evaluate_files(replace(small_lm(), softmax=None), [path])
    with pytest.raises(ConfigError, match="has 9 words, but its softmax has 10 rows"):
        evaluate_files(replace(small_lm(), vocabulary=Vocabulary(WORDS[:-1])), [path])
