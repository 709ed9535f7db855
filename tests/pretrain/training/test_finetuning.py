"""finetune: any model, its softmax or a new one, frozen as long as it should be, resumed with the same losses."""

from __future__ import annotations

import json
import math
import signal
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from helpers.damage import rewrite
from helpers.small_corpora import random_text, small_corpus, small_recipe
from polyseme.bilm_config import BiLMConfig, CharacterConfig, WordConfig
from polyseme.elmo import Elmo
from polyseme.errors import ConfigError, InputError, JobError
from polyseme.formats.detect import load
from polyseme.formats.model import SoftmaxWeights, StoredModel
from polyseme.formats.native import save_native
from polyseme.jobs.manifests import measure_piece
from polyseme.lm.likelihood import Likelihood
from polyseme.nn.bilm import BiLM
from polyseme.nn.softmax import draw_negatives, log_probabilities
from polyseme.pretrain.corpus.corpus import Corpus, open_corpus
from polyseme.pretrain.corpus.preparation import prepare
from polyseme.pretrain.recipe import load_recipe
from polyseme.pretrain.training.base import BASE, BEFORE
from polyseme.pretrain.training.batches import TypeTable, pack_sentences
from polyseme.pretrain.training.build import trained_model
from polyseme.pretrain.training.finetuning import Outcome, adapted_softmax, finetune, recipe_for
from polyseme.pretrain.training.language_model import zero_states
from polyseme.pretrain.training.objective import compute_gradients, compute_softmax_gradients
from polyseme.pretrain.training.open_run import Watch
from polyseme.pretrain.training.parallel import one_after_the_other
from polyseme.pretrain.training.perplexity import evaluate
from polyseme.pretrain.training.run_plan import RunPlan, recipe_of_run
from polyseme.pretrain.training.step_softmax import sampled_softmax
from polyseme.pretrain.training.trainer import StepReport, Training
from polyseme.text.characters import ByteScheme, UnicodeScheme
from polyseme.text.vocabulary import SPECIALS, Indexer, Vocabulary, WordTable


def some_words(corpus: Corpus, every: int = 2) -> Vocabulary:
    """The specials, and a part of the words of the corpus, in another order than there."""
    return Vocabulary((*reversed(corpus.vocabulary.words[3::every]), *SPECIALS))


def byte_model(vocabulary: Vocabulary | None, seed: int = 0, **changes: Any) -> StoredModel:
    """A model of another shape than the recipe's."""
    characters = CharacterConfig(alphabet=261, dim=3, max_characters=9, filters=((1, 5), (3, 4)), highways=2)
    config = BiLMConfig(characters=characters, **{"cell": 10, "projection": 7, "layers": 1, **changes})
    return _random(config, Indexer(ByteScheme(max_characters=9)), vocabulary, seed)


def many_langs_model() -> StoredModel:
    """Words and characters at once, no projection clip, no softmax: the shape of ELMoForManyLangs."""
    scheme = UnicodeScheme({c: n for n, c in enumerate((*UnicodeScheme.SPECIALS, *"abcdefghijklmnopqrst."))}, 9)
    words = WordTable({w: n for n, w in enumerate(("<oov>", "<bos>", "<eos>", "cat"))}, "<oov>", "<bos>", "<eos>")
    config = BiLMConfig(
        characters=CharacterConfig(alphabet=scheme.alphabet, dim=3, max_characters=9, filters=((1, 5),), highways=1),
        words=WordConfig(size=4, dim=3),
        cell=8,
        projection=6,
        projection_clip=None,
    )
    return _random(config, Indexer(characters=scheme, words=words), None, 0)


def word_model(vocabulary: Vocabulary) -> StoredModel:
    ids = {word: number for number, word in enumerate(vocabulary.words)}
    config = BiLMConfig(words=WordConfig(size=len(ids), dim=6), cell=8, projection=6, project_tokens=False)
    return _random(config, Indexer(words=WordTable(ids, "<UNK>", "<S>", "</S>")), vocabulary, 0)


