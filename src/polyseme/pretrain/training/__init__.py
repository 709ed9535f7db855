"""The training of a biLM on a prepared corpus: batches, objective, optimiser, the loop, its journal and checkpoints."""
