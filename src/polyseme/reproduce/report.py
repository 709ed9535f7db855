"""The report: results as JSON → self-contained HTML, and Markdown with its pictures beside it.

reproduction.json holds all figures of a report, what they were measured with, and the questions asked. The last section
explains how to make a report: what to type, how long it takes, where data are looked for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyseme.errors import InputError, reason_of
from polyseme.jobs.atomic import replace_when_complete
from polyseme.jobs.manifests import write_json
from polyseme.reproduce.budgets import BUDGETS
from polyseme.reproduce.comparison import failures
from polyseme.reproduce.data_sets import HELD_OUT, SENSES, TASKS, TEXTS, TREEBANKS
from polyseme.reproduce.document import Notes, ReportDocument, Section, Table, to_html, to_markdown
from polyseme.reproduce.paper import TITLES
from polyseme.reproduce.report_parts import PARTS, Part
from polyseme.reproduce.task_runs import LONGEST_STRETCH

HTML, MARKDOWN = "report.html", "report.md"
TITLE = "Deep contextualized word representations, measured again"
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
RESULTS = "reproduction.json"
VERSION = 1

Results = Mapping[str, Any]


def render(path: Path, out: Path) -> list[Path]:
    """Write the report of some results again: as a .md or .html file, or as a folder with everything."""
    results = read_results(path)
    try:
        document = report(results)
    except (LookupError, AttributeError, TypeError, ValueError) as error:  # JSON, but not written by us
        raise InputError(
            f"{path} is damaged: its figures are not in the form that polyseme reproduce writes"
        ) from error
    if out.suffix == ".md":
        return write_markdown(document, out)
    if out.suffix == ".html":
        _write(out, to_html(document).encode("utf-8", "replace"))
        return [out]
    out.mkdir(parents=True, exist_ok=True)
    return write_report(results, document, out)


def write_report(results: Results, document: ReportDocument, folder: Path) -> list[Path]:
    """Write the results to a folder, with the report as HTML and as Markdown with its pictures."""
    write_json(folder / RESULTS, results)
    _write(folder / HTML, to_html(document).encode("utf-8", "replace"))
    return [folder / HTML, *write_markdown(document, folder / MARKDOWN), folder / RESULTS]


def write_markdown(document: ReportDocument, path: Path) -> list[Path]:
    """A Markdown file and its pictures."""
    for picture in document.pictures:
        _write(path.with_name(f"{picture.name}.svg"), picture.svg)
    _write(path, to_markdown(document).encode("utf-8", "replace"))
    return [path]


def report(results: Results) -> ReportDocument:
    """The report on all parts, whether they were run or not."""
    parts: Mapping[str, Any] = results.get("parts", {})
    sections = {name: _shown(part, parts.get(name, {})) for name, part in PARTS.items()}
    unfinished = [section.title for name, section in sections.items() if not _is_done(parts.get(name, {}))]
    return ReportDocument(TITLE, [_about(results, unfinished), *sections.values(), guide()])


def _is_done(found: Results) -> bool:
    return bool(found) and found["done"] == found["planned"]


def _shown(part: Part, found: Results) -> Section:
    """The section of a part, with how much of it is done."""
    section = part.section(found.get("figures") or {})
    if _is_done(found):
        return section
    begun = found.get("done", 0) or failures(found.get("figures"))
    progress = f"{found['done'] or 'None'} of {found['planned']} measurements are done." if begun else "Not run yet."
    lead, *blocks = section.blocks
    return Section(section.title, [lead, progress, *blocks])


def _about(results: Results, unfinished: Sequence[str]) -> Section:
    """What was run, with which model, and what was not; parts are named by their titles."""
    lines = [
        'The tables and figures of "Deep contextualized word representations" (Peters et al., 2018), measured by '
        "`polyseme reproduce`, next to the paper's figures. The notes state for which rows the paper's claims hold.",
    ]
    model, budget = results.get("model"), results.get("budget")
    if model is None or budget is None:
        return Section("What was run", [*lines, "Nothing has been run yet: every figure below is the paper's."])
    about = results.get("budget_about") or BUDGETS[budget].about  # the budget may have changed since
    seen = f", {model['tokens_seen'] / 1e6:,.0f} million tokens seen in training" if model["tokens_seen"] else ""
    lines += [
        f"Model: {model['name']}, {model['layers']} LSTM layers of {model['width']} numbers{seen} (fingerprint "
        f"`{model['fingerprint'][:12]}`). The paper's model: 2 layers of 1,024 numbers, trained on the 1 Billion Word "
        "Benchmark.",
        f"Budget {budget}: {about}. Static vectors, in addition to ELMo and as a baseline: {results['static']}.",
        "± is the standard deviation over seeds; with one seed, small differences mean little.",
    ]
    if unfinished:
        names = ", ".join(title.split(":")[0] for title in unfinished)
        lines.append(f"Not complete yet (marked below): {names}.")
    return Section("What was run", lines)


def _write(path: Path, content: bytes) -> None:
    with replace_when_complete(path) as file:
        file.write(content)


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


@dataclass(frozen=True, slots=True)
class Asked:
    """Choices from earlier sessions that a report keeps until others are given."""

    questions: tuple[str, ...] = ()  #: for Table 4
    cove: str | None = None  #: digest of CoVe's weights

    @classmethod
    def before(cls, folder: Path) -> Asked:
        """What the report in a folder was made with; empty if there is none."""
        path = folder / RESULTS
        if not path.exists():
            return cls()
        found = read_results(path)
        questions, cove = found.get("questions", []), found.get("cove")
        if not isinstance(questions, list) or not all(isinstance(one, str) for one in questions):
            raise InputError(f"{path} is damaged: its questions are not a list of sentences; delete it")
        return cls(tuple(questions), cove)


def read_results(path: Path) -> dict[str, Any]:
    """What `write_report` wrote."""
    try:
        results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        version = results["version"]
    except OSError as error:
        raise InputError(f"{path} cannot be read: {reason_of(error)}") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path} holds no results of polyseme reproduce") from None
    if version != VERSION:
        raise InputError(f"{path} was written by another version ({version}); this one reads {VERSION}")
    return results


def belongings(results: Results) -> dict[str, Any]:
    """What figures in one report have in common: model, budget and static vectors are never mixed.

    Raises InputError if results do not say what they are.
    """
    try:
        model = results["model"]
        return {
            "model": f"{model['name']} {model['fingerprint']}",
            "budget": results["budget"],
            "static vectors": results.get("static_sha256") or results["static"],
        }
    except (KeyError, TypeError):
        raise InputError("it does not say which model, budget and static vectors its figures belong to") from None
