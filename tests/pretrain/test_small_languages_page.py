"""The commands of docs/small-languages.md are run one after another, on a small text and with a small budget."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from helpers.command_line import polyseme
from helpers.paths import ROOT
from polyseme.embed import read

PAGE = (ROOT / "docs" / "small-languages.md").read_text(encoding="utf-8")

#: What makes the page's training long, and what stands for it here.
SMALL = {
    "--recipe compact": "--recipe tiny --set softmax.kind=full",
    "text.tokens=640": "text.tokens=64",
    "budget.tokens=15000000": "budget.tokens=3000",
    "budget.validate_every=2500000": "budget.validate_every=1500",
    "budget.validate_on=20000": "budget.validate_on=200",
}
NOVEL = "The gay child sang in the old house .\nShe wore a gay dress that day .\nThey were gay and young .\n"


def commands() -> list[list[str]]:
    lines = [
        line
        for block in re.findall(r"^```bash\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
        for line in block.replace("\\\n", " ").splitlines()
    ]
    found = []
    for line in lines:
        for long, short in SMALL.items():
            line = line.replace(long, short)
        found.append(shlex.split(line, comments=True)[1:])
    return found


def test_every_setting_that_is_made_small_stands_on_the_page() -> None:
    assert [long for long in SMALL if long not in PAGE] == []


def test_the_commands_lead_from_a_text_to_a_model_that_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("novels.txt").write_text(NOVEL * 40, encoding="utf-8")
    Path("held-out.txt").write_text("The young dress sang .\nThe child was gay .\n" * 5, encoding="utf-8")
    said = [polyseme(*command).output for command in commands()]
    assert len(said) == 7
    assert "bits_per_byte" in said[3]
    assert np.isfinite(next(iter(read("vectors.h5"))).vectors).all()
    assert "gay" in said[5] and "sang" in said[6]
