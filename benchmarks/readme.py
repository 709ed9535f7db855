"""The table of figures in the README, from the result files of other benchmarks.

python benchmarks/readme.py
"""

from __future__ import annotations

import json
from pathlib import Path

from pages import fill_in, table

RESULTS = Path(__file__).parent / "results"


def figures() -> str:
    """Speed, exactness and size, each with the file or test it comes from."""
    speed = json.loads((RESULTS / "engine_speed.json").read_text())
    (small,) = (one for one in speed["results"] if one["model"] == "small")
    quick, batch = small["tokens_per_second"], "64"
    install = json.loads((RESULTS / "install.json").read_text())["now"]
    rows = [
        [
            f"{quick['float32'][batch]:,} tokens a second, {quick['int8'][batch]:,} in int8",
            f"the `small` release, all words already in the cache, one core ({speed['machine']['processor']}): "
            "[the engine](docs/engine.md)",
        ],
        [
            "within 1e-5 of the original programs",
            "recorded outputs of bilm-tf, AllenNLP and others: [what is promised](docs/guarantees.md)",
        ],
        [
            f"{install['install_megabytes']} MB on disk, {install['first_vector_megabytes']:.0f} MB in memory, "
            f"{install['first_vector_seconds']:.2f} CPU s to the first vector",
            "three models installed, `en` loaded: [what a plain install takes](docs/engine.md)",
        ],
    ]
    return table(["measured", "how"], rows)


if __name__ == "__main__":
    fill_in("../README.md", "figures", figures())
