"""Budgets of a reproduction: minutes, a night on two cores, or as much as the paper."""

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
    preset: str  #: preset of the tasks: "cpu" or "paper"
    seeds: Mapping[str, int]  #: number of runs per task; 1 by default
    seconds: Mapping[str, float]  #: rough time of one run of a task on two cores
    shares: tuple[float, ...]  #: shares of the training data, for Figure 1
    small_share_seeds: int = 1  #: fewest runs on a tenth of the data or less, where luck matters most
    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  #: changes to a task's preset
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
    about="all data (for SQuAD, 0.32 of the paragraphs of up to 150 tokens), small networks, few epochs, three seeds "
    "where a run takes about five minutes (NER, SNLI, and up to a tenth of the data): a night on two cores",
    preset="cpu",
    seeds={"ner": 3, "snli": 3},
    seconds={"ner": 280, "sst": 700, "snli": 550, "srl": 800, "squad": 1_050, "coref": 700},
    shares=(0.001, 0.01, 0.1, 1.0),
    small_share_seeds=3,
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
