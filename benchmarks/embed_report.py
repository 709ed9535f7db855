"""Tables and a chart from results/embed.json, for docs/benchmarks.md.

    python benchmarks/embed_report.py

Ratios are taken within each repeat, between adjacent turns; the tables give the median over the repeats.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from pages import DOCS, fill_in

TITLES = {"polyseme": "polyseme", "simple_elmo": "simple_elmo", "allennlp": "AllenNLP"}
Part = dict[str, Any]


@dataclass(frozen=True)
class Target:
    """One promise: what is measured, its target, and its value in each repeat."""

    title: str
    wanted: float
    unit: str  #: "×", "%", "MB" or "" for a difference
    values: list[float]
    at_most: bool = False

    @property
    def value(self) -> float:
        return median(self.values)

    @property
    def met(self) -> bool:
        return self.value <= self.wanted if self.at_most else self.value >= self.wanted


def find_rates(
    part: Part, contestant: str, batches: Iterable[int], *, busy: bool = False, **setting: Any
) -> list[float]:
    """Tokens per second in each repeat, at the best batch size; CPU time on one core, wall time on two."""
    clock = "cpu_seconds" if part["cores"] == 1 else "seconds"
    wanted = {"contestant": contestant, **setting}
    by_repeat: dict[int, list[float]] = {}
    for turn in part["turns"]:
        here = turn["setting"]
        if here["batch"] in batches and turn["busy"] == busy and all(here[k] == v for k, v in wanted.items()):
            by_repeat.setdefault(turn["repeat"], []).append(turn["tokens"] / turn[clock])
    return [max(by_repeat[repeat]) for repeat in sorted(by_repeat)]


def ratios(ours: list[float], theirs: list[float]) -> list[float]:
    return [a / b for a, b in zip(ours, theirs, strict=True)]


def best(*contestants: list[float]) -> list[float]:
    return [max(repeat) for repeat in zip(*contestants, strict=True)]


def of_gemm(part: Part, most: int) -> list[float]:
    """Warm, in one call: operations of the LSTM layers over those of a plain matrix product in the same minutes. %"""
    clock = "cpu_seconds" if part["cores"] == 1 else "seconds"
    found = []
    for turn in part["turns"]:
        here = turn["setting"]
        if (here["contestant"], here["batch"], here["cache"], here["sentences"], turn["busy"]) == (
            "polyseme", 0, "warm", most, False,
        ):  # fmt: skip
            around = part["gemm"][2 * turn["repeat"] : 2 * turn["repeat"] + 2]
            found.append(100 * turn["positions"] * part["lstm_flops"] / turn[clock] / 1e9 / (sum(around) / 2))
    return found


def targets(result: dict[str, Any]) -> list[Target]:
    """All targets whose parts were measured."""
    parts = {(part["size"], part["cores"]): part for part in result["parts"]}
    rows: list[Callable[[], Target]] = [
        lambda: _against(parts["small", 1], "simple_elmo", "natural", 8),
        lambda: _against(parts["small", 1], "simple_elmo", "sorted", 4),
        lambda: _against(parts["small", 1], "allennlp", "natural", 16, (32,)),
        lambda: _against_best(parts["compact", 1], "sorted", 2.3),
        lambda: _against_best(parts["original", 1], "sorted", 2.6),
        lambda: _single(parts["small", 1], 4),
        lambda: _single(parts["compact", 1], 3),
        lambda: _single(parts["original", 1], 3),
        lambda: _fraction(parts["small", 1], result, 55),
        lambda: _fraction(parts["small", 2], result, 45),
        lambda: _against_best(parts["small", 2], "natural", 4.5),
        lambda: _against_best(parts["small", 2], "sorted", 3),
        lambda: _two_over_one(parts["small", 1], parts["small", 2]),
        lambda: _busy(parts["small", 2]),
        lambda: Target("small: peak memory, all sentences in one call", 600, "MB", [result["peak_mb"]["small"]], True),
        lambda: Target("largest difference to the peers' vectors", 1e-5, "", [_difference(result)], True),
    ]
    found = []
    for row in rows:
        try:
            found.append(row())
        except KeyError:  # a part that was not run
            continue
    return found


def _cores(part: Part) -> str:
    return "one core" if part["cores"] == 1 else "two cores"


def _largest(part: Part) -> int:
    return int(
        max(turn["setting"]["sentences"] for turn in part["turns"] if turn["setting"]["contestant"] != "polyseme")
    )


def _against(part: Part, peer: str, order: str, wanted: float, batches: tuple[int, ...] = (32, 64)) -> Target:
    ours = find_rates(part, "polyseme", (0,), cache="cold")
    theirs = find_rates(part, peer, batches, order=order)
    batch = "its best batch" if len(batches) > 1 else f"batch {batches[0]}"
    title = f"{part['size']}, cold, {_cores(part)}: over {TITLES[peer]}, {order} order, {batch}"
    return Target(title, wanted, "×", ratios(ours, theirs))


def _against_best(part: Part, order: str, wanted: float) -> Target:
    ours = find_rates(part, "polyseme", (0,), cache="cold", sentences=_largest(part))
    theirs = best(*(find_rates(part, peer, (32, 64), order=order) for peer in ("simple_elmo", "allennlp")))
    title = f"{part['size']}, cold, {_cores(part)}: over the best peer, {order} order"
    return Target(title, wanted, "×", ratios(ours, theirs))


def _single(part: Part, wanted: float) -> Target:
    ours = find_rates(part, "polyseme", (1,), cache="warm")
    theirs = best(*(find_rates(part, peer, (1,)) for peer in ("simple_elmo", "allennlp")))
    return Target(f"{part['size']}, one sentence a call, warm: over the best peer", wanted, "×", ratios(ours, theirs))


def _fraction(part: Part, result: dict[str, Any], wanted: float) -> Target:
    most = max(turn["setting"]["sentences"] for turn in part["turns"])
    title = f"{part['size']}, warm, {_cores(part)}: LSTM operations over those of a matrix product"
    return Target(title, wanted, "%", of_gemm(part, most))


def _two_over_one(one: Part, two: Part) -> Target:
    """Wall time for both; the runs on one and on two cores follow each other."""
    most = max(turn["setting"]["sentences"] for turn in two["turns"])
    walls = [
        [t["tokens"] / t["seconds"] for t in part["turns"] if (t["setting"]["contestant"], t["setting"]["batch"]) == (
            "polyseme", 0) and t["setting"]["cache"] == "warm" and t["setting"]["sentences"] == most and not t["busy"]]
        for part in (two, one)
    ]  # fmt: skip
    return Target("small, warm, 1,000 sentences: two cores over one", 1.5, "×", ratios(*walls))


def _busy(part: Part) -> Target:
    most = max(turn["setting"]["sentences"] for turn in part["turns"])
    quiet = find_rates(part, "polyseme", (0,), cache="warm", sentences=most)
    busy = find_rates(part, "polyseme", (0,), cache="warm", sentences=most, busy=True)
    title = "small, two cores: with a busy process on the machine, over without"
    return Target(title, 50, "%", [100 * ratio for ratio in ratios(busy, quiet)])


def _difference(result: dict[str, Any]) -> float:
    return float(max(value for part in result["parts"] for value in part["agreement"].values()))


def write_report(result: dict[str, Any]) -> None:
    """The tables of docs/benchmarks.md, and the chart beside it."""
    fill_in("benchmarks.md", "embed", report(result))
    draw(result, DOCS / "embed.png")


def report(result: dict[str, Any]) -> str:
    parts = [introduction(result), target_table(result)]
    parts.append("![Tokens per second on one core for the three sizes, the peers at their best batch](embed.png)")
    parts.append(resource_table(result))
    parts.append("<details>\n<summary>Tokens per second of all programs, by batch and order</summary>")
    parts += [rate_table(part) for part in result["parts"]]
    parts.append("</details>")
    return "\n\n".join(parts)


def introduction(result: dict[str, Any]) -> str:
    text, machine = result["text"], result["machine"]
    others = ", ".join(f"{part['size']} on {part['cores']} {others_had(part):.0%}" for part in result["parts"])
    gemm = {part["cores"]: [] for part in result["parts"]}
    for part in result["parts"]:
        gemm[part["cores"]] += part["gemm"]
    rates = ", ".join(f"{median(values):.0f} GFLOP/s on {cores}" for cores, values in sorted(gemm.items()))
    quick = "**A quick run, to see that it works; these figures say little.** " if result["quick"] else ""
    return (
        f"{quick}{text['sentences']:,} sentences of {text['file']}, {text['tokens']:,} tokens, "
        f"{result['distinct_tokens']:,} of them distinct; random weights, the same for all. {machine['processor']}, "
        f"{machine['cores']} cores; a plain matrix product (numpy) ran at {rates} of them. Other programs used part "
        f"of the machine meanwhile (medians, by cores: {others}), so on one core the clock is CPU time, on two wall "
        "time. Cold: no token has been seen before. The best batch of simple_elmo is the better of 32 and 64, that of "
        "AllenNLP 32. Sorted means that the user sorted the sentences by length for them. In natural order the peers "
        "read at most 256 sentences: their rate does not depend on it."
    )


def others_had(part: dict[str, Any]) -> float:
    """The share of the machine that other programs used, apart from the busy process that we started."""
    return median(turn["others"] for turn in part["turns"] if not turn["busy"])


def target_table(result: dict[str, Any]) -> str:
    lines = ["| | target | measured | smallest to largest | |", "|---|---|---|---|---|"]
    for target in targets(result):
        sign = "≤" if target.at_most else "≥"
        low, high = (shown(value, target.unit) for value in (min(target.values), max(target.values)))
        spread = f"{low} to {high}" if len(target.values) > 1 else ""
        lines.append(
            f"| {target.title} | {sign} {shown(target.wanted, target.unit)} | **{shown(target.value, target.unit)}** "
            f"| {spread} | {'met' if target.met else 'missed'} |"
        )
    return "\n".join(lines)


def shown(value: float, unit: str) -> str:
    if not unit:
        return f"{value:.1e}"
    digits = 1 if unit == "×" else 0
    return f"{value:,.{digits}f}{'' if unit == '×' else ' '}{unit}"


def rate_table(part: Part) -> str:
    """Tokens per second of all contestants in one part."""
    size, most = part["size"], _largest(part)
    rows = [
        ("polyseme, one call, cold", "polyseme", 0, "cold", "natural"),
        ("polyseme, one call, warm", "polyseme", 0, "warm", "natural"),
    ]
    for batch in (64, 32, 1):
        if batch != 64:
            rows += [(f"polyseme, {batch} a call, {c}", "polyseme", batch, c, "natural") for c in ("cold", "warm")]
        for peer in ("simple_elmo", "allennlp"):
            orders = ("natural", "sorted") if batch > 1 else ("natural",)
            rows += [(f"{TITLES[peer]}, batch {batch}, {order}", peer, batch, "warm", order) for order in orders]
    lines = [f"**{size}, {_cores(part)}**, {most:,} sentences", "", "| | tokens/s |", "|---|---|"]
    for title, contestant, batch, cache, order in rows:
        count = {"sentences": most} if contestant == "polyseme" and batch != 1 else {}
        found = find_rates(part, contestant, (batch,), cache=cache, order=order, **count)
        if found:
            lines.append(f"| {title} | {median(found):,.0f} |")
    return "\n".join(lines)


def resource_table(result: dict[str, Any]) -> str:
    lines = ["| | " + " | ".join(TITLES.values()) + " |", "|---|---|---|---|"]
    for part in result["parts"]:
        if part["cores"] == 1:
            peaks = " | ".join(f"{part['peak_mb'][name]:,.0f} MB" for name in TITLES)
            lines.append(f"| {part['size']}: peak memory over all turns | {peaks} |")
            first = " | ".join(f"{1000 * part['start'][name]['first_call_seconds']:,.0f} ms" for name in TITLES)
            lines.append(f"| {part['size']}: first call after loading | {first} |")
    return "\n".join(lines)


def draw(result: dict[str, Any], path: Path) -> None:
    """Bars of tokens per second on one core, one panel for each size."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    parts = [part for part in result["parts"] if part["cores"] == 1]
    if not parts:
        return
    bars = [
        ("AllenNLP, natural order", "allennlp", (32, 64), {"order": "natural"}, "#c9c9c9"),
        ("AllenNLP, sorted", "allennlp", (32, 64), {"order": "sorted"}, "#a5a5a5"),
        ("simple_elmo, natural order", "simple_elmo", (32, 64), {"order": "natural"}, "#9db8d2"),
        ("simple_elmo, sorted", "simple_elmo", (32, 64), {"order": "sorted"}, "#6f94b8"),
        ("polyseme, cold", "polyseme", (0,), {"cache": "cold"}, "#e08a3c"),
        ("polyseme, warm", "polyseme", (0,), {"cache": "warm"}, "#c4501b"),
    ]
    figure, panels = pyplot.subplots(1, len(parts), figsize=(3.6 * len(parts), 3.2), squeeze=False)
    for panel, part in zip(panels[0], parts, strict=True):
        rates = [find_rates(part, name, batches, **which) for _, name, batches, which, _ in bars]
        heights = [median(found) if found else 0.0 for found in rates]  # original was not read in natural order
        drawn = panel.bar(range(len(bars)), heights, color=[color for *_, color in bars], label=[b[0] for b in bars])
        panel.bar_label(drawn, labels=[f"{height:,.0f}" if height else "" for height in heights], fontsize=7)
        panel.set_title(part["size"], fontsize=10)
        panel.set_xticks([])
        panel.spines[["top", "right"]].set_visible(False)
    panels[0][0].set_ylabel("tokens a second, one core")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=3, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0.13, 1, 1))
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


if __name__ == "__main__":
    write_report(json.loads((Path(__file__).parent / "results/embed.json").read_text()))
