"""Replay a training trace of bilm-tf through the trainer and print the largest difference of each kind.

    python benchmarks/replay_trace.py PREFIX          PREFIX.npz, PREFIX_options.json, …

The trace holds the initial weights, every batch (and, for a sampled softmax, the words drawn), and bilm-tf's results.
The trainer's own step function makes the same steps; nothing else is replayed.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from polyseme.bilm_config import BiLMConfig, CharacterConfig, WordConfig
from polyseme.formats.names import BILM_TF
from polyseme.formats.renaming import Layout, file_arrays
from polyseme.nn.bilm import BiLM
from polyseme.nn.numpy_weights import tensors_of
from polyseme.nn.softmax import Negatives, Softmax
from polyseme.pretrain.recipe import recipe_from_dict
from polyseme.pretrain.training.batches import PackedBatch, Reading
from polyseme.pretrain.training.language_model import LanguageModel, zero_states
from polyseme.pretrain.training.objective import compute_gradients
from polyseme.pretrain.training.optimizer import Adagrad
from polyseme.pretrain.training.parallel import one_after_the_other
from polyseme.pretrain.training.perplexity import log_probabilities
from polyseme.pretrain.training.step_softmax import StepSoftmax, full_softmax, sampled_softmax
from polyseme.pretrain.training.trainer import Training, new_optimizer, train_step
from polyseme.text.characters import BYTE_ALPHABET, PADDING

Arrays = Mapping[str, np.ndarray]


def replay(prefix: str) -> dict[str, float]:
    """The largest absolute difference (perplexities: relative) of each kind."""
    options = json.loads(Path(f"{prefix}_options.json").read_text())
    trace = dict(np.load(f"{prefix}.npz"))
    config, layout = bilm_config(options), trace_layout(trace)
    model = language_model(options, config, layout, trace)
    training = trace_training(options, model)
    worst: dict[str, float] = {}

    def compare(kind: str, ours: Any, theirs: Any) -> None:
        difference = np.abs(np.asarray(ours, np.float64) - np.asarray(theirs, np.float64))
        worst[kind] = max(worst.get(kind, 0.0), float(difference.max(initial=0.0)))

    names = [str(name) for name in trace["var_names"]]
    for step in range(len(trace["trace/loss"])):
        batch = trace_batch(trace, "batch/", step)
        softmax = trace_softmax(trace, step, len(model.softmax.bias))
        states = training.states or zero_states(model.bilm, batch)
        gradients = compute_gradients(
            model,
            batch,
            softmax,
            states,
            run=one_after_the_other,
            dropout=[lambda x: x] * 2,
            scale=float(options["unroll_steps"]),
        )
        dense = by_their_names(gradients.network, gradients.weight, gradients.bias, softmax.rows, model, layout)
        norms = [float(np.linalg.norm(dense[name].astype(np.float64))) for name in names]
        compare("norms", norms, trace["trace/var_norm_pre"][step])
        if step == 0:
            for name in names:
                compare("gradients", dense[name], trace[f"grad1/{name}"])
        report = train_step(training, [batch], softmax, one_after_the_other)
        compare("losses", report.loss, trace["trace/loss"][step])
        compare(
            "losses",
            [report.forward, report.backward],
            [trace["trace/loss_forward"][step], trace["trace/loss_backward"][step]],
        )
        compare("norms", report.norm, trace["trace/norm_pre"][step])
        if step == 0:
            for name, value in weights_by_their_names(model, layout).items():
                compare("weights", value, trace[f"weights_after1/{name}"])

    for name, value in weights_by_their_names(model, layout).items():
        compare("weights", value, trace[f"final/{name}"])
    assert isinstance(training.optimizer, Adagrad)
    sums = by_their_names(
        training.optimizer.sums,
        training.optimizer.weight_sum,
        training.optimizer.bias_sum,
        torch.arange(len(model.softmax.bias)),
        model,
        layout,
    )
    for name in names:
        compare("accumulators", sums[name], trace[f"accum/{name}"])
    assert training.states is not None
    for d, layers in enumerate(training.states):
        for layer, state in enumerate(layers):
            compare("states", state.h, trace[f"state/tower0/dir{d}/layer{layer}/h"])
            compare("states", state.c, trace[f"state/tower0/dir{d}/layer{layer}/c"])
    for size in (1, 2):
        ours, theirs = valid_perplexity(model, trace, size), float(trace[f"valid/bs{size}/perplexity"])
        compare("perplexities", ours / theirs, 1.0)
    return worst


def bilm_config(options: Mapping[str, Any]) -> BiLMConfig:
    """The shapes that the options of a trace describe."""
    lstm, cnn = options["lstm"], options.get("char_cnn")
    size = lstm["projection_dim"]
    characters = words = None
    if cnn:
        characters = CharacterConfig(
            alphabet=BYTE_ALPHABET,
            dim=cnn["embedding"]["dim"],
            max_characters=cnn["max_characters_per_token"],
            filters=tuple((w, n) for w, n in cnn["filters"]),
            highways=cnn.get("n_highway") or 0,
            activation=cnn["activation"],
        )
    else:
        words = WordConfig(size=options["n_tokens_vocab"], dim=size)
    return BiLMConfig(
        characters=characters,
        words=words,
        cell=lstm["dim"],
        projection=size,
        layers=lstm.get("n_layers", 1),
        cell_clip=lstm.get("cell_clip"),
        projection_clip=lstm.get("proj_clip"),
        skip_connections=bool(lstm.get("use_skip_connections")),
        project_tokens=characters is not None and characters.filter_count != size,
        bidirectional=bool(options.get("bidirectional")),
    )


def trace_layout(trace: Arrays) -> Layout:
    """Which of bilm-tf's layouts of array names this trace uses."""
    names = [str(name) for name in trace["var_names"]]
    return max(
        BILM_TF,
        key=lambda layout: sum(any(entry.pattern().fullmatch(name) for entry in layout.table) for name in names),
    )


