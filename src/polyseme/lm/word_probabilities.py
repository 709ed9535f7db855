"""The outputs of the two directions at each position of a sentence, and the log-probabilities of words from them.

position          0     1    …   N    N + 1
token            <S>   w1    …   wN   </S>
forward[t]       predicts the token at t + 1        t = 0 … N
backward[t]      predicts the token at t − 1        t = 1 … N + 1

Rows are processed in blocks, so that the logits of many rows are never in memory at once; threads share the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from polyseme.elmo import Elmo
from polyseme.engine.pool import Job, Pool, one_blas_thread
from polyseme.errors import ConfigError
from polyseme.formats.model import SoftmaxWeights

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]

#: Rows whose logits are in memory at once in each thread: 20 MB for 80,000 words.
BLOCK = 64


@dataclass(frozen=True, slots=True)
class Outputs:
    """The top layer of one sentence, boundaries included."""

    forward: Floats  # [N+2, D]
    backward: Floats | None  # [N+2, D]; None for a model that reads forward only


def read_outputs(elmo: Elmo, sentences: Sequence[Sequence[str]]) -> list[Outputs]:
    """Sentences of tokens → the outputs of each, which depend only on the sentence."""
    if elmo.state == "carry":
        raise ConfigError(
            'probabilities should not depend on earlier calls, but state is "carry"; load the model with state "reset" '
            'or "warm"'
        )
    size = elmo.config.projection
    encoded = elmo.engine.encode(sentences, elmo.start(len(sentences)), keep_boundaries=True)  # [L+1, N+2, W] each
    top = [layers[-1] for layers in encoded]
    return [Outputs(h[:, :size], h[:, size:] if elmo.config.bidirectional else None) for h in top]


def log_probabilities(softmax: SoftmaxWeights, h: Floats, pool: Pool) -> Floats:
    """[R, D] outputs → [R, V] ln p of every word."""
    found = np.empty((len(h), len(softmax.bias)), np.float32)

    def compute(rows: slice) -> None:
        found[rows] = _log_softmax(softmax, h[rows])

    in_blocks(compute, len(h), pool)
    return found


@dataclass(frozen=True, slots=True)
class Predictions:
    """The predictions of one direction at R positions, in nats."""

    targets: Floats  # [R] ln p of the actual word
    entropies: Floats  # [R] entropy of the distribution over all words


def predict(softmax: SoftmaxWeights, h: Floats, targets: Ids, pool: Pool) -> Predictions:
    """[R, D] outputs, [R] ids of the actual words → ln p of each, and the entropy of each prediction."""
    found = Predictions(np.empty(len(h), np.float32), np.empty(len(h), np.float32))

    def compute(rows: slice) -> None:
        if softmax.clusters is not None:
            logits = _log_softmax(softmax, h[rows])
        else:
            logits = _logits(h[rows], softmax.weight, softmax.bias)
            logits -= logits.max(axis=1, keepdims=True)
        shares = np.empty(logits.shape[1], np.float32)  # row by row, so that it stays in the cache
        for row, z, target in zip(range(rows.start, rows.stop), logits, targets[rows], strict=False):
            total = np.exp(z, out=shares).sum()
            found.targets[row] = z[target] - np.log(total)
            found.entropies[row] = np.log(total) - shares @ z / total  # ln Z − Σ p·z

    in_blocks(compute, len(h), pool)
    return found


def in_blocks(compute: Callable[[slice], None], rows: int, pool: Pool) -> None:
    """Compute every block of rows on the threads of the pool; each product uses one thread."""

    def job(start: int) -> Job:
        compute(slice(start, start + BLOCK))
        yield

    with one_blas_thread():
        pool.run([job(start) for start in range(0, rows, BLOCK)])


def _log_softmax(softmax: SoftmaxWeights, h: Floats) -> Floats:
    """[r, D] → [r, V]"""
    weight, bias, clusters = softmax.weight, softmax.bias, softmax.clusters
    if clusters is None:
        return _normalised(_logits(h, weight, bias))
    first, bounds = clusters.cutoffs[0], (*clusters.cutoffs, len(weight))
    head_weight = np.concatenate([weight[:first], clusters.weight])
    head = _normalised(_logits(h, head_weight, np.concatenate([bias[:first], clusters.bias])))
    found = np.empty((len(h), len(weight)), np.float32)
    found[:, :first] = head[:, :first]
    for number, (start, stop) in enumerate(pairwise(bounds)):
        within = _normalised(_logits(h, weight[start:stop], bias[start:stop]))
        found[:, start:stop] = head[:, first + number, None] + within
    return found


def _logits(h: Floats, weight: Floats, bias: Floats) -> Floats:
    """[r, D], [V, D], [V] → [r, V]"""
    logits: Floats = h @ weight.T
    logits += bias
    return logits


def _normalised(logits: Floats) -> Floats:
    """ln softmax of each row, in place."""
    logits -= logits.max(axis=1, keepdims=True)
    logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return logits