def _random(config: BiLMConfig, indexer: Indexer, vocabulary: Vocabulary | None, seed: int) -> StoredModel:
    torch.manual_seed(seed)
    tensors = BiLM(config).arrays()
    softmax = None
    if vocabulary is not None:
        softmax = SoftmaxWeights(
            torch.randn(len(vocabulary), config.projection).numpy(), torch.randn(len(vocabulary)).numpy()
        )
    card = {"name": "base", "licence": "CC0-1.0", "languages": ["en"], "tokenization": "en"}
    return StoredModel(config, tensors, indexer, vocabulary, softmax, card=card)


def saved(stored: StoredModel, folder: Path) -> str:
    save_native(stored, folder)
    return str(folder)


def run(corpus: Corpus, model: str, out: Path, **changes: Any) -> Outcome:
    options = {key: changes.pop(key) for key in ("resume", "watch") if key in changes}
    recipe = small_recipe(**changes)
    plan = RunPlan(corpus=corpus.folder, out=out, recipe=recipe, init=model, threads=1)
    return finetune(plan, **options)


def log_of(out: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


def perplexity(stored: StoredModel, sentences: list[list[str]]) -> float:
    assert stored.vocabulary is not None
    return sum(evaluate(trained_model(stored), sentences, stored.vocabulary, stored.indexer), Likelihood()).perplexity


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return small_corpus(tmp_path_factory.mktemp("corpus"))


def held_out(corpus: Corpus) -> list[list[str]]:
    """The last sentences of the corpus, which is one document: as few as have a hundredth of its tokens."""
    held: list[list[str]] = []
    while sum(map(len, held)) < corpus.meta.tokens // 100:
        held.insert(0, corpus.types(corpus.sentence(corpus.meta.sentences - 1 - len(held))))
    return held


def test_a_softmax_that_fits_is_used_from_the_first_step(corpus: Corpus, tmp_path: Path) -> None:
    base = byte_model(corpus.vocabulary)
    outcome = run(corpus, saved(base, tmp_path / "base"), tmp_path / "run", budget={"softmax_tokens": 500})
    assert outcome.before["average"] == pytest.approx(perplexity(base, held_out(corpus)), rel=1e-5)
    assert outcome.fitted is None
    assert outcome.after["average"] < 0.9 * outcome.before["average"]
    tuned = load(outcome.model)
    assert outcome.after["average"] == pytest.approx(perplexity(tuned, held_out(corpus)), rel=1e-5)
    assert tuned.config == base.config
    assert any(not np.array_equal(tuned.tensors[name], base.tensors[name]) for name in base.tensors)


def test_without_a_softmax_one_is_fitted_first_while_the_bilm_stays_as_it_is(corpus: Corpus, tmp_path: Path) -> None:
    base = byte_model(None)
    frozen: list[bool] = []
    held: list[Training] = []

    def stepped(report: StepReport) -> None:
        weights = held[0].model.bilm.state_dict()
        frozen.append(all(np.array_equal(weights[name], base.tensors[name]) for name in base.tensors))

    watch = Watch(started=held.append, stepped=stepped)
    budget = {"softmax_tokens": 700}
    outcome = run(corpus, saved(base, tmp_path / "base"), tmp_path / "run", budget=budget, watch=watch)

    steps = [line for line in log_of(tmp_path / "run") if "forward" in line]
    assert frozen == [before < 700 for before in [0, *(line["tokens"] for line in steps[:-1])]]
    counts = np.array(corpus.vocabulary.counts) + 1.0
    unigrams = dict(zip(corpus.vocabulary.words, np.log(counts / counts.sum()), strict=True))
    words = [word for sentence in held_out(corpus) for word in (*sentence, "</S>")]
    expected = math.exp(-sum(unigrams[word] for word in words) / len(words))
    assert outcome.before["forward"] == pytest.approx(expected, rel=1e-5)
    assert outcome.fitted is not None
    assert outcome.after["average"] < outcome.fitted["average"] < outcome.before["average"]


def test_the_gradients_of_the_softmax_are_those_of_the_whole_step(corpus: Corpus) -> None:
    base = byte_model(corpus.vocabulary)
    model, table = trained_model(base), TypeTable.of_corpus(corpus, base.indexer)
    sentences = sorted((corpus.sentence(i).astype(np.int64) for i in range(20)), key=len, reverse=True)
    batch = pack_sentences(sentences, table, directions=2, share=slice(None))
    negatives = draw_negatives(len(corpus.vocabulary), 8, np.random.default_rng(0))
    softmax = sampled_softmax(len(corpus.vocabulary), batch.targets, (negatives, negatives))
    states, run = zero_states(model.bilm, batch), one_after_the_other
    whole = compute_gradients(model, batch, softmax, states, run=run, dropout=[lambda x: x] * 2, scale=3.0)
    alone = compute_softmax_gradients(model, batch, softmax, states, run=run, scale=3.0)
    torch.testing.assert_close(alone.weight, whole.weight, rtol=0, atol=0)
    torch.testing.assert_close(alone.bias, whole.bias, rtol=0, atol=0)
    torch.testing.assert_close(alone.losses, whole.losses, rtol=0, atol=0)
    torch.testing.assert_close(alone.states[1][0].h, whole.states[1][0].h, rtol=0, atol=0)
    assert alone.network == []


def test_the_whole_budget_can_go_to_the_softmax(corpus: Corpus, tmp_path: Path) -> None:
    """So a released model gets probabilities and keeps its vectors."""
    base = byte_model(None)
    budget = {"tokens": 600, "softmax_tokens": 600}
    outcome = run(corpus, saved(base, tmp_path / "base"), tmp_path / "run", budget=budget)
    tuned = load(outcome.model)
    assert tuned.fingerprint() == base.fingerprint()
    assert outcome.fitted == outcome.after
    assert Elmo(tuned, device="cpu").score("the cat").total.forward < 0


def test_new_words_share_what_unknown_had_and_nothing_else_changes(corpus: Corpus) -> None:
    base = byte_model(some_words(corpus))
    adapted = adapted_softmax(base, corpus.vocabulary)
    assert base.softmax is not None and base.vocabulary is not None
    h = torch.randn(4, base.config.projection)
    old = torch.log_softmax(h @ torch.from_numpy(base.softmax.weight).T + torch.from_numpy(base.softmax.bias), dim=1)
    new = log_probabilities(h, adapted.weight, adapted.bias)
    counts = dict(zip(corpus.vocabulary.words, corpus.vocabulary.counts or (), strict=True))
    sharing = [word for word in corpus.vocabulary.words if word not in base.vocabulary or word == "<UNK>"]
    assert len(sharing) > 3
    for number, word in enumerate(corpus.vocabulary.words):
        expected = old[:, base.vocabulary.ids([word])[0]]
        if word in sharing:
            expected = expected + math.log((counts[word] + 1) / sum(counts[w] + 1 for w in sharing))
        torch.testing.assert_close(new[:, number], expected, rtol=0, atol=1e-5)


def test_a_vocabulary_with_new_words_fits_the_softmax_first(corpus: Corpus, tmp_path: Path) -> None:
    base = byte_model(some_words(corpus))
    outcome = run(corpus, saved(base, tmp_path / "base"), tmp_path / "run", budget={"softmax_tokens": 500})
    assert outcome.fitted is not None
    assert outcome.fitted["average"] < outcome.before["average"]
    tuned = load(outcome.model)
    assert tuned.vocabulary is not None
    assert tuned.vocabulary.words == corpus.vocabulary.words


def test_a_small_budget_is_not_spent_on_the_softmax_alone(corpus: Corpus, tmp_path: Path) -> None:
    """The recipe's million tokens for the softmax are meant for its own budget, not for one of 600."""
    base = saved(byte_model(some_words(corpus)), tmp_path / "base")
    outcome = run(corpus, base, tmp_path / "run", budget={"tokens": 600, "softmax_tokens": 1_000_000})
    assert outcome.softmax_tokens == 150
    assert outcome.all_tokens >= 400
    whole = run(corpus, base, tmp_path / "whole", budget={"tokens": 600, "softmax_tokens": 600})
    assert whole.softmax_tokens == 600
    assert whole.all_tokens < 100  # what the last batch has beyond it


def test_words_in_another_order_or_fewer_of_them_still_fit(corpus: Corpus) -> None:
    more = Vocabulary(("zebra", *reversed(corpus.vocabulary.words)))
    recipe = small_recipe(budget={"softmax_tokens": 500})
    assert recipe_for(byte_model(more), corpus.vocabulary, recipe).budget.softmax_tokens == 0
    assert recipe_for(byte_model(some_words(corpus)), corpus.vocabulary, recipe).budget.softmax_tokens == 500


@pytest.mark.parametrize("kind", ["many-langs", "words", "forward", "windows"])
def test_models_of_every_shape(corpus: Corpus, tmp_path: Path, kind: str) -> None:
    base = {
        "many-langs": many_langs_model,
        "words": lambda: word_model(some_words(corpus)),
        "forward": lambda: byte_model(corpus.vocabulary, bidirectional=False),
        "windows": lambda: byte_model(corpus.vocabulary),
    }[kind]()
    changes: dict[str, Any] = {"budget": {"tokens": 900, "softmax_tokens": 300}}
    if kind == "windows":
        changes["text"] = {"read": "windows", "rows": 6, "steps": 5}
    outcome = run(corpus, saved(base, tmp_path / "base"), tmp_path / "run", **changes)
    assert outcome.after["average"] < outcome.before["average"]
    tuned = load(outcome.model)
    assert tuned.config == base.config
    assert tuned.card["state"] == ("warm" if kind == "windows" else "reset")
    assert Elmo(tuned, device="cpu").score([["the", "cat"]])[0].total.forward < 0


@pytest.mark.parametrize("stop_at", [3, 20])
def test_stopped_and_resumed_it_gives_the_same_losses(corpus: Corpus, tmp_path: Path, stop_at: int) -> None:
    """Stopped while the biLM is frozen, and after it."""
    model = saved(byte_model(some_words(corpus)), tmp_path / "base")
    budget = {"softmax_tokens": 600}
    whole = run(corpus, model, tmp_path / "whole", budget=budget)

    def stop(report: StepReport) -> None:
        if report.step == stop_at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(corpus, model, tmp_path / "parts", budget=budget, watch=Watch(stepped=stop))
    assert (len([line for line in log_of(tmp_path / "parts") if "forward" in line]) * 60 < 600) == (stop_at == 3)
    recipe = recipe_of_run(tmp_path / "parts")
    plan = RunPlan(corpus=corpus.folder, out=tmp_path / "parts", recipe=recipe, init=model, threads=1)
    parts = finetune(plan, resume=True)
    assert log_of(tmp_path / "parts") == log_of(tmp_path / "whole")
    assert (parts.before, parts.fitted, parts.after) == (whole.before, whole.fitted, whole.after)
    assert load(parts.model).fingerprint() == load(whole.model).fingerprint()


def test_stopped_in_the_step_that_ends_the_frozen_part_it_gives_the_same_losses(corpus: Corpus, tmp_path: Path) -> None:
    """The rest of the run has an optimiser of its own, which must not be forgotten."""
    model = saved(byte_model(some_words(corpus)), tmp_path / "base")
    budget = {"softmax_tokens": 600}
    whole = run(corpus, model, tmp_path / "whole", budget=budget)

    def stop(report: StepReport) -> None:
        if report.tokens >= 600:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run(corpus, model, tmp_path / "parts", budget=budget, watch=Watch(stepped=stop))
    parts = run(corpus, model, tmp_path / "parts", budget=budget, resume=True)
    assert log_of(tmp_path / "parts") == log_of(tmp_path / "whole")
    assert load(parts.model).fingerprint() == load(whole.model).fingerprint()


def test_a_model_that_only_gets_worse_is_kept_as_it_was(corpus: Corpus, tmp_path: Path) -> None:
    first = run(corpus, saved(byte_model(corpus.vocabulary), tmp_path / "base"), tmp_path / "first")
    outcome = run(corpus, str(first.model), tmp_path / "second", optimizer={"rate": 3.0, "clip_norm": None})
    assert outcome.after == outcome.before
    assert load(outcome.model).fingerprint() == load(first.model).fingerprint()


def test_the_card_says_what_it_was_made_from(corpus: Corpus, tmp_path: Path) -> None:
    base = byte_model(corpus.vocabulary)
    card = load(run(corpus, saved(base, tmp_path / "base"), tmp_path / "run").model).card
    assert card[BEFORE] == {"name": "base", "fingerprint": base.fingerprint()}
    assert (card["licence"], card["languages"], card["tokenization"]) == ("CC0-1.0", ["en"], "en")
    assert card["training"]["recipe"]["model"]["projection"] == 7


def test_another_model_cannot_resume_a_run(corpus: Corpus, tmp_path: Path) -> None:
    model = saved(byte_model(corpus.vocabulary), tmp_path / "base")
    run(corpus, model, tmp_path / "run")
    other = saved(byte_model(corpus.vocabulary, seed=1), tmp_path / "other")
    with pytest.raises(JobError, match=r'another model: fingerprint was "1:.*" and is "1:.*"; resume it with'):
        run(corpus, other, tmp_path / "run", resume=True)
    before = (tmp_path / "run" / BASE).read_text()
    with pytest.raises(JobError, match="already holds a run"):
        run(corpus, other, tmp_path / "run")
    assert (tmp_path / "run" / BASE).read_text() == before
    (tmp_path / "run" / BASE).unlink()
    with pytest.raises(JobError, match='another model: name was none and is "base"; fingerprint was none and is "1:'):
        run(corpus, model, tmp_path / "run", resume=True)


def test_what_cannot_be_trained_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    model = saved(byte_model(corpus.vocabulary), tmp_path / "base")
    with pytest.raises(ConfigError, match="draws 2048 negatives from a vocabulary of 23 words"):
        run(corpus, model, tmp_path / "run", softmax={"negatives": 2048})
    with pytest.raises(ConfigError, match=r"budget\.softmax_tokens is -1"):
        run(corpus, model, tmp_path / "run", budget={"softmax_tokens": -1})
    with pytest.raises(InputError, match="is not a prepared corpus"):
        plan = RunPlan(corpus=tmp_path / "nowhere", out=tmp_path / "run", recipe=small_recipe(), init=model)
        finetune(plan)
    with pytest.raises(ConfigError, match="needs a model"):
        finetune(RunPlan(corpus=corpus.folder, out=tmp_path / "run", recipe=small_recipe()))
    shared = small_recipe(model={"input": "words"}, softmax={"share_words": True})
    with pytest.raises(ConfigError, match=r"leave out softmax\.share_words"):
        recipe_for(byte_model(None), corpus.vocabulary, shared)


def test_a_vocabulary_without_specials_or_with_duplicates_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    model = saved(byte_model(None), tmp_path / "base")
    text = tmp_path / "text.txt"
    text.write_text(random_text(50))
    prepare([text], tmp_path / "corpus", lang="whitespace", workers=1)
    vocabulary = tmp_path / "corpus" / "vocab.txt"
    lines = vocabulary.read_text().splitlines(keepends=True)
    for broken, message in (
        (["dog\t9\n", *lines[1:]], "lacks <S>"),
        ([*lines[:-1], lines[-2]], "more than once"),
    ):
        vocabulary.write_text("".join(broken))
        rewrite(tmp_path / "corpus" / "corpus.json", pieces={"vocab.txt": asdict(measure_piece(vocabulary))})
        with pytest.raises(ConfigError, match=message):
            run(open_corpus(tmp_path / "corpus"), model, tmp_path / "run")


def test_the_shipped_recipe_leaves_the_shape_to_the_model(corpus: Corpus) -> None:
    recipe = load_recipe("finetune")
    assert 0 < recipe.budget.softmax_tokens < recipe.budget.tokens
    base = byte_model(None)
    assert recipe_for(base, corpus.vocabulary, recipe).model.cell == base.config.cell
    assert recipe_for(replace(base, card={}), corpus.vocabulary, recipe).budget == recipe.budget
