"""What a reproduction may cost: minutes, ten hours on two cores, or what the paper took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

BudgetName = Literal["quick", "cpu", "full"]
SMALL_SHARE = 0.1
FIVE_SETS = ("senseval2", "senseval3", "semeval2007", "semeval2013", "semeval2015")


@dataclass(frozen=True, slots=True)
class ReportBudget:
    """How much is trained and read; None and 0 mean everything."""

    name: BudgetName
    about: str
    preset: str  #: of the tasks: "cpu" or "paper"
    seeds: Mapping[str, int]  #: runs of a task; one unless given
    seconds: Mapping[str, float]  #: of one run of a task on two cores, roughly
    shares: tuple[float, ...]  #: of the training data, in Figure 1
    small_share_seeds: int = 1  #: runs at least on a tenth of the data and less: there luck is large, and time small
    tuned: bool = False  #: whether task models are trained by the protocol (protocol.py), which has its own seeds
    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  #: of a task's preset
    dev_examples: int = 0
    test: bool = True  #: whether test sets are read
    treebank_sentences: int | None = None
    probe_steps: int = 2000
    semcor_sentences: int | None = None
    sense_sets: tuple[str, ...] = FIVE_SETS
    held_out_tokens: int | None = None
    indexed_words: int = 1_000_000  #: words of text to search for neighbours

    def seeds_of(self, task: str, share: float = 1.0) -> range:
        count = self.seeds.get(task, 1)
        return range(max(count, self.small_share_seeds) if share <= SMALL_SHARE else count)


QUICK = ReportBudget(
    name="quick",
    about="small samples, one seed, dev instead of test: to see that everything runs, not to compare figures",
    preset="cpu",
    seeds={},
    seconds={"ner": 20, "sst": 10, "snli": 20, "srl": 20, "squad": 90, "coref": 30},
    shares=(0.1, 1.0),
    changes={
        "ner": {"share": 0.1, "epochs": 3},
        "sst": {"share": 0.1, "epochs": 2, "subtrees": False},
        "snli": {"share": 0.1, "epochs": 2},
        "srl": {"share": 0.03, "epochs": 2},
        "squad": {"paragraphs": 0.005, "epochs": 2},
        "coref": {"share": 0.1, "epochs": 2},
    },
    dev_examples=300,
    test=False,
    treebank_sentences=1500,
    probe_steps=400,
    semcor_sentences=4000,
    sense_sets=("semeval2007",),
    held_out_tokens=1 << 16,  # text is read in windows of this many
    indexed_words=100_000,
)
CPU = ReportBudget(
    name="cpu",
    about="small networks, trained until dev stops improving, both arms tuned on dev alike (the protocol in "
    "docs/tasks.md); all data, except half of the sentences for semantic roles and a tenth of SQuAD's paragraphs of up "
    "to 150 tokens: about ten hours on two cores",
    preset="cpu",
    seeds={},
    seconds={"ner": 170, "sst": 700, "snli": 370, "srl": 550, "squad": 800, "coref": 650},
    shares=(0.001, 0.01, 0.1, 1.0),
    small_share_seeds=3,
    tuned=True,
)
FULL = ReportBudget(
    name="full",
    about="all data, the networks of the paper and several seeds: for a GPU, because it would take weeks on a CPU",
    preset="paper",
    seeds={"ner": 5, "sst": 5, "snli": 5},
    seconds={"ner": 9_000, "sst": 15_000, "snli": 20_000, "srl": 150_000, "squad": 150_000, "coref": 60_000},
    shares=(0.001, 0.01, 0.1, 0.2, 0.5, 1.0),
    small_share_seeds=5,
    indexed_words=1_500_000,
)
BUDGETS: dict[BudgetName, ReportBudget] = {budget.name: budget for budget in (QUICK, CPU, FULL)}
