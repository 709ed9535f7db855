"""Figure 2: the weights that tasks learn for the layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polyseme.reproduce.bench import Bench
from polyseme.reproduce.comparison import Verdict, absent, done, means_of, row_of, shown, tally
from polyseme.reproduce.document import Block, Section, Table, section_of
from polyseme.reproduce.measurement import Tree
from polyseme.reproduce.paper import TITLES, layer_title
from polyseme.reproduce.plots import draw_weights
from polyseme.reproduce.task_rows import ALL_TASKS, Figures, by_task, with_seeds
from polyseme.reproduce.task_runs import TaskRun

#: By place the shares of the layers in each run.
Weights = Mapping[str, Sequence[Sequence[float]]]
#: A weight that is ahead by less is ahead of none: the weights of NER differ as much between seeds.
MARGIN = 0.02


def plan(bench: Bench) -> Tree:
    """The weights of the layers that a task learns, with ELMo at both ends."""
    return by_task(bench, ALL_TASKS, lambda task, data: {"runs": with_seeds(bench, TaskRun(task, "both"), data)})


def section(figures: Figures) -> Section:
    """What the mixes have learned."""
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
    """By place (input, output) the shares of the layers in each run."""
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
    """Whether the largest and the smallest weight are closer there."""
    if not {"input", "output"} <= places.keys():
        return None
    at_input, at_output = (max(means) - min(means) for means in map(means_of, (places["input"], places["output"])))
    return _is_ahead(at_input - at_output)


def _is_ahead(difference: float) -> Verdict:
    if abs(difference) < MARGIN:
        return "even"
    return "yes" if difference > 0 else "no"
