"""Short tokens without their padding: the same vectors for a fraction of the convolutions.

The maximum over a token's windows sees the padding after it, but all windows that hold nothing but padding are
equal: one of them is enough. So a group of tokens of at most n characters needs n + w columns, w the widest filter.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor

from polyseme.bilm_config import BiLMConfig

#: Where the sorted tokens are cut into groups: most tokens are short, a few are very long.
CUTS = (0.35, 0.65, 0.90)


def trimmed_groups(rows: Tensor, config: BiLMConfig, padding: int) -> list[tuple[Tensor, Tensor]]:
    """[R, K] id rows → groups of (which rows, these rows trimmed), short tokens first; together they are all rows.

    ``padding`` is the id that fills a row after its token.
    """
    if config.characters is None:
        return [(torch.arange(len(rows), device=rows.device), rows)]
    first = config.row_size - config.characters.max_characters  # the word id, if any, comes before the characters
    lengths = (rows[:, first:] != padding).sum(dim=1)  # [R]
    order = lengths.argsort(stable=True)
    bounds = [0, *(int(cut * len(rows)) for cut in CUTS), len(rows)]
    widest = max(width for width, _ in config.characters.filters)
    groups = []
    for start, stop in pairwise(bounds):
        if start < stop:
            which = order[start:stop]
            columns = int(lengths[which[-1]]) + widest
            groups.append((which, rows[which, : first + columns]))
    return groups
