"""One contestant of embed.py or today.py in its own process: commands as JSON lines in, figures as JSON lines out.

    python embed_worker.py CONTESTANT MODEL_FOLDER CORES

It runs in the environment of its contestant, so only the standard library is imported until one is chosen. Commands:

    {"do": "check", "sentences": […]}                              layers, for comparison; seconds of the first call
    {"do": "forget"}                                               clear everything cached
    {"do": "run", "sentences": […], "batch": 32}                   seconds, CPU seconds
    {"do": "gemm"}                                                 GFLOP/s of a matrix product (polyseme only)
    {"do": "memory"}                                               peak memory of the process so far, MB
"""

from __future__ import annotations

import importlib.machinery
import json
import os
import resource
import sys
import time
import types
from pathlib import Path
from typing import Any

import minilm

Sentences = list[list[str]]

#: Packages that AllenNLP imports but its ELMo does not use.
STUBS = ("spacy", "pytorch_pretrained_bert", "pytorch_transformers", "scipy")


class Polyseme:
    """This package: every call may hold any number of sentences."""

    precision = "float32"

    def __init__(self, folder: str, cores: int) -> None:
        from polyseme.elmo import Elmo

        self.elmo = Elmo.from_pretrained(folder, lang="whitespace", threads=cores, precision=self.precision)

    def forget(self) -> None:
        """Empty the table of token vectors; the weights stay."""
        from polyseme.engine.token_rows import TokenRows

        engine = self.elmo.engine
        old = engine._rows
        engine._rows = TokenRows(old.encode, old.size, old.limit)

    def encode(self, batch: Sentences) -> list[Any]:
        return [encoding.layers for encoding in self.elmo.encode_tokens(batch)]

    def gemm(self) -> float:
        """GFLOP/s of 1024 × 1024 × 1024 in numpy, the best of several, with one thread per core."""
        import numpy as np

        a, b = np.ones((1024, 1024), np.float32), np.ones((1024, 1024), np.float32)
        best = float("inf")
        for _ in range(20):
            begun = time.perf_counter()
            np.matmul(a, b)
            best = min(best, time.perf_counter() - begun)
        return float(2 * 1024**3 / best / 1e9)


class PolysemeInt8(Polyseme):
    """The same with weights in eight bits."""

    precision = "int8"


class AllenNLP:
    """The ELMo of bio-embeddings-allennlp 0.9.2, which is AllenNLP's, following the steps of its ElmoEmbedder.

    The embedder itself cannot be imported without AllenNLP's web server and readers.
    """

    def __init__(self, folder: str, cores: int) -> None:
        sys.meta_path.append(StubFinder())
        import torch

        torch.set_num_threads(cores)
        from allennlp.modules.elmo import _ElmoBiLm, batch_to_ids
        from allennlp.nn.util import remove_sentence_boundaries

        self.torch, self.ids, self.inner = torch, batch_to_ids, remove_sentence_boundaries
        self.bilm = _ElmoBiLm(f"{folder}/options.json", f"{folder}/weights.hdf5")

    def forget(self) -> None:
        """Do nothing: it keeps only its state between calls, whose cost does not depend on its value."""

    def encode(self, batch: Sentences) -> list[Any]:
        with self.torch.no_grad():
            output = self.bilm(self.ids(batch))
            layers = [self.inner(layer, output["mask"])[0] for layer in output["activations"]]
        stacked = self.torch.stack(layers, dim=1)  # [B, L+1, N, W]
        return [one[:, : len(sentence)].numpy() for one, sentence in zip(stacked, batch, strict=True)]


class SimpleElmo:
    """ElmoModel of simple_elmo 0.9.2: the graph of bilm-tf, in one session."""

    def __init__(self, folder: str, cores: int) -> None:
        os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", TF_USE_LEGACY_KERAS="1", CUDA_VISIBLE_DEVICES="-1")
        import logging

        import tensorflow as tf
        from simple_elmo import ElmoModel
        from simple_elmo.elmo import weight_layers

        logging.disable(logging.INFO)
        self.model = ElmoModel()
        self.model.load(folder, max_batch_size=64)
        self.model.elmo_sentence_input = weight_layers("input", self.model.sentence_embeddings_op, use_layers="all")
        one = 1 if cores == 1 else 0  # 0: TensorFlow decides
        settings = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=one, inter_op_parallelism_threads=one)
        self.session = tf.compat.v1.Session(config=settings)
        self.session.run(tf.compat.v1.global_variables_initializer())

    def forget(self) -> None:
        """Do nothing: it keeps only its state between calls."""

    def encode(self, batch: Sentences) -> list[Any]:
        vectors = self.model.get_elmo_vectors(batch, warmup=False, layers="all", session=self.session)
        return [layers[:, : len(sentence)] for layers, sentence in zip(vectors, batch, strict=True)]


class StubFinder:
    """Finds empty modules under the names of ``STUBS``, after all installed ones."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in STUBS:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        class Stub(types.ModuleType):
            def __getattr__(self, attribute: str) -> type:
                if attribute.startswith("__"):
                    raise AttributeError(attribute)
                return type(attribute, (), {})

        return Stub(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


CONTESTANTS: dict[str, Any] = {
    "polyseme": Polyseme,
    "polyseme-int8": PolysemeInt8,
    "allennlp": AllenNLP,
    "simple_elmo": SimpleElmo,
    "minilm-torch": minilm.TorchMiniLM,
    "minilm-torch-int8": minilm.TorchInt8MiniLM,
    "minilm-onnx": minilm.OnnxMiniLM,
    "minilm-onnx-int8": minilm.OnnxInt8MiniLM,
}


def run(contestant: Any, sentences: Sentences, batch: int) -> dict[str, float]:
    """Encode all sentences, ``batch`` at a time (0: in one call)."""
    size = batch or len(sentences)
    begun, cpu = time.perf_counter(), time.process_time()
    for first in range(0, len(sentences), size):
        contestant.encode(sentences[first : first + size])
    return {"seconds": time.perf_counter() - begun, "cpu_seconds": time.process_time() - cpu}


def peak_mb() -> float:
    """Peak memory of this program; getrusage would also count its parent's memory before it started."""
    try:
        status = Path("/proc/self/status").read_text()
        (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def answer(contestant: Any, command: dict[str, Any]) -> dict[str, Any]:
    match command["do"]:
        case "check":
            begun = time.perf_counter()
            layers = contestant.encode(command["sentences"])
            return {"seconds": time.perf_counter() - begun, "layers": [one.tolist() for one in layers]}
        case "run":
            return run(contestant, command["sentences"], command["batch"])
        case "forget":
            contestant.forget()
            return {}
        case "gemm":
            return {"gflops": contestant.gemm()}
        case "memory":
            return {"peak_mb": peak_mb()}
    raise ValueError(command["do"])


def main() -> None:
    name, folder, cores = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-cores:])
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing that a library prints may get between the answers
    begun = time.perf_counter()
    contestant = CONTESTANTS[name](folder, cores)
    loaded = time.perf_counter()
    print(json.dumps({"load_seconds": loaded - begun}), file=out, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(contestant, json.loads(line))), file=out, flush=True)


if __name__ == "__main__":
    main()