def language_model(options: Mapping[str, Any], config: BiLMConfig, layout: Layout, trace: Arrays) -> LanguageModel:
    """The trace's initial model."""
    bilm = BiLM(config)
    softmax = Softmax(options["n_tokens_vocab"], config.projection)
    model = LanguageModel(bilm, softmax, padding=PADDING + 1, shared_words=bool(options.get("share_embedding_softmax")))
    from polyseme.formats.renaming import expand

    state: dict[str, np.ndarray] = {}
    for entry in expand(layout.table, config):
        state.update(entry.load(trace[f"init/{entry.theirs}"]))
    bilm.load_state_dict(tensors_of(state))
    with torch.no_grad():
        softmax.bias.copy_(torch.from_numpy(trace["init/softmax/b"]))
        if not model.shared_words:
            softmax.weight.copy_(torch.from_numpy(trace["init/softmax/W"]))
    return model


def trace_training(options: Mapping[str, Any], model: LanguageModel) -> Training:
    recipe = recipe_from_dict(
        {
            "dropout": float(options["dropout"]),
            "text": {"read": "windows"},
            "optimizer": {
                "name": "adagrad",
                "rate": options.get("learning_rate", 0.2),
                "schedule": "constant",
                "warmup": 0.0,
                "clip_norm": float(options["all_clip_norm_val"]),
                "scale": float(options["unroll_steps"]),
            },
        }
    )
    return Training(recipe, model, new_optimizer(recipe.optimizer, model), sampler=(), seed=0)  # type: ignore[arg-type]


