"""How a report is made, as its last section: what to type, what it costs, where data are looked for."""

from __future__ import annotations

from polyseme.reproduce.budgets import BUDGETS
from polyseme.reproduce.data_sets import HELD_OUT, SENSES, TASKS, TEXTS, TREEBANKS
from polyseme.reproduce.document import Notes, Section, Table
from polyseme.reproduce.task_runs import LONGEST_STRETCH
from polyseme.reproduce.titles import TITLES

LINES = (
    "`polyseme reproduce --data DIR --out REPORT --estimate` says for every part what is to be done and how long it "
    "takes; without `--estimate` it is done.",
    "`--only table1,figure2` chooses parts (table1 to table6, figure1, figure2, perplexity, senses, languages), "
    "`--task ner` a task in those that train any, `--model` any model that polyseme loads, `--vectors` word vectors, "
    "`--ask` sentences for Table 4, `--cove` the weights of CoVe for its rows in Tables 5 and 6.",
    "Stopped at any moment, the same command goes on. A result belongs to the model, the data, the budget and every "
    "choice that it depends on; a report of one model or budget refuses another. One that is made in parts keeps its "
    "sentences and its CoVe until others are given.",
    "`polyseme reproduce --render REPORT/reproduction.json --out PAGE.md` (or `PAGE.html`, or a folder) writes the "
    "report again from its figures.",
    "Tables 1 to 3 and both figures share their task models. A run ends at its limit of epochs, or before it where dev "
    "has not got better for some of them; the network that was best on dev counts. On a share of the data it may have "
    f"more epochs, up to {LONGEST_STRETCH} times as many, because they are shorter.",
)


def guide() -> Section:
    budgets = Table(["budget", "what it is"], [[name, budget.about] for name, budget in BUDGETS.items()])
    places = [[TITLES[task], " or ".join(folders), "train, dev, test"] for task, folders in TASKS.items()
              if task in TITLES]  # fmt: skip
    places += [
        ["parts of speech, " + lang, " or ".join(folders), "train, dev, test (CoNLL-U)"]
        for lang, folders in TREEBANKS.items()
    ]
    places += [
        ["word senses", SENSES, "semcor and the evaluation sets (.data.xml, .gold.key.txt), index.sense"],
        ["perplexity", HELD_OUT, "plain text"],
        ["neighbours", ", ".join(TEXTS), "plain text, from the first until there is enough"],
    ]
    return Section("How it is made", [Notes(LINES), budgets, Table(["for", "below DIR", "files"], places)])
