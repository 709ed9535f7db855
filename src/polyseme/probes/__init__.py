"""What a frozen model's vectors know: linear probes, word senses, and the baselines to compare with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyseme.extras import need_torch
from polyseme.lazy import lazy_names

need_torch("a linear probe", "tasks")

if TYPE_CHECKING:
    from polyseme.probes.cove import CoVeVectors as CoVeVectors
    from polyseme.probes.frozen import BiLMVectors as BiLMVectors
    from polyseme.probes.frozen import TableVectors as TableVectors
    from polyseme.probes.linear_probe import ProbeChoices as ProbeChoices
    from polyseme.probes.linear_probe import probe_tags as probe_tags
    from polyseme.probes.wsd import evaluate_senses as evaluate_senses

_HOME = {
    "polyseme.probes.cove": ("CoVeVectors",),
    "polyseme.probes.frozen": ("BiLMVectors", "TableVectors"),
    "polyseme.probes.linear_probe": ("ProbeChoices", "probe_tags"),
    "polyseme.probes.wsd": ("evaluate_senses",),
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _HOME)
