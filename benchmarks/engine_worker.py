"""One contestant of engine_speed.py: an engine, of this commit or of an earlier one, on one core.

    python engine_worker.py MODEL PRECISION          PRECISION is empty for the engine on PyTorch

Commands are JSON lines, {"sentences": […], "call": 4}; answers are {"cpu_seconds": …}. The first line says which
engine it is.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any


def make_engine(model: str, precision: str) -> Any:
    from polyseme.engine.engine import Engine
    from polyseme.formats.detect import load

    if not precision:
        import torch

        torch.set_num_threads(1)
        return Engine(load(model))
    return Engine(load(model), threads=1, precision=precision)


def main() -> None:
    model, precision = sys.argv[1:]
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    engine = make_engine(model, precision)
    kind = f"{precision}, {engine.instruction_set or 'numpy'}" if precision else "PyTorch"
    print(json.dumps({"engine": kind}), flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        sentences, call = command["sentences"], command["call"]
        engine.encode(sentences)  # so that all tokens are cached
        begun = time.process_time()
        for first in range(0, len(sentences), call):
            engine.encode(sentences[first : first + call])
        print(json.dumps({"cpu_seconds": time.process_time() - begun}), flush=True)


if __name__ == "__main__":
    main()
