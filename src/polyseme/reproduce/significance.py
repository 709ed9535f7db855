"""Whether one model is better than another: the paired bootstrap over the items of a test set (Efron; Koehn, 2004).

The items are drawn anew two thousand times, with replacement, the same for both models; p is how often the second one
is not better then, counting one draw more, so that it is never 0. With several seeds a model's score is their mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

DRAWS = 2000
_AT_ONCE = 100


def paired_bootstrap(
    baseline: Sequence[Floats], other: Sequence[Floats], metric: Callable[[Floats], Floats], *, seed: int = 0
) -> float:
    """Tallies of each seed [items, K] of both models, and what makes a metric of their sums → p."""
    items = len(baseline[0])
    if any(len(tallies) != items for tallies in (*baseline, *other)):
        raise ValueError("both models must have answered the same items")
    dice, worse = np.random.default_rng(seed), 0
    for start in range(0, DRAWS, _AT_ONCE):
        draws = min(_AT_ONCE, DRAWS - start)
        weights = dice.multinomial(items, np.full(items, 1 / items), size=draws).astype(np.float64)  # [draws, items]
        base, better = (np.mean([metric(weights @ one) for one in side], axis=0) for side in (baseline, other))
        worse += int((better <= base).sum())
    return (1 + worse) / (1 + DRAWS)
