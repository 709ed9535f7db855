"""onnxruntime runs the exported graph, and agrees with the engine."""

from pathlib import Path

import numpy as np
import onnxruntime

from polyseme import Elmo
from polyseme.export.onnx_graph import write_onnx

elmo = Elmo.from_pretrained()
write_onnx(elmo.stored, Path("model.onnx"))
session = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
tokens = ("He sat on the bank of the river and counted his birthday presents . " * 9).split()[:126]
ids = np.asarray(elmo.stored.indexer.batch([tokens])[0], np.int64)
(layers,) = session.run(None, {session.get_inputs()[0].name: ids})
apart = float(abs(layers[:, 1:-1] - elmo.encode_tokens([tokens])[0].layers).max())
assert apart < 3e-5, apart
print(f"at most {apart:.1e} from the engine on {len(ids)} positions")
