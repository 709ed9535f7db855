"""The training of a biLM on a prepared corpus: batches, objective, optimiser, the loop, its journal and checkpoints."""

from polyseme.extras import need_torch

need_torch("training a biLM")
