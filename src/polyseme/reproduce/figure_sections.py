"""Figures 1 and 2, from the figures of their task models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from polyseme.reproduce.comparison import (
    NONE,
    Verdict,
    absent,
    compare,
    done,
    is_better,
    means_of,
    row_of,
    scores,
    shown,
    tally,
)
from polyseme.reproduce.document import Block, Section, Table, section_of
from polyseme.reproduce.paper import EXAMPLES, TITLES, TRAINED_ON, layer_title
from polyseme.reproduce.plots import draw_samples, draw_weights

Figures = Mapping[str, Any]
#: Place → the shares of the layers in each run.
Weights = Mapping[str, Sequence[Sequence[float]]]

#: Smaller differences between weights are ignored: the weights of NER differ as much between seeds.
MARGIN = 0.02


def figure_1(figures: Figures) -> Section:
    """Dev score against the share of the training data."""
    curves = {task: row for task in figures if (row := row_of(figures, task))}
    rows, notes = [], list[str | None]()
    for task, row in curves.items():
        pairs = list(zip(row["baseline"], row["elmo"], strict=True))
        for baseline, elmo in pairs:
            without, with_elmo = scores(baseline["runs"]), scores(elmo["runs"])
            examples = next((f"{run['examples']['train']:,}" for run in done(baseline["runs"])), NONE)
            rows.append([TITLES[task], f"{100 * baseline['share']:g} %", examples, shown(without), shown(with_elmo)])
        by_share = {f"{100 * a['share']:g} %": (scores(b["runs"]), scores(a["runs"])) for a, b in pairs}
        notes.append(compare(f"{TITLES[task]} is better with ELMo, by share of the data", by_share))
        notes += [_all_data(task, row), _enough_data(TITLES[task], row), _enough_epochs(TITLES[task], row)]
    notes += absent(figures, TITLES)
    lead = (
        "Dev score against the share of the training data, with ELMo and without. The paper's claim: ELMo "
        "reaches the same score with fewer examples and fewer updates."
    )
    blocks: list[Block] = []
    if any(row[3] != NONE or row[4] != NONE for row in rows):
        blocks = [draw_samples(curves), Table(["task", "share", "examples", "baseline", "+ ELMo"], rows)]
    return section_of("Figure 1: how much data is needed", lead, blocks, notes)


def figure_2(figures: Figures) -> Section:
    """The weights that the mixes have learned."""
    learned = {task: found for task in figures if (found := learned_weights(row_of(figures, task)))}
    rows = [
        [TITLES[task], place, *(shown(layer) for layer in zip(*shares, strict=True))]
        for task, places in learned.items()
        for place, shares in places.items()
    ]
    blocks: list[Block] = []
    if rows:
        layers = [layer_title(number) for number in range(len(rows[0]) - 2)]
        blocks = [draw_weights(learned), Table(["task", "place", *layers], rows)]
    first = {TITLES[task]: _favours_the_first(places) for task, places in learned.items()}
    even = {TITLES[task]: _is_more_even_at_the_output(places) for task, places in learned.items()}
    within = f"within {MARGIN:g}"
    notes = [
        tally(f"Layer 1 has the largest weight at the input, by at least {MARGIN:g}", first, even=within),
        tally("The weights are more even at the output than at the input", even, even=within),
        *absent(figures, TITLES),
    ]
    lead = (
        "The softmax-normalised weights that tasks learn for the layers, with ELMo at input and output. In the paper, "
        "the input favours the first LSTM layer; the output is more even, with lower layers slightly ahead."
    )
    return section_of("Figure 2: the weights of the layers", lead, blocks, notes)


def learned_weights(row: Figures) -> dict[str, list[list[float]]]:
    """Place (input, output) → the shares of the layers in each run."""
    runs = done(row.get("runs"))
    places = [place for place in ("input", "output") if runs and place in runs[0]["mixes"]]
    return {place: [run["mixes"][place]["shares"] for run in runs] for place in places}


def _favours_the_first(places: Weights) -> Verdict | None:
    """Whether the first LSTM layer is ahead of all others at the input."""
    if "input" not in places:
        return None
    means = means_of(places["input"])
    return _is_ahead(means[1] - max(means[:1] + means[2:]))


def _is_more_even_at_the_output(places: Weights) -> Verdict | None:
    """Whether the largest and the smallest weight are closer at the output."""
    if not {"input", "output"} <= places.keys():
        return None
    at_input, at_output = (max(means) - min(means) for means in map(means_of, (places["input"], places["output"])))
    return _is_ahead(at_input - at_output)


def _is_ahead(difference: float) -> Verdict:
    if abs(difference) < MARGIN:
        return "even"
    return "yes" if difference > 0 else "no"


def _all_data(task: str, row: Figures) -> str | None:
    """How many examples 100 % are, with those of the paper's data set if known."""
    runs = done(row["baseline"][-1]["runs"]) + done(row["elmo"][-1]["runs"])
    if not runs or row["baseline"][-1]["share"] < 1:
        return None
    theirs = f" (in the paper {TRAINED_ON[task]:,})" if task in TRAINED_ON else ""
    return f"{TITLES[task]}: the full data set has {runs[0]['examples']['train']:,} {EXAMPLES[task]}{theirs}."


def _enough_data(title: str, row: Figures) -> str | None:
    """The smallest share with which ELMo reaches the baseline on all data; None until every share has been run."""
    whole = scores(row["baseline"][-1]["runs"])
    reached_by = [(one["share"], scores(one["runs"])) for one in row["elmo"]]
    if not whole or not all(found for _, found in reached_by):
        return None
    reached = next(((share, found) for share, found in reached_by if fmean(found) >= fmean(whole)), None)
    if reached is None:
        return f"{title} with ELMo does not reach the baseline trained on all the data, with any share."
    share, found = reached
    needed = f"with {100 * share:g} % of it" if share < 1 else "only with all of it"
    doubts: dict[Verdict | None, str] = {"even": "within the spread of the seeds", "close": "within a point, one seed"}
    doubt = doubts.get(is_better(found, whole))
    return f"{title} with ELMo reaches the baseline trained on all the data {needed}{f' ({doubt})' if doubt else ''}."


def _enough_epochs(title: str, row: Figures) -> str | None:
    """The epoch after which ELMo matches the baseline's best score, both on all data."""
    baseline, elmo = (done(row[name][-1]["runs"]) for name in ("baseline", "elmo"))
    if not baseline or not elmo:
        return None
    best = fmean(max(run["history"]) for run in baseline)
    epochs = fmean(1 + run["history"].index(max(run["history"])) for run in baseline)
    ran = fmean(len(run["history"]) for run in baseline)
    reached = [next((n for n, dev in enumerate(run["history"], start=1) if dev >= best), None) for run in elmo]
    if missed := sum(one is None for one in reached):
        return f"{title} with ELMo does not reach the baseline's best dev score in {missed} of {len(reached)} runs."
    took = fmean(one for one in reached if one is not None)
    return (
        f"{title}: the baseline is best on dev after {epochs:.3g} of {ran:.3g} epochs; ELMo reaches that score after "
        f"{took:.3g}."
    )
