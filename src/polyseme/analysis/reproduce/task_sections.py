"""Tables 1 to 3 and Figures 1 and 2, from the figures of their task models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from polyseme.analysis.reproduce import paper
from polyseme.analysis.reproduce.document import PAPER, Block, Notes, Section, Table
from polyseme.analysis.reproduce.paper import TITLES
from polyseme.analysis.reproduce.plots import draw_samples, draw_weights
from polyseme.analysis.reproduce.scores import NONE, absent, is_better, mean, plain, scores, shown, tally

Figures = Mapping[str, Any]


def table_1(figures: Figures) -> Section:
    """Baseline and ELMo, and how much of the baseline's error ELMo takes away."""
    rows, better = [], {}
    for task, theirs in paper.TABLE_1.items():
        row = _row(figures, task)
        split = row.get("split", "dev")
        baseline, elmo = (scores(row.get(name, {}).get(split)) for name in ("baseline", "elmo"))
        better[TITLES[task]] = is_better(elmo, baseline)
        about = f"{row['metric']}, {row['data']} ({split})" if row else NONE
        rows.append([
            TITLES[task], about, shown(baseline), shown(elmo),
            *_gain(mean(baseline), mean(elmo)), _count(baseline, elmo),
            _with_spread(theirs.previous, theirs.previous_spread), _with_spread(theirs.baseline, None),
            _with_spread(theirs.elmo, theirs.spread), f"{theirs.absolute:g} / {theirs.relative:g} %",
        ])  # fmt: skip
    head = ["task", "score, data", "baseline", "+ ELMo", "gain", "less error", "seeds"]
    head += [PAPER + name for name in ("best before", "baseline", "+ ELMo", "gain / less error")]
    lead = "Task models without ELMo and with it. Less error is the share of the baseline's error that ELMo takes away."
    notes = [
        tally("ELMo is better than the baseline (in the paper for 6 of 6)", better),
        _trained_on(figures),
        _sets(figures),
        *absent(figures, TITLES),
    ]
    return _section("Table 1: six tasks", lead, [Table(head, rows)], notes)


def table_2(figures: Figures) -> Section:
    """Which layers, and how far their weights may part."""
    columns = {"baseline": "baseline", "last": "last layer", "lambda_1": "all, λ = 1", "lambda_0.001": "all, λ = 0.001"}
    found = _found(figures, columns)
    notes = [
        tally("All layers (λ = 0.001) beat the last one (paper: 3 of 3)", _compare(found, "lambda_0.001", "last")),
        tally("Layers that may differ (λ = 0.001) beat near-even ones (λ = 1; paper: 3 of 3)",
              _compare(found, "lambda_0.001", "lambda_1")),
        tally("The last layer alone beats the baseline (paper: 3 of 3)", _compare(found, "last", "baseline")),
        *absent(figures, TITLES),
    ]  # fmt: skip
    lead = (
        "Dev scores with the last layer of the biLM, and with a learned mix of all; λ pulls the mix towards the mean."
    )
    return _section("Table 2: which layers", lead, [_side_by_side(found, columns, paper.TABLE_2)], notes)


def table_3(figures: Figures) -> Section:
    """Where ELMo enters."""
    columns = {"input": "input", "both": "input and output", "output": "output"}
    found = _found(figures, columns)
    notes = [
        tally(
            "Input and output beat the input alone (paper: SQuAD and SNLI, not SRL)", _compare(found, "both", "input")
        ),
        tally("The input alone beats the output alone (paper: 3 of 3)", _compare(found, "input", "output")),
        *absent(figures, TITLES),
    ]
    lead = "Dev scores with ELMo joined to the task's input, to the output of its encoder, or to both."
    return _section("Table 3: where ELMo enters", lead, [_side_by_side(found, columns, paper.TABLE_3)], notes)


def figure_1(figures: Figures) -> Section:
    """Dev score against the share of the training data."""
    curves = {task: row for task in figures if (row := _row(figures, task))}
    rows, notes = [], list[str | None]()
    for task, row in curves.items():
        pairs = list(zip(row["baseline"], row["elmo"], strict=True))
        for baseline, elmo in pairs:
            without, with_elmo = scores(baseline["runs"]), scores(elmo["runs"])
            examples = next((f"{run['examples']['train']:,}" for run in _done(baseline["runs"])), NONE)
            rows.append([TITLES[task], f"{100 * baseline['share']:g} %", examples, shown(without), shown(with_elmo)])
        better = {f"{100 * a['share']:g} %": is_better(scores(b["runs"]), scores(a["runs"])) for a, b in pairs}
        notes.append(tally(f"{TITLES[task]} is better with ELMo at every share of the data", better))
        notes += [_enough_data(TITLES[task], row), _enough_epochs(TITLES[task], row)]
    notes += absent(figures, TITLES)
    lead = (
        "Dev score against the share of the training data, with ELMo and without. The paper's claim: with ELMo fewer "
        "examples and fewer updates reach the same score."
    )
    blocks: list[Block] = []
    if any(row[3] != NONE or row[4] != NONE for row in rows):
        blocks = [draw_samples(curves), Table(["task", "share", "examples", "baseline", "+ ELMo"], rows)]
    return _section("Figure 1: how much data it takes", lead, blocks, notes)


