"""A toy model that learns a page of text by heart in half a minute. It shows how everything works, and knows no more.

toy.txt was written for this: "bank" and "present", each in two senses, with 25 sentences per sense.
"""

from __future__ import annotations

from pathlib import Path

from polyseme.pretrain.corpus.preparation import prepare
from polyseme.pretrain.recipe import load_recipe
from polyseme.pretrain.training.open_run import Watch
from polyseme.pretrain.training.pretraining import pretrain
from polyseme.pretrain.training.run_plan import RunPlan

TOY_TEXT = Path(__file__).with_name("toy.txt")
TOKENS = 100_000  # about a hundred times the text

#: How the recipe "tiny" learns so little text: small batches, many of them, and the full softmax over its few words.
CHANGES = ("dropout=0.2", "text.tokens=160", "softmax.kind=full", "optimizer.rate=0.008")

#: Held-out sentences. A model that overfits gets worse on them, so training validates only once, at the end.
UNSEEN = ("They fished from the bank.", "The bank gave her a loan.", "Here is your present.", "Live in the present.")


def train_toy(folder: Path, *, tokens: int = TOKENS, watch: Watch | None = None) -> Path:
    """Prepare the text and train on it, all in ``folder``; returns the folder of the model."""
    unseen = folder / "unseen.txt"
    unseen.write_text("\n".join(UNSEEN) + "\n", encoding="utf-8")
    prepare([TOY_TEXT], folder / "corpus", workers=1)
    budget = (f"budget.tokens={tokens}", f"budget.validate_every={tokens}")
    recipe = load_recipe("tiny", [*CHANGES, *budget])
    plan = RunPlan(folder / "corpus", folder / "run", recipe, valid=unseen)
    return pretrain(plan, watch=watch)
