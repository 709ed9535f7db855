"""A toy model: a page of text, learnt by heart in half a minute. It shows how everything works, and knows nothing else.

toy.txt was written for this: "bank" and "present", each in two senses, 25 sentences a sense.
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

#: Not in the text. What is learnt by heart gets worse at them, so training looks only once, at the end.
UNSEEN = ("They fished from the bank.", "The bank gave her a loan.", "Here is your present.", "Live in the present.")


def train_toy(folder: Path, *, tokens: int = TOKENS, watch: Watch | None = None) -> Path:
    """Prepare the text and train on it, all in ``folder``; the folder of the model."""
    unseen = folder / "unseen.txt"
    unseen.write_text("\n".join(UNSEEN) + "\n", encoding="utf-8")
    prepare([TOY_TEXT], folder / "corpus", workers=1)
    budget = (f"budget.tokens={tokens}", f"budget.validate_every={tokens}")
    recipe = load_recipe("tiny", [*CHANGES, *budget])
    plan = RunPlan(folder / "corpus", folder / "run", recipe, valid=unseen)
    return pretrain(plan, watch=watch)