def figure_2(figures: Figures) -> Section:
    """What the mixes have learned."""
    learned = {task: found for task in figures if (found := learned_weights(_row(figures, task)))}
    rows = [
        [TITLES[task], place, *(shown(layer) for layer in zip(*shares, strict=True))]
        for task, places in learned.items()
        for place, shares in places.items()
    ]
    favoured = {
        f"{TITLES[task]} at the {place}": max(range(len(shares[0])), key=lambda layer: fmean(s[layer] for s in shares))
        for task, places in learned.items()
        for place, shares in places.items()
    }
    blocks: list[Block] = []
    notes = absent(figures, TITLES)
    if rows:
        blocks = [draw_weights(learned), Table(["task", "place", *_layer_heads(len(rows[0]) - 2)], rows)]
        largest = "; ".join(f"{name}: {layer or 'tokens'}" for name, layer in favoured.items())
        notes.insert(0, f"The layer with the largest weight: {largest}.")
    lead = (
        "The softmax-normalised weights that tasks give to the layers, with ELMo at input and output. The paper's "
        "pattern: the input favours the first LSTM layer, the output is more even, lower layers slightly ahead."
    )
    return _section("Figure 2: the weights of the layers", lead, blocks, notes)


def learned_weights(row: Figures) -> dict[str, list[list[float]]]:
    """By place (input, output) the shares of the layers in each run. A mix ends with its scale, which is left out."""
    runs = _done(row.get("runs"))
    places = [place for place in ("input", "output") if runs and place in runs[0]["mixes"]]
    return {place: [run["mixes"][place][:-1] for run in runs] for place in places}


def _section(title: str, lead: str, blocks: Sequence[Block], notes: Sequence[str | None]) -> Section:
    lines = [line for line in notes if line]
    return Section(title, [lead, *blocks, *([Notes(lines)] if lines else [])])


def _row(figures: Figures, task: str) -> Figures:
    """The figures of a task; nothing for one that was skipped or is not there."""
    row: Figures = figures.get(task) or {}
    return {} if "missing" in row else row


def _found(figures: Figures, columns: Mapping[str, str]) -> dict[str, dict[str, list[float]]]:
    """Scores by task and column, of the paper's tasks and of others that were run."""
    return {task: {name: scores(_row(figures, task).get(name)) for name in columns} for task in TITLES
            if task in figures or task in paper.TABLE_2}  # fmt: skip


def _side_by_side(
    found: Mapping[str, Mapping[str, list[float]]],
    columns: Mapping[str, str],
    theirs: Mapping[str, Sequence[float]],
) -> Table:
    rows = [
        [TITLES[task], *(shown(row[name]) for name in columns), _count(*row.values()),
         *(plain(value) for value in theirs.get(task, [None] * len(columns)))]
        for task, row in found.items()
    ]  # fmt: skip
    return Table(["task", *columns.values(), "seeds", *(PAPER + title for title in columns.values())], rows)


def _compare(found: Mapping[str, Mapping[str, list[float]]], first: str, second: str) -> dict[str, Any]:
    return {TITLES[task]: is_better(row[first], row[second]) for task, row in found.items()}


def _gain(baseline: float | None, elmo: float | None) -> tuple[str, str]:
    if baseline is None or elmo is None:
        return NONE, NONE
    return f"{elmo - baseline:+.2f}", f"{100 * (elmo - baseline) / (100 - baseline):.1f} %"


def _count(*columns: Sequence[float]) -> str:
    counts = sorted({len(column) for column in columns if column})
    return "–".join(str(count) for count in {counts[0]: 0, counts[-1]: 0}) if counts else NONE


def _with_spread(value: float, spread: float | None) -> str:
    digits = 1 if round(value, 1) == value else 2
    return f"{value:.{digits}f}" + (f" ± {spread:g}" if spread is not None else "")


def _sets(figures: Figures) -> str | None:
    """Whose data are others than the paper's."""
    if not any(_row(figures, task) for task in figures):
        return None
    named = "; ".join(f"{TITLES[task]}: {name}" for task, name in paper.SETS.items())
    return (
        f"The paper's sets: {named}. Scores on other sets, or on parts of these, cannot be compared with it; gains can."
    )


def _trained_on(figures: Figures) -> str | None:
    """How many examples each task had."""
    runs = {task: _row(figures, task).get("baseline", {}).get("dev", ()) for task in TITLES}
    found = {task: run["examples"]["train"] for task, all_of_it in runs.items() for run in _done(all_of_it)}
    return f"Trained on: {', '.join(f'{TITLES[task]} {count:,}' for task, count in found.items())}." if found else None


def _done(runs: Any) -> list[Figures]:
    """The runs that have a result."""
    return [run for run in runs or () if run and "score" in run]


def _enough_data(title: str, row: Figures) -> str | None:
    """The share with which ELMo is as good as the baseline with everything."""
    whole = mean(scores(row["baseline"][-1]["runs"]))
    if whole is None or not scores(row["elmo"][-1]["runs"]):
        return None
    enough = (
        one["share"] for one in row["elmo"] if (found := mean(scores(one["runs"]))) is not None and found >= whole
    )
    share = next(enough, None)
    reached = "no share that was tried" if share is None else f"{100 * share:g} % of the data"
    return f"{title} with ELMo is as good as the baseline on all data with {reached}."


def _enough_epochs(title: str, row: Figures) -> str | None:
    """The epoch after which ELMo is as good as the baseline at its best, both on all data."""
    baseline, elmo = (_done(row[name][-1]["runs"]) for name in ("baseline", "elmo"))
    if not baseline or not elmo:
        return None
    best = fmean(max(run["history"]) for run in baseline)
    epochs = fmean(1 + run["history"].index(max(run["history"])) for run in baseline)
    reached = [next((n for n, dev in enumerate(run["history"], start=1) if dev >= best), None) for run in elmo]
    if any(one is None for one in reached):
        return f"{title} with ELMo does not reach the baseline's best on dev in every run."
    took = fmean(one for one in reached if one is not None)
    return f"{title}: the baseline is best on dev after {epochs:.3g} epochs; ELMo is there after {took:.3g}."


def _layer_heads(count: int) -> list[str]:
    return ["tokens", *(f"layer {number}" for number in range(1, count))]
