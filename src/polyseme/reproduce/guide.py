"""How a report is made, as its last section: what to type, what it costs, where data are looked for."""

from __future__ import annotations

from polyseme.reproduce.budgets import BUDGETS
from polyseme.reproduce.data_sets import HELD_OUT, SENSES, TASKS, TEXTS, TREEBANKS
from polyseme.reproduce.document import Notes, Section, Table
from polyseme.reproduce.task_runs import LONGEST_STRETCH
from polyseme.reproduce.titles import TITLES

LINES = (
    "`polyseme reproduce --data DIR --out REPORT --estimate` lists what each part has to measure and how long that "
    "takes; without `--estimate` it runs.",
    "`--only table1,figure2` chooses parts (table1 to table6, figure1, figure2, perplexity, senses, languages), "
    "`--task ner` a task in parts that train tasks, `--model` any model that polyseme loads, `--vectors` word "
    "vectors, `--ask` sentences for Table 4, and `--cove` the weights of CoVe for its rows in Tables 5 and 6.",
    "You can stop at any moment; the same command continues. Each result is stored with the model, the data, the "
    "budget and all settings it depends on, so a report refuses another model or budget. A report that is made in "
    "parts keeps its sentences and its CoVe weights until you pass others.",
    "`polyseme reproduce --render REPORT/reproduction.json --out PAGE.md` (or `PAGE.html`, or a folder) rewrites "
    "the report from its figures.",
    "Tables 1 to 3 and both figures share their task models. A run ends at its limit of epochs, or earlier if the dev "
    "score stops improving; the network with the best dev score counts. On a share of the data, where epochs are "
    f"shorter, a run may have up to {LONGEST_STRETCH} times as many.",
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
        ["neighbours", ", ".join(TEXTS), "plain text, read in this order until there is enough"],
    ]
    return Section("How to run it", [Notes(LINES), budgets, Table(["for", "folder in DIR", "files"], places)])
