"""Run the notebooks in examples/ that are shown with their outputs, and store what they print and draw.

python benchmarks/run_notebooks.py [NAME.ipynb …]        run it again when a bundled model changes
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"
STORED = ("polysemy.ipynb", "semantic-change.ipynb", "your-own-tagger.ipynb")


def main() -> None:
    import nbformat  # tests read STORED even if this is not installed
    from nbclient import NotebookClient

    for name in sys.argv[1:] or STORED:
        began = time.perf_counter()
        notebook = nbformat.read(EXAMPLES / name, as_version=4)
        NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
        for cell in notebook.cells:
            cell.metadata = {}  # execution times
        notebook.metadata.pop("language_info", None)
        nbformat.write(notebook, EXAMPLES / name)
        print(f"{name}: {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