def trace_batch(trace: Arrays, where: str, step: int) -> PackedBatch:
    """One recorded batch; every position is a distinct token, which changes only the speed."""
    rows, readings = [], []
    for suffix in ("", "_reverse"):
        if f"{where}token_ids{suffix}" not in trace:
            continue
        ids = trace.get(f"{where}tokens_characters{suffix}", trace[f"{where}token_ids{suffix}"][..., None])[step]
        targets = trace[f"{where}next_token_id{suffix}"][step]
        size, steps = targets.shape
        start = sum(len(r) for r in rows)
        rows.append(torch.from_numpy(ids.swapaxes(0, 1).reshape(size * steps, -1).astype(np.int64)) + 1)
        readings.append(
            Reading(
                torch.arange(start, start + size * steps),
                torch.from_numpy(targets.T.ravel().astype(np.int64)),
                (size,) * steps,
            )
        )
    targets = torch.unique(torch.cat([r.targets for r in readings]))
    positions = len(readings[0].targets)
    return PackedBatch(torch.cat(rows), tuple(readings), positions, positions, targets)


def trace_softmax(trace: Arrays, step: int, words: int) -> StepSoftmax:
    if "samples/sampled_ids" not in trace:
        return full_softmax(words)
    negatives = []
    for direction in range(trace["samples/sampled_ids"].shape[1]):
        ids = torch.from_numpy(np.sort(trace["samples/sampled_ids"][step, direction]).astype(np.int64))
        order = np.argsort(trace["samples/sampled_ids"][step, direction])
        recorded = trace["samples/sampled_expected_count"][step, direction][order]
        negatives.append(Negatives(ids, find_tries(ids, recorded, words)))
    targets = torch.unique(
        torch.from_numpy(
            np.concatenate([trace[f"batch/next_token_id{suffix}"][step].ravel() for suffix in ("", "_reverse")]).astype(
                np.int64
            )
        )
    )
    return sampled_softmax(words, targets, tuple(negatives))


def find_tries(ids: Tensor, recorded: np.ndarray, words: int) -> int:
    """The number of draws, which is not recorded but follows from the expected counts."""

    def error(tries: int) -> float:
        counts = Negatives(ids, tries).log_expected_count(ids, words).exp().numpy()
        return float(np.abs(counts - recorded).max())

    return min(range(len(ids), 200 * len(ids)), key=error)


def by_their_names(
    network: list[Tensor], weight: Tensor, bias: Tensor, rows: Tensor, model: LanguageModel, layout: Layout
) -> dict[str, np.ndarray]:
    """Tensors in the order of the model's parameters → dense arrays under bilm-tf's names."""
    names = [name for name, _ in model.bilm.named_parameters()]
    arrays = {name: tensor.numpy() for name, tensor in zip(names, network, strict=True)}
    theirs = file_arrays(arrays, layout.table, model.bilm.config)
    dense_bias = torch.zeros_like(model.softmax.bias.detach())
    dense_bias[rows] = bias
    theirs["softmax/b"] = dense_bias.numpy()
    if not model.shared_words:
        dense = torch.zeros_like(model.softmax.weight.detach())
        dense[rows] = weight
        theirs["softmax/W"] = dense.numpy()
    return theirs


def weights_by_their_names(model: LanguageModel, layout: Layout) -> dict[str, np.ndarray]:
    parameters = [p.detach() for p in model.network()]
    rows = torch.arange(len(model.softmax.bias))
    return by_their_names(parameters, model.softmax.weight.detach(), model.softmax.bias.detach(), rows, model, layout)


def valid_perplexity(model: LanguageModel, trace: Arrays, size: int) -> float:
    """bilm-tf's test procedure: one position at a time, state carried, mean loss over batches."""
    losses, states = [], None
    for step in range(len(trace[f"valid/bs{size}/token_ids"])):
        batch = trace_batch(trace, f"valid/bs{size}/", step)
        found, states = log_probabilities(model, batch, states or zero_states(model.bilm, batch))
        losses.append(-np.mean([float(direction.mean()) for direction in found]))
    return math.exp(float(np.mean(losses)))


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    worst = replay(sys.argv[1])
    print("  ".join(f"{kind} {difference:.1e}" for kind, difference in worst.items()))


if __name__ == "__main__":
    main()
