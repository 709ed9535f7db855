"""What a frozen model's vectors know: linear probes, word senses, and the baselines to compare with."""

from polyseme.extras import need_torch

need_torch("a linear probe", "tasks")
