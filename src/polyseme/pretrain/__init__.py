"""New models: corpus/ prepares text, training/ learns from it; a recipe holds every choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyseme.lazy import lazy_names

if TYPE_CHECKING:
    from polyseme.pretrain.corpus.corpus import open_corpus as open_corpus
    from polyseme.pretrain.corpus.preparation import prepare as prepare
    from polyseme.pretrain.recipe import Recipe as Recipe
    from polyseme.pretrain.recipe import load_recipe as load_recipe
    from polyseme.pretrain.toy import TOY_TEXT as TOY_TEXT
    from polyseme.pretrain.toy import train_toy as train_toy
    from polyseme.pretrain.training.evaluate_files import evaluate_files as evaluate_files
    from polyseme.pretrain.training.finetuning import finetune as finetune
    from polyseme.pretrain.training.open_run import Watch as Watch
    from polyseme.pretrain.training.pretraining import pretrain as pretrain
    from polyseme.pretrain.training.run_plan import RunPlan as RunPlan

_HOME = {
    "TOY_TEXT": "polyseme.pretrain.toy",
    "train_toy": "polyseme.pretrain.toy",
    "Recipe": "polyseme.pretrain.recipe",
    "RunPlan": "polyseme.pretrain.training.run_plan",
    "Watch": "polyseme.pretrain.training.open_run",
    "evaluate_files": "polyseme.pretrain.training.evaluate_files",
    "finetune": "polyseme.pretrain.training.finetuning",
    "load_recipe": "polyseme.pretrain.recipe",
    "open_corpus": "polyseme.pretrain.corpus.corpus",
    "prepare": "polyseme.pretrain.corpus.preparation",
    "pretrain": "polyseme.pretrain.training.pretraining",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _HOME)
