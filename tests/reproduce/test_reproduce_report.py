"""A report says what its figures say: means and spreads, claims that hold or not, what was skipped or failed."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from helpers.paths import ROOT
from polyseme.errors import InputError
from polyseme.reproduce import figure_1, figure_2, table_1, table_2, table_3, table_4, table_5, table_6, three_languages
from polyseme.reproduce.budgets import CPU, FULL, QUICK
from polyseme.reproduce.comparison import compare, finding, is_better, shown, tally
from polyseme.reproduce.document import Notes, Picture, ReportDocument, Section, Table, to_html, to_markdown
from polyseme.reproduce.paper import TABLE_1
from polyseme.reproduce.protocol import SHARES
from polyseme.reproduce.report import read_results, report
from polyseme.tasks.squad.task import PRESETS


def runs(
    *scores: float, mixes: dict[str, dict[str, Any]] | None = None, test: Sequence[float] = ()
) -> list[dict[str, Any]]:
    """What a training gives, by seed."""
    about = {"examples": {"train": 1200, "dev": 80}, "mixes": mixes or {}}
    found: list[dict[str, Any]] = [
        {"score": score, **about, "epochs": 3, "best_epoch": 2, "history": [score - 1, score, score - 2]}
        for score in scores
    ]
    for one, score in zip(found, test, strict=False):
        one["test"] = {"score": score}
    return found


def row(**columns: Any) -> dict[str, Any]:
    return {"data": "ner/uner-ewt", "metric": "f1", **columns}


def text_of(section: Section) -> str:
    return to_markdown(ReportDocument("t", [section]))


def test_scores_as_people_write_them() -> None:
    assert shown([]) == "–"
    assert shown([84.123]) == "84.12"
    assert shown([84.0, 85.0]) == "84.50 ± 0.71"


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ([2.0], [1.0], "yes"),
        ([1.0], [2.0], "no"),
        ([1.0], [1.0], "equal"),
        ([66.5], [66.49], "close"),
        ([1.0], [1.9, 2.0], "close"),
        ([1.2, 1.3], [1.0, 1.1], "yes"),
        ([1.0, 3.0], [1.5], "even"),
        ([], [1.0], None),
    ],
)
def test_a_difference_counts_where_seeds_differ_less(
    first: list[float], second: list[float], verdict: str | None
) -> None:
    assert is_better(first, second) == verdict


def test_a_claim_names_its_exceptions() -> None:
    assert tally("Up", {"a": None}) is None
    assert tally("Up", {"a": "yes", "b": None}) == "Up: here 1 of 1."
    found = tally("Up", {"a": "yes", "b": "no", "c": "even", "d": "equal"})
    assert found == "Up: here 1 of 4 (not for b; within the spread of the seeds for c; equal for d)."
    assert tally("Up", {"a": "no", "b": "no"}) == "Up: here none of 2."
    assert (
        tally("Up", {"a": "even", "b": "no"}, even="within 0.02")
        == "Up: here none of 2 (not for b; within 0.02 for a)."
    )


def test_a_claim_says_where_one_seed_decides() -> None:
    """A difference of 0.01 between two runs says nothing, and one seed against three is one seed."""
    assert (
        compare("Up", {"a": ([66.5], [66.49]), "b": ([3.0], [1.0, 1.1, 1.2]), "c": ([5.0, 5.1], [2.0, 2.1])})
        == "Up: here 2 of 3 (within a point with one seed for a; one seed for b)."
    )
    assert compare("Up", {"a": ([1.0], [2.0]), "b": ([3.0], [2.0])}) == "Up: here 1 of 2 (not for a; one seed)."
    assert compare("Up", {"a": ([5.0, 5.1], [2.0, 2.1])}) == "Up: here 1 of 1."


def test_a_claim_about_one_row_has_its_figure() -> None:
    assert finding("Up", None) is None
    assert finding("Up", 3.64) == "Up: here +3.6."
    assert finding("Up", -0.7) == "Up: here −0.7."
    assert finding("Up", -0.01) == "Up: equal here."


def test_gains_of_table_1() -> None:
    """From 80 to 85 of 100, a quarter of the error is gone."""
    figures = {
        "ner": row(split="test", baseline=runs(70, 71, test=(79.0, 81.0)), elmo=runs(75, 76, test=(85.0, 85.0))),
        "sst": {"missing": "looked for the folder sst"},
        "srl": row(split="dev", baseline=[None], elmo=[{"failed": "the loss is nan"}]),
    }
    text = text_of(table_1.section(figures))
    assert (
        "| NER | f1, ner/uner-ewt (test) | 80.00 ± 1.41 | 85.00 ± 0.00 | +5.00 | 25.0 % | – | 2 | 91.93 ± 0.19 |"
        in text
    )
    assert "| SRL | f1, ner/uner-ewt (dev) | – | – | – | – | – | – | 81.7 |" in text
    assert "ELMo is better than the baseline (paper: 6 of 6): here 1 of 1." in text
    assert "Trained on: NER 1,200 sentences." in text
    assert "SST-5 was skipped: looked for the folder sst." in text
    assert "SRL: a run failed: the loss is nan." in text


def test_the_gains_of_the_paper_are_what_its_scores_say() -> None:
    for gain in TABLE_1.values():
        assert gain.elmo - gain.baseline == pytest.approx(gain.absolute, abs=0.011)
        assert 100 * gain.absolute / (100 - gain.baseline) == pytest.approx(gain.relative, abs=0.1)


def test_spreads_have_the_digits_of_the_paper() -> None:
    text = text_of(table_1.section({}))
    for cell in ("| 88.7 ± 0.17 |", "| 91.93 ± 0.19 |", "| 92.22 ± 0.10 |", "| 54.7 ± 0.5 |"):
        assert cell in text


def test_how_runs_ended_and_what_that_means() -> None:
    """Of three runs of at most three epochs one was stopped before, and one was best in its last."""
    stopped, last = runs(1.0)[0] | {"epochs": 2, "best_epoch": 1}, runs(1.0)[0] | {"best_epoch": 3}
    found = row(epoch_limit=3, split="dev", baseline=[*runs(1.0), stopped], elmo=[last, None])
    said = "Of 3 training runs, 2 ended at their limit of epochs; 1 had the best dev score in the last epoch."
    meaning = "the gains partly measure how fast a model learns, not only how good it gets."
    text = text_of(table_1.section({"ner": found, "sst": {"missing": "x"}}))
    assert said in text
    assert meaning in text
    assert said in text_of(
        table_3.section({"srl": row(epoch_limit=3, input=[*runs(1.0), stopped], both=[last], output=[None])})
    )
    found = row(epoch_limit=3, split="dev", baseline=[stopped], elmo=runs(1.0))
    text = text_of(table_1.section({"ner": found}))
    assert "none had the best dev score in the last epoch." in text
    assert meaning not in text
    assert "training runs" not in text_of(table_1.section({}))


def test_training_sets_stand_beside_the_papers() -> None:
    figures = {task: row(split="dev", baseline=runs(1.0), elmo=[]) for task in ("snli", "ner")}
    assert "Trained on: SNLI 1,200 pairs (in the paper 549,367), NER 1,200 sentences." in text_of(
        table_1.section(figures)
    )


def test_where_elmo_enters_is_said() -> None:
    found = {task: row(elmo_at=place) for task, place in (("squad", "both"), ("snli", "both"), ("srl", "input"))}
    said = "As in the paper, ELMo enters at input and output for SQuAD, SNLI, and at the input for SRL."
    assert said in text_of(table_1.section(found))
    assert said in text_of(table_2.section(found))
    assert "ELMo enters" not in text_of(table_1.section({}))


def test_the_budget_of_a_night_says_what_squad_leaves_out() -> None:
    sizes = PRESETS["cpu"].network
    assert SHARES == {"squad": 0.1, "srl": 0.5}
    assert "half of the sentences for semantic roles" in CPU.about
    assert f"a tenth of SQuAD's paragraphs of up to {sizes.longest_paragraph} tokens" in CPU.about


def test_claims_of_table_2() -> None:
    columns = {"baseline": runs(80), "last": runs(85), "lambda_1": runs(83), "lambda_0.001": runs(84)}
    text = text_of(table_2.section({"srl": row(**columns)}))
    assert "| SRL | f1, ner/uner-ewt | 80.00 | 85.00 | 83.00 | 84.00 | 1 | 81.6 | 84.1 | 84.6 | 84.8 |" in text
    assert "All layers (λ = 0.001) beat the last layer (paper: 3 of 3): here none of 1 (one seed)." in text
    assert "The last layer alone beats the baseline (paper: 3 of 3): here 1 of 1 (one seed)." in text


def curve(*scores: float | None) -> list[dict[str, Any]]:
    """Scores by share of the data; None where nothing was run."""
    shares = zip((0.01, 0.1, 1.0), scores, strict=True)
    return [{"share": share, "runs": [None] if score is None else runs(score)} for share, score in shares]


def test_data_and_epochs_that_elmo_saves() -> None:
    section = figure_1.section({"snli": row(baseline=curve(40, 60, 70), elmo=curve(45, 72, 80))})
    text = text_of(section)
    assert "SNLI: the full data set has 1,200 pairs (in the paper 549,367)." in text
    assert "SNLI with ELMo reaches the baseline trained on all the data with 10 % of it." in text
    assert "SNLI: the baseline is best on dev after 2 of 3 epochs; ELMo reaches that score after 1." in text
    assert "SNLI is better with ELMo, by share of the data: here 3 of 3 (one seed)." in text
    assert "| SNLI | 10 % | 1,200 | 60.00 | 72.00 |" in text
    assert "(reproduction-figure-1.svg)" in text


def test_points_with_several_seeds_have_bars() -> None:
    """The baseline with three seeds on the smallest share; everything else has one, and no bar of length 0."""

    def bars(baseline: list[dict[str, Any]]) -> int:
        blocks = figure_1.section({"snli": row(baseline=baseline, elmo=curve(45, 71, 80))}).blocks
        (picture,) = (block for block in blocks if isinstance(block, Picture))
        collections = re.findall(rb'<g id="LineCollection.*?</g>', picture.svg, re.DOTALL)
        return sum(one.count(b"<path") for one in collections)

    assert bars(curve(40, 60, 70)) == 0
    assert bars([{"share": 0.01, "runs": runs(38, 40, 42)}, *curve(40, 60, 70)[1:]]) == 1


def test_a_small_share_has_several_seeds() -> None:
    """There the luck of a draw is large, and a run takes minutes."""
    assert [len(CPU.seeds_of("srl", share)) for share in CPU.shares] == [3, 3, 3, 1]
    assert [len(FULL.seeds_of("srl", share)) for share in FULL.shares] == [5, 5, 5, 1, 1, 1]
    assert len(QUICK.seeds_of("snli", 0.01)) == 1


def test_how_little_data_is_enough_is_open_until_every_share_is_run() -> None:
    text = text_of(figure_1.section({"snli": row(baseline=curve(40, 60, 70), elmo=curve(None, None, 80))}))
    assert "the baseline trained on all the data" not in text
    text = text_of(figure_1.section({"snli": row(baseline=curve(None, None, 70), elmo=curve(40, 50, 60))}))
    assert "does not reach the baseline trained on all the data, with any share" in text
    assert "SNLI with ELMo does not reach the baseline's best dev score in 1 of 1 runs." in text


def test_nothing_saved_is_no_finding() -> None:
    text = text_of(figure_1.section({"snli": row(baseline=curve(40, 60, 70), elmo=curve(45, 69, 80))}))
    assert "SNLI with ELMo reaches the baseline trained on all the data only with all of it." in text
    text = text_of(figure_1.section({"snli": row(baseline=curve(40, 60, 70), elmo=curve(45, 70.01, 80))}))
    assert "with 10 % of it (within a point, one seed)." in text


def mix(*shares: float, scale: float = 1.0) -> dict[str, Any]:
    return {"shares": list(shares), "scale": scale}


def test_weights_without_their_scale() -> None:
    mixes = {"input": mix(0.2, 0.5, 0.3, scale=1.7), "output": mix(0.4, 0.3, 0.3, scale=0.9)}
    text = text_of(figure_2.section({"sst": row(runs=runs(1, 2, mixes=mixes))}))
    assert "| SST-5 | input | 0.20 ± 0.00 | 0.50 ± 0.00 | 0.30 ± 0.00 |" in text
    assert "| task | place | token layer | layer 1 | layer 2 |" in text


def test_the_pattern_of_the_weights_by_a_margin() -> None:
    """Layer 1 ahead by 0.2, by nothing, and behind; the output more even, no less, and not there."""
    mixes = {
        "ner": {"input": mix(0.2, 0.5, 0.3), "output": mix(0.4, 0.3, 0.3)},
        "snli": {"input": mix(0.33, 0.34, 0.33), "output": mix(0.33, 0.33, 0.34)},
        "sst": {"input": mix(0.5, 0.3, 0.2)},
    }
    text = text_of(figure_2.section({task: row(runs=runs(1, mixes=found)) for task, found in mixes.items()}))
    first = "Layer 1 has the largest weight at the input, by at least 0.02: here 1 of 3 "
    assert f"{first}(not for SST-5; within 0.02 for SNLI)." in text
    assert "more even at the output than at the input: here 1 of 2 (within 0.02 for SNLI)." in text


def test_senses_and_tags_stand_beside_the_papers() -> None:
    def scores(*shares: float) -> dict[str, Any]:
        return {name: {"f1": list(shares), "first_sense": 0.65, "words": 10, "seen": 9} for name in ("a", "ALL")}

    text = text_of(
        table_5.section({"static": scores(0.6), "biLM": scores(0.61, 0.66, 0.68), "CoVe": scores(0.59, 0.64)})
    )
    for line in (
        "| biLM, layer 2 | 68.0 | 68.0 | 69.0 |",
        "| biLM, token layer | 61.0 | 61.0 | – |",
        "| CoVe, layer 2 | 64.0 | 64.0 | 64.7 |",
        "| static | 60.0 | 60.0 | – |",
        "| first sense in WordNet | 65.0 | 65.0 | 65.9 |",
        "The last layer compared with the first LSTM layer (paper: +1.6): here +2.0.",
        "Compared with the paper's layers, on the same sets: layer 1 −1.4, layer 2 −1.0.",
    ):
        assert line in text
    probe, static = ({"dev": found, "test": None, "decays": [0.0]} for found in ([0.9, 0.96, 0.97], [0.74]))
    frequent = {"dev": 0.85, "test": None}
    text = text_of(table_6.section({"data": "pos/x", "biLM": probe, "static": static, "most frequent tag": frequent}))
    assert "| biLM, layer 1 | 96.0 | 97.3 |" in text
    assert "| most frequent tag | 85.0 | – |" in text
    assert "(paper: +0.5): here −1.0." in text
    assert "Static vectors are below the most frequent tag of a word by 11.0: a linear classifier has too" in text


def test_a_text_without_words_is_said_to_be_so() -> None:
    text = text_of(table_4.section({"tokens": 0, "sentences": 0, "texts": [], "static": {}, "biLM": []}))
    assert "The text has no words." in text
    assert "0 tokens" not in text


def test_every_language_names_its_model() -> None:
    def probed(name: str) -> dict[str, Any]:
        probe = {"dev": [0.8, 0.9, 0.85], "test": None, "decays": [0.0]}
        model = {"name": name, "fingerprint": "0123456789abcdef"}
        return {"data": "pos/x", "model": model, "most frequent tag": {"dev": 0.7, "test": None}, "biLM": probe}

    text = text_of(
        three_languages.section(
            {"en": probed("polyseme-en"), "ko": probed("polyseme-ko"), "zh": {"missing": "no model"}}
        )
    )
    assert "| language | treebank | model | split | most frequent tag | token layer | layer 1 | layer 2 |" in text
    assert "| Korean | pos/x | polyseme-ko 0123456789ab | dev | 70.0 | 80.0 | 90.0 | 85.0 |" in text
    assert "Chinese was skipped: no model." in text


def test_what_layers_know_beyond_the_words() -> None:
    def probed(*shares: float) -> dict[str, Any]:
        probe = {"dev": [0.5, 0.5, 0.5], "test": list(shares), "decays": [0.0]}
        return {"data": "pos/x", "most frequent tag": {"dev": 0.9, "test": 0.8}, "biLM": probe}

    text = text_of(three_languages.section({"en": probed(0.7, 0.9, 0.85), "ko": probed(0.7, 0.802, 0.79)}))
    claim = "is better than the most frequent tag of a word: here 1 of 2"
    assert f"Layer 1 {claim} (within 0.5 for Korean)." in text
    assert f"Layer 2 {claim} (not for Korean)." in text


def test_neighbours_are_shown_once_and_what_two_senses_share() -> None:
    def place(sentence: str, similarity: float = 0.9) -> dict[str, Any]:
        return {"sentence": sentence, "similarity": similarity}

    figures = {
        "biLM": [
            {"question": "A [bank].", "any_word": [place("x [shore]"), place("y [bank]")],
             "this_word": [place("y [bank]", 0.9000001), place("z [bank]")]},
            {"question": "The [Bank].", "any_word": [place("y [bank]"), place("v [bank]")], "this_word": []},
            {"question": "A [play].", "any_word": [place("a [play]")], "this_word": []},
            {"question": "The [play].", "any_word": [place("b [play]")], "this_word": []},
            {"question": "Alone [here].", "any_word": [], "this_word": []},
        ],
        "tokens": 9, "sentences": 5, "texts": ["t"], "static": {},
    }  # fmt: skip
    text = text_of(table_4.section(figures))
    assert text.count("y \\[bank\\]") == 2  # once for each question
    assert "|  | the same | 0.90 | z \\[bank\\] |" in text
    assert "all sentences of a word share (none if its senses are told apart): bank 1, play none." in text
    assert "| paper: in its sentence | paper: nearest |" in text


def test_text_of_a_corpus_is_no_markup() -> None:
    table = Table(["a", "paper: b"], [["<b>*x*|[y]</b>", "1.5"]])
    document = ReportDocument("T & t", [Section("S", ["see `code <x>`", table, Notes(["<i>"])])])
    assert r"| \<b\>\*x\*\|\[y\]\</b\> | 1.5 |" in to_markdown(document)
    page = to_html(document)
    for piece in (
        "&lt;b&gt;*x*|[y]&lt;/b&gt;",
        "<code>code &lt;x&gt;</code>",
        "<li>&lt;i&gt;</li>",
        '<th scope="col" class="number theirs"><small>paper</small>b</th>',
    ):
        assert piece in page


def test_a_report_of_nothing_has_the_papers_figures_only() -> None:
    text = to_markdown(report({"version": 1, "parts": {}}))
    assert text.count("Not run yet.") == 11
    assert "every figure below is the paper's" in text


def test_a_part_that_failed_was_run() -> None:
    text = to_markdown(
        report({"version": 1, "parts": {"senses": {"done": 0, "planned": 1, "figures": {"failed": "it is empty"}}}})
    )
    assert text.count("Not run yet.") == 10
    assert "None of 1 measurements are done." in text
    assert "- Failed: it is empty." in text


def test_a_budget_is_what_it_was_when_it_was_run() -> None:
    model = {"name": "m", "fingerprint": "0123", "layers": 2, "width": 8, "tokens_seen": None}
    results = {"version": 1, "model": model, "budget": "cpu", "static": "x", "parts": {}}
    assert f"Budget cpu: {CPU.about}." in to_markdown(report(results))
    assert "Budget cpu: two nights." in to_markdown(report({**results, "budget_about": "two nights"}))


def test_the_page_in_docs_is_written_from_the_committed_figures() -> None:
    results = read_results(ROOT / "benchmarks" / "report" / "reproduction.json")
    assert (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8") == to_markdown(report(results))


@pytest.mark.parametrize("content", ["", "[]", "{}", json.dumps({"version": 2})])
def test_other_files_are_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"results\.json (holds no results|was written by another version)"):
        read_results(path)


def test_table_1_says_how_both_arms_were_tuned_and_gives_p() -> None:
    tuned = row(split="dev", trials=8, p=0.0004998, baseline=runs(80.0), elmo=runs(85.0))
    text = text_of(table_1.section({"ner": tuned, "sst": {**tuned, "p": 0.03}}))
    assert "| +5.00 | 25.0 % | 0.0005 | 1 |" in text
    assert "| +5.00 | 25.0 % | 0.0300 | 1 |" in text
    assert "Both arms were tuned alike: for each, the best of 8 trials on dev was trained until" in text
