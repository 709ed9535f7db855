"""The notebooks run from top to bottom. Those that are read on a page carry their outputs, the others none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.paths import ROOT
from run_notebooks import STORED

EXAMPLES = ROOT / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))

#: What a run prints, and how many pictures it draws.
EXPECTED = {
    "one-word-many-vectors": (
        ("layer 0: cosine of the two banks 1.00", "right on sentences that it has not seen"),
        2,
    ),
    "polysemy": (("layer 0: 1.00", "of the nearest neighbours have the same sense", "beside"), 1),
    "semantic-change": (("by chance", "of them with p < 0.05", "over chance"), 1),
    "your-own-tagger": (("names right without ELMo", "95 % interval +", "layer 2:", "/PER"), 1),
}


def test_there_are_notebooks() -> None:
    assert {path.stem for path in NOTEBOOKS} >= set(EXPECTED)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_all_its_outputs_or_none(path: Path) -> None:
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    if path.name in STORED:
        outputs = [out for cell in cells for out in cell["outputs"]]
        assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
        assert not [out for out in outputs if out["output_type"] == "error"]
        check(path.stem, outputs)
    else:
        assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in cells)


@pytest.mark.parametrize("path", [EXAMPLES / f"{name}.ipynb" for name in EXPECTED], ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    done = nbclient.NotebookClient(notebook, timeout=500, kernel_name="python3", resources=resources).execute()
    check(path.stem, [out for cell in done.cells for out in cell.get("outputs", [])])


def check(name: str, outputs: list[dict[str, object]]) -> None:
    told = "".join("".join(out.get("text", "")) for out in outputs)  # type: ignore[call-overload]
    texts, pictures = EXPECTED[name]
    assert all(text in told for text in texts)
    assert len([out for out in outputs if "image/png" in (out.get("data") or {})]) == pictures  # type: ignore[operator]
