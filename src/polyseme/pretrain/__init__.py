"""Training new models: corpus/ prepares text, training/ trains on it; a recipe holds every choice."""

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
    "polyseme.pretrain.corpus.corpus": ("open_corpus",),
    "polyseme.pretrain.corpus.preparation": ("prepare",),
    "polyseme.pretrain.recipe": ("Recipe", "load_recipe"),
    "polyseme.pretrain.toy": ("TOY_TEXT", "train_toy"),
    "polyseme.pretrain.training.evaluate_files": ("evaluate_files",),
    "polyseme.pretrain.training.finetuning": ("finetune",),
    "polyseme.pretrain.training.open_run": ("Watch",),
    "polyseme.pretrain.training.pretraining": ("pretrain",),
    "polyseme.pretrain.training.run_plan": ("RunPlan",),
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _HOME)
