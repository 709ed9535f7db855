"""Where the lines of the package went: then (an earlier prototype) and now, by what they are for.

    python benchmarks/account.py [--before COMMIT]

Every module of both trees belongs to one idea, by the first pattern that fits its path. Some ideas are new since then:
what they offer did not exist. The others can be compared: they do now what they did then, or more.
Results: results/account.json, and the tables in docs/architecture.md.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import tarfile
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

from pages import fill_in, table

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "account.json"
BEFORE = "7d4ffb5"

#: What did not exist then, and the modules that hold nothing else.
NEW = {
    "a compiled kernel, and an engine without PyTorch": (
        "kernel/* engine/compiled* engine/weights.py nn/*_kernel.py nn/device_engine.py nn/numpy_weights.py"
    ),
    "PyTorch files read without PyTorch, int8 and bfloat16 on disk": (
        "formats/torch_file.py formats/plain_pickle.py formats/safetensors_file.py"
    ),
    "92 releases by name, downloads that resume": "formats/releases/* formats/named.py cli/models.py cli/pull.py",
    "damage that is noticed": "formats/hdf5_* formats/crc32c.py",
    "the classes of other ELMo programs": "compat/*",
    "scikit-learn, spaCy, MTEB, languagechange": "sklearn.py spacy.py mteb.py languagechange.py",
    "export to ONNX and to word vectors": "export/* cli/export.py",
    "senses: readouts, groups, names, change, pictures": (
        "senses/sense.py senses/uses.py senses/collect.py senses/sense_names.py senses/sense_page.py "
        "senses/sense_picture.py senses/shift* senses/text_shift.py senses/neighbours_by.py senses/labelled.py "
        "senses/shipped.py lm/substitute_vectors.py "
        "cli/senses.py cli/shift.py"
    ),
    "surprisal by word, unknown words, tables of scores": ("lm/word_probabilities.py cli/score_output.py"),
    "Korean morphemes, tokenisers of your own, scripts hardly seen": (
        "text/korean.py text/linear_tagger.py prepared_text.py"
    ),
    "plugins, and names that are imported when used": "plugins.py lazy.py extras.py",
    "settings checked by their annotations, with a schema": "settings.py",
    "embed: pipes, .npy, .jsonl, columns, processes": (
        "embed/pipe.py embed/npy.py embed/jsonl.py embed/processes.py pooling.py"
    ),
    "training in several processes": "cli/launch.py pretrain/distributed.py pretrain/training/distributed.py",
    "tagging, text and pair tasks, learned vectors, one protocol": (
        "tasks/tagging.py tasks/bundled_tasks.py tasks/labelled_files.py tasks/text_classes/* "
        "tasks/text_pairs/* tasks/vectors/learned.py nn/cells.py nn/linear.py "
        "tasks/classification.py tasks/run_description.py reproduce/adapted.py reproduce/protocol.py "
        "cli/tag*.py cli/task_inputs.py"
    ),
    "a server for teams, a site without a server": (
        "serve/openapi.py serve/compatible.py serve/rate_limit.py serve/access_log.py serve/recording.py serve/site.py "
        "serve/listening.py cli/explore.py"
    ),
}

#: What existed then, by its patterns in either tree.
OLD = {
    "files, locks, identities, windows, progress": (
        "files/* jobs/* pretrain/identity.py pretrain/ordered_map.py engine/progress.py cli/bars.py"
    ),
    "likelihood": (
        "lm/score.py lm/scoring.py lm/likelihood.py pretrain/evaluate*.py pretrain/training/perplexity.py "
        "pretrain/training/evaluate_files.py cli/evaluate.py cli/score.py"
    ),
    "sense map, clusters, projection, nearest": (
        "serve/clusters.py serve/senses.py serve/projection.py serve/nearest.py analysis/senses.py senses/*"
    ),
    "the demo": "analysis/demo*.py demo/* cli/demo.py",
    "index": "analysis/index*.py analysis/search.py index/* cli/index.py cli/neighbours.py",
    "probes": "tasks/probe.py tasks/wsd*.py tasks/frozen.py tasks/cove.py probes/*",
    "reproduction": "analysis/reproduce/* analysis/__init__.py reproduce/* cli/reproduce.py",
    "tasks": "tasks/* cli/task*.py",
    "corpus and training": "pretrain/* cli/prepare.py cli/pretrain.py cli/finetune.py",
    "the network": "nn/* bilm_config.py formats/run_file.py",
    "the engine, Elmo and Encoding": ("engine/* elmo.py encoding.py mixing.py sentence_reader.py target.py"),
    "formats": "formats/* cli/convert.py cli/info.py",
    "text": "text/*",
    "files of vectors": "embed/* cli/embed.py",
    "explorer and HTTP": "serve/* cli/serve.py",
    "command line, errors": "*",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", default=BEFORE, metavar="COMMIT")
    before = parser.parse_args().before
    source = ROOT / "src" / "polyseme"
    then = lines_at(before)
    now = {path.relative_to(source).as_posix(): line_count(path.read_bytes()) for path in source.rglob("*.py")}
    folders = {name: [by_folder(tree).get(name, 0) for tree in (then, now)] for name in by_folder({**then, **now})}
    result = {
        "before": before,
        "folders": folders,
        "new": {idea: [by_idea(then).get(idea, 0), by_idea(now).get(idea, 0)] for idea in NEW},
        "old": {idea: [by_idea(then).get(idea, 0), by_idea(now).get(idea, 0)] for idea in OLD},
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    write_page(result)


def lines_at(commit: str) -> dict[str, int]:
    """Module → lines, at a commit of this repository."""
    packed = subprocess.run(
        ["git", "-C", str(ROOT), "archive", commit, "src/polyseme"], check=True, capture_output=True
    ).stdout
    found = {}
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            if member.name.endswith(".py") and (file := archive.extractfile(member)) is not None:
                found[member.name.removeprefix("src/polyseme/")] = line_count(file.read())
    return found


def line_count(content: bytes) -> int:
    return content.count(b"\n")


def by_folder(tree: dict[str, int]) -> dict[str, int]:
    """Lines of each folder; modules of the package itself count as one."""
    found = Counter[str]()
    for name, lines in tree.items():
        found[f"{name.partition('/')[0]}/" if "/" in name else "the package itself"] += lines
    return dict(sorted(found.items()))


def by_idea(tree: dict[str, int]) -> dict[str, int]:
    found = Counter[str]()
    for name, lines in tree.items():
        found[idea_of(name)] += lines
    return dict(found)


def idea_of(name: str) -> str:
    """What a module is for."""
    return next(
        idea for idea, patterns in {**NEW, **OLD}.items() if any(fnmatch(name, one) for one in patterns.split())
    )


def write_page(result: dict[str, dict[str, list[int]]]) -> None:
    text = "\n\n".join(
        (
            f"Lines of Python in `src/polyseme`, at commit {result['before']} (an earlier prototype) and now.",
            compared("what existed then", result["old"]),
            compared("new since then", result["new"]),
            compared("folder", result["folders"]),
        )
    )
    fill_in("architecture.md", "account", text)
    print(text)


def compared(title: str, lines: dict[str, list[int]]) -> str:
    """A row for each, and their sum."""
    both = {**lines, "together": [sum(pair[side] for pair in lines.values()) for side in (0, 1)]}
    rows = [(name, *(f"{count:,}" for count in pair), f"{pair[1] - pair[0]:+,}") for name, pair in both.items()]
    return table((title, "then", "now", ""), rows)


if __name__ == "__main__":
    main()
