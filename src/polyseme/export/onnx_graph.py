"""A biLM as one ONNX graph: ids of a sentence [T, K] → layers [L+1, T, W], boundaries included.

The projected LSTM is a Scan whose body is one step; the backward direction scans from the end. The graph starts from
the zero state. Ids are those of the model's indexer: ``elmo.stored.indexer.batch([tokens])[0]``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from polyseme.bilm_config import BiLMConfig
from polyseme.extras import needing
from polyseme.formats.model import StoredModel
from polyseme.jobs.atomic import replace_when_complete

OPSET, IR_VERSION = 18, 9
_CHARACTERS = "token_encoder.characters"


def write_onnx(stored: StoredModel, path: Path) -> None:
    """Write the graph, checked by onnx."""
    onnx = _onnx()
    graph = _Graph(onnx, stored)
    model = graph.model()
    onnx.checker.check_model(model)
    with replace_when_complete(path) as file:
        file.write(model.SerializeToString())


class _Graph:
    """Nodes and constants while they are gathered."""

    def __init__(self, onnx: Any, stored: StoredModel) -> None:
        self.onnx, self.stored, self.config = onnx, stored, stored.config
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def model(self) -> Any:
        helper, config = self.onnx.helper, self.config
        kinds = self.onnx.TensorProto
        self._layers(self._tokens())
        ids = helper.make_tensor_value_info("ids", kinds.INT64, ["T", config.row_size])
        layers = helper.make_tensor_value_info("layers", kinds.FLOAT, [config.layers + 1, "T", config.width])
        graph = helper.make_graph(self.nodes, "bilm", [ids], [layers], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
        helper.set_model_props(model, {"fingerprint": self.stored.fingerprint(), "producer": "polyseme"})
        return model

    def add(self, kind: str, inputs: list[str], name: str, **attributes: Any) -> str:
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, name: str, values: Any) -> str:
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values, order="C"), name))
        return name

    def weight(self, name: str) -> str:
        """A parameter under its own name."""
        return self.constant(name, np.asarray(self.stored.tensors[name], np.float32))

    def linear(self, x: str, name: str) -> str:
        weights = [self.weight(f"{name}.weight"), self.weight(f"{name}.bias")]
        return self.add("Gemm", [x, *weights], f"{name}.out", transB=1)

    def _tokens(self) -> str:
        """[T, K] → [T, D]"""
        config, parts = self.config, []
        if config.words is not None:
            column = self.add("Gather", ["ids", self.constant("word_column", np.array(0))], "word_ids", axis=1)
            parts.append(self.add("Gather", [self.weight("token_encoder.words.weight"), column], "word_vectors"))
        if config.characters is not None:
            parts.append(self._characters())
        tokens = parts[0] if len(parts) == 1 else self.add("Concat", parts, "encoded", axis=1)
        return self.linear(tokens, "token_encoder.projection") if config.project_tokens else tokens

    def _characters(self) -> str:
        """[T, K] → [T, F]"""
        characters = self.config.characters
        assert characters is not None
        ids = "ids"
        if self.config.words is not None:
            columns = np.arange(1, 1 + characters.max_characters)
            ids = self.add("Gather", ["ids", self.constant("columns", columns)], "character_ids", axis=1)
        self.add("Gather", [self.weight(f"{_CHARACTERS}.embedding.weight"), ids], "rows")  # [T, C, dim]
        self.add("Transpose", ["rows"], "channels", perm=[0, 2, 1])
        axes, maxima = self.constant("last_axis", np.array([2])), []
        for number in range(len(characters.filters)):
            name = f"{_CHARACTERS}.convolutions.{number}"
            weights = [self.weight(f"{name}.weight"), self.weight(f"{name}.bias")]
            found = self.add("Conv", ["channels", *weights], f"{name}.out")
            maxima.append(self.add("ReduceMax", [found, axes], f"{name}.max", keepdims=0))
        joined = self.add("Concat", maxima, "filters", axis=1)
        h = self.add("Relu" if characters.activation == "relu" else "Tanh", [joined], "activated")
        for number in range(characters.highways):
            h = self._highway(h, f"{_CHARACTERS}.highways.{number}")
        return h

    def _highway(self, x: str, name: str) -> str:
        """x + σ(gate(x)) · (relu(transform(x)) − x)"""
        new = self.add("Relu", [self.linear(x, f"{name}.transform")], f"{name}.new")
        gate = self.add("Sigmoid", [self.linear(x, f"{name}.gate")], f"{name}.open")
        change = self.add("Mul", [gate, self.add("Sub", [new, x], f"{name}.change")], f"{name}.taken")
        return self.add("Add", [x, change], f"{name}.out")

    def _layers(self, tokens: str) -> None:
        config = self.config
        self.constant("first_h", np.zeros((1, config.projection), np.float32))
        self.constant("first_c", np.zeros((1, config.cell), np.float32))
        self.constant("row", np.array([config.projection]))
        axis = self.constant("layer_axis", np.array([0]))
        directions = [self._direction(tokens, number) for number in range(config.directions)]
        stacked = []
        for number, outputs in enumerate(zip(*directions, strict=True)):
            both = self.add("Concat", list(outputs), f"layer.{number}", axis=1)
            stacked.append(self.add("Unsqueeze", [both, axis], f"layer.{number}.stacked"))
        self.add("Concat", stacked, "layers", axis=0)

    def _direction(self, tokens: str, direction: int) -> list[str]:
        """The outputs [T, D] of all layers, the token layer first."""
        outputs = [tokens]
        for layer in range(self.config.layers):
            name = f"directions.{direction}.cells.{layer}"
            new = self._scan(outputs[-1], name, direction)
            skips = layer > 0 and self.config.skip_connections
            outputs.append(self.add("Add", [new, outputs[-1]], f"{name}.skip") if skips else new)
        return outputs

    def _scan(self, x: str, name: str, direction: int) -> str:
        bias = np.array(self.stored.tensors[f"{name}.bias"], np.float32)
        size = self.config.cell
        bias[size : 2 * size] += 1  # the forget gate's constant, which the files do not hold
        product = self.add("MatMul", [x, self.weight(f"{name}.input_weight")], f"{name}.product")
        gates = self.add("Add", [product, self.constant(f"{name}.bias", bias)], f"{name}.gates")  # [T, 4H]
        body = _step(self.onnx, self.config, self._step_weights(name))
        ends = [f"{name}.{end}" for end in ("last_h", "last_c", "out")]
        self.nodes.append(
            self.onnx.helper.make_node(
                "Scan",
                ["first_h", "first_c", gates],
                ends,
                body=body,
                num_scan_inputs=1,
                scan_input_directions=[direction],
                scan_output_directions=[direction],
            )
        )
        return ends[-1]

    def _step_weights(self, name: str) -> tuple[str, str | None]:
        state = self.weight(f"{name}.state_weight")
        return state, self.weight(f"{name}.projection") if self.config.has_projection else None


def _step(onnx: Any, config: BiLMConfig, weights: tuple[str, str | None]) -> Any:
    """h [1, D], c [1, H], gates [4H] (input, forget, output, candidate) → h, c, and h as a row [D]."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    nodes: list[Any] = []

    def add(operation: str, inputs: list[str], *outputs: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(operation, inputs, list(outputs), **attributes))
        return outputs[0]

    def clipped(x: str, limit: float | None, name: str) -> str:
        if limit is None:
            return add("Identity", [x], name)
        bounds = []
        for sign, side in ((-1, "low"), (1, "high")):
            value = helper.make_tensor(f"{name}_{side}_value", kind, [], [sign * limit])
            bounds.append(add("Constant", [], f"{name}_{side}", value=value))
        return add("Clip", [x, *bounds], name)

    add("Add", [add("MatMul", ["h", weights[0]], "from_h"), "gates"], "all")
    add("Split", ["all"], "i", "f", "o", "g", axis=1, num_outputs=4)
    kept = add("Mul", [add("Sigmoid", ["f"], "forget"), "c"], "kept")
    written = add("Mul", [add("Sigmoid", ["i"], "input"), add("Tanh", ["g"], "candidate")], "written")
    cell = clipped(add("Add", [kept, written], "cell"), config.cell_clip, "next_c")
    h = add("Mul", [add("Sigmoid", ["o"], "output"), add("Tanh", [cell], "squashed")], "hidden")
    if weights[1] is not None:
        projected = add("MatMul", [h, weights[1]], "projected")
        clipped(projected, config.projection_clip, "next_h")
    else:
        add("Identity", [h], "next_h")
    add("Reshape", ["next_h", "row"], "out")
    values = {"h": [1, config.projection], "c": [1, config.cell], "gates": [4 * config.cell]}
    ends = {"next_h": values["h"], "next_c": values["c"], "out": [config.projection]}
    infos = [[helper.make_tensor_value_info(name, kind, size) for name, size in of.items()] for of in (values, ends)]
    return helper.make_graph(nodes, "step", *infos)


def _onnx() -> Any:
    with needing("writing ONNX", "onnx"):
        import onnx
        import onnx.checker
    return onnx
