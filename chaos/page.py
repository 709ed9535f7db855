"""The tables of docs/guarantees.md, from chaos/results: ``PYTHONPATH=.:tests python -m chaos.page``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "guarantees.md"


def fault_table(results: dict[str, Any]) -> str:
    lines = [
        "| job | seconds | kills survived | full disks | little memory | two writers | clock steps |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in results["jobs"]:
        if "broken" in row:
            lines.append(f"| {row['job']} | – | it did not run: {row['broken'][:80]} | | | | |")
            continue
        kills = row["kills"]
        cells = [f"{kills['survived']} of {kills['kills']}"]
        cells += [_share(row[part]) for part in ("full_disk", "little_memory", "two_writers", "clock_steps")]
        lines.append(f"| {row['job']} | {row['seconds']:.1f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _share(part: dict[str, Any]) -> str:
    return f"{part['tried'] - min(len(part['wrong']), part['tried'])} of {part['tried']}"


def fuzz_table(results: dict[str, Any]) -> str:
    lines = ["| what is read | mutants | read | refused | failures | slowest, CPU s |", "|---|---|---|---|---|---|"]
    rows = [*results["surfaces"], {**results, "surface": "**all**"}]
    for row in rows:
        counts = " | ".join(f"{row[name]:,}" for name in ("mutants", "read", "refused", "failed"))
        lines.append(f"| {row['surface']} | {counts} | {row['slowest']:.2f} |")
    return "\n".join(lines)


def filled(page: str) -> str:
    """The page with both tables as the results have them."""
    for name, table in (("faults", fault_table), ("fuzz", fuzz_table)):
        results = json.loads((HERE / "results" / f"{name}.json").read_text(encoding="utf-8"))
        block = f"<!-- {name} -->\n\n{table(results)}\n\n<!-- end of {name} -->"
        page = re.sub(rf"<!-- {name} -->.*?<!-- end of {name} -->", lambda _, block=block: block, page, flags=re.DOTALL)
    return page


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
