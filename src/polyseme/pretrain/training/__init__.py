"""Training a biLM on a prepared corpus: batches, objective, optimiser, training loop, journal and checkpoints."""

from polyseme.extras import need_torch

need_torch("training a biLM")
