"""The journal of a run: a JSON line for every step and every validation, a plot of both, TensorBoard.

A resumed run first deletes the lines after its checkpoint, so that the journal reads as if it had never stopped.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from polyseme.jobs.atomic import partial_path, put_in_place, replace_when_complete
from polyseme.lm.likelihood import Likelihood
from polyseme.nn.run_file import open_tensorboard
from polyseme.pretrain.training.trainer import StepReport

#: Points of the training curve; more could not be told apart in the plot.
CURVE_POINTS = 400


class Journal:
    """The journal of one run, open for writing."""

    def __init__(self, folder: Path, *, after_step: int) -> None:
        self.path = folder / "log.jsonl"
        forget_after(self.path, after_step)
        self._file = self.path.open("a", encoding="utf-8", newline="\n")
        self._board = open_tensorboard(folder / "tensorboard", after_step)

    def step(self, report: StepReport) -> None:
        """One update."""
        self._write(
            {
                "step": report.step,
                "tokens": report.tokens,
                "forward": report.forward,
                "backward": report.backward,
                "norm": report.norm,
                "rate": report.rate,
            }
        )
        if self._board is not None:
            self._board.add_scalar("loss/train", report.loss, report.tokens)
            self._board.add_scalar("rate", report.rate, report.tokens)

    def validation(self, step: int, tokens: int, likelihood: Likelihood, seconds: float) -> None:
        """Record a validation; ``seconds`` is the time since the run began, including before resuming."""
        self._write({"step": step, "tokens": tokens, "seconds": round(seconds), "valid": likelihood.to_dict()})
        if self._board is not None:
            self._board.add_scalar("perplexity/valid", likelihood.perplexity, tokens)

    def flush(self) -> None:
        """Flush, so that a checkpoint never exists without the lines that lead up to it."""
        self._file.flush()

    def close(self) -> None:
        self._file.close()
        if self._board is not None:
            self._board.close()

    def _write(self, values: dict[str, Any]) -> None:
        self._file.write(json.dumps(values) + "\n")


def read_journal(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a journal; a last line cut off by a crash is left out."""
    if path.exists():
        with path.open(encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):
                    yield json.loads(line)


def forget_after(path: Path, step: int) -> None:
    """Remove the lines of later steps."""
    if path.exists():
        kept = [line for line in read_journal(path) if line["step"] <= step]
        with replace_when_complete(path) as file:
            file.writelines((json.dumps(line) + "\n").encode() for line in kept)


def draw_curve(journal: Path, picture: Path) -> bool:
    """Plot training and held-out perplexity over tokens as a PNG; False if matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    lines = list(read_journal(journal))
    steps = [line for line in lines if "forward" in line]
    valid = [line for line in lines if "valid" in line]
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    if steps:
        block = max(1, len(steps) // CURVE_POINTS)
        groups = [steps[i : i + block] for i in range(0, len(steps), block)]
        tokens = [group[-1]["tokens"] / 1e6 for group in groups]
        losses = [sum(line["forward"] + line["backward"] for line in group) / (2 * len(group)) for group in groups]
        axes.plot(tokens, [math.exp(loss) for loss in losses], color="#9aa5b1", linewidth=1, label="training loss, exp")
    if valid:
        tokens = [line["tokens"] / 1e6 for line in valid]
        for direction, style in (("forward", "--"), ("backward", ":"), ("average", "-")):
            values = [line["valid"][direction] for line in valid]
            axes.plot(tokens, values, style, color="#0b62a4", label=f"held-out, {direction}")
        axes.annotate(
            f"{valid[-1]['valid']['average']:.1f}",
            (tokens[-1], valid[-1]["valid"]["average"]),
            textcoords="offset points",
            xytext=(0, 6),
            ha="right",
        )
    axes.set_yscale("log")
    axes.set_xlabel("tokens seen, millions")
    axes.set_ylabel("perplexity")
    axes.grid(True, which="both", alpha=0.25)
    if steps or valid:
        axes.legend(frameon=False)
    beside = partial_path(picture)
    figure.savefig(beside, dpi=150, format="png")
    put_in_place(beside, picture)
    return True
