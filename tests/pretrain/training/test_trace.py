"""bilm-tf's recorded training, step by step, through the trainer's own step."""

from __future__ import annotations

import subprocess
import sys

import pytest

from helpers.paths import BENCHMARKS, FIXTURES, needs

TRACES = FIXTURES / "bilm-tf-generated" / "training"
SCRIPT = BENCHMARKS / "replay_trace.py"
TOLERANCE = {
    "losses": 1e-5,
    "norms": 1e-4,
    "gradients": 1e-5,
    "weights": 1e-4,
    "accumulators": 1e-4,
    "states": 1e-5,
    "perplexities": 1e-4,
}


@pytest.mark.shared
@needs(TRACES)
@pytest.mark.parametrize("name", ["train_clip10", "train_clip10_sampled", "train_clip10_word_shared"])
def test_the_trainer_repeats_what_bilm_tf_did(name: str) -> None:
    done = subprocess.run([sys.executable, SCRIPT, TRACES / name], capture_output=True, text=True, check=True)
    words = done.stdout.splitlines()[-1].split()
    differences = dict(zip(words[::2], map(float, words[1::2]), strict=True))
    assert differences.keys() == TOLERANCE.keys()
    assert all(differences[kind] <= bound for kind, bound in TOLERANCE.items()), differences
