"""The report: results as JSON → HTML with everything in it, Markdown with its pictures beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from polyseme.errors import InputError
from polyseme.jobs.atomic import replace_when_complete
from polyseme.jobs.manifests import write_json
from polyseme.reproduce.budgets import BUDGETS
from polyseme.reproduce.comparison import failures
from polyseme.reproduce.document import ReportDocument, Section
from polyseme.reproduce.guide import guide
from polyseme.reproduce.html import to_html
from polyseme.reproduce.markdown import to_markdown
from polyseme.reproduce.report_parts import PARTS, Part
from polyseme.reproduce.results import RESULTS, Results, read_results

HTML, MARKDOWN = "report.html", "report.md"
TITLE = "Deep contextualized word representations, measured again"


def render(path: Path, out: Path) -> list[Path]:
    """Write the report of some results again: as a .md or .html file, or as a folder with everything."""
    results = read_results(path)
    try:
        document = report(results)
    except (LookupError, AttributeError, TypeError, ValueError) as error:  # JSON, but not of our making
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
    """The results, and the report on them as a page and as Markdown with its pictures, in a folder."""
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
    """Every part, whether it was run or not."""
    parts: Mapping[str, Any] = results.get("parts", {})
    sections = {name: _shown(part, parts.get(name, {})) for name, part in PARTS.items()}
    unfinished = [section.title for name, section in sections.items() if not _is_done(parts.get(name, {}))]
    return ReportDocument(TITLE, [_about(results, unfinished), *sections.values(), guide()])


def _is_done(found: Results) -> bool:
    return bool(found) and found["done"] == found["planned"]


def _shown(part: Part, found: Results) -> Section:
    """A part, and how much of it was done."""
    section = part.section(found.get("figures") or {})
    if _is_done(found):
        return section
    begun = found.get("done", 0) or failures(found.get("figures"))
    progress = f"{found['done'] or 'None'} of {found['planned']} measurements are done." if begun else "Not run yet."
    lead, *blocks = section.blocks
    return Section(section.title, [lead, progress, *blocks])


def _about(results: Results, unfinished: Sequence[str]) -> Section:
    """What was run, with which model, and what was not; parts go by their titles."""
    lines = [
        'The tables and figures of "Deep contextualized word representations" (Peters et al., 2018), measured by '
        "`polyseme reproduce`, next to the paper's figures. The notes state for which rows the paper's claims hold.",
    ]
    model, budget = results.get("model"), results.get("budget")
    if model is None or budget is None:
        return Section("What was run", [*lines, "Nothing has been run yet: every figure below is the paper's."])
    about = results.get("budget_about") or BUDGETS[budget].about  # a budget may be another by now
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
