"""Make a trained model wider, with the words of a corpus, to continue training with `polyseme pretrain --init`.

    python benchmarks/widen.py MODEL CORPUS --projection 256 --out FOLDER [--seed 0]

The wide model predicts the same as the narrow one: new outputs start with random weights, like those of a new model,
and nothing reads them yet (the weights that would are zero). Training then finds a use for them. Words of the corpus
that the softmax lacks share its probability of an unknown word, as in fine-tuning.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from polyseme.errors import ConfigError
from polyseme.formats.detect import load
from polyseme.formats.model import SoftmaxWeights, StoredModel
from polyseme.formats.native import save_native
from polyseme.nn.bilm import BiLM
from polyseme.nn.numpy_weights import array_of
from polyseme.pretrain.corpus.corpus import open_corpus
from polyseme.pretrain.training.finetuning import adapted_softmax
from polyseme.text.vocabulary import Vocabulary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a name or a folder")
    parser.add_argument("corpus", type=Path, help="a folder written by polyseme prepare")
    parser.add_argument("--projection", type=int, required=True, help="half the size of a vector")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    model = with_words(load(options.model), open_corpus(options.corpus).vocabulary)
    save_native(widened(model, options.projection, options.seed), options.out)


def with_words(stored: StoredModel, vocabulary: Vocabulary) -> StoredModel:
    """The model with a softmax for these words."""
    return replace(stored, softmax=adapted_softmax(stored, vocabulary).weights(), vocabulary=vocabulary)


def widened(stored: StoredModel, projection: int, seed: int) -> StoredModel:
    """A model that computes the same function, with ``projection`` outputs per direction instead of fewer."""
    narrow = stored.config.projection
    if projection <= narrow or stored.softmax is None or not stored.config.has_projection:
        raise ConfigError(f"a model of projection {narrow} with a softmax can be widened to more, not to {projection}")
    torch.manual_seed(seed)
    wide = BiLM(replace(stored.config, projection=projection, project_tokens=True))
    tensors = {}
    for name, fresh in wide.state_dict().items():
        old = torch.from_numpy(stored.tensors[name])
        if name.endswith(("input_weight", "state_weight")):  # [D, 4H]: readers of outputs
            fresh = torch.zeros_like(fresh)
        tensors[name] = array_of(_with_corner(fresh, old))
    rows = stored.softmax.weight  # [V, D]
    weight = _with_corner(torch.zeros(len(rows), projection), torch.from_numpy(rows))
    return replace(
        stored, config=wide.config, tensors=tensors, softmax=SoftmaxWeights(array_of(weight), stored.softmax.bias)
    )


def _with_corner(fresh: Tensor, old: Tensor) -> Tensor:
    """``fresh``, with ``old`` in its first rows and columns."""
    fresh = fresh.clone()
    fresh[tuple(slice(size) for size in old.shape)] = old
    return fresh


if __name__ == "__main__":
    main()
