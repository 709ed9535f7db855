"""Train the bundled task models, and put them beside the biLMs that they need: src/polyseme/models/tasks/LANG/TASK.

    python benchmarks/bundle_tasks.py --list             what should be bundled, and which licences forbid it
    python benchmarks/bundle_tasks.py                    train all that may be shared; run it again to resume
    python benchmarks/bundle_tasks.py en/ner ko/pos      some of them
    python benchmarks/bundle_tasks.py en/pos --out DIR   into another folder, as a trial

A task model has no word vectors besides ELMo and the characters that it has learned, so it needs only its biLM, and
takes a few megabytes. Run this again when a biLM changes: a task model refuses any other one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shutil import copyfile
from typing import Any

import torch

from pages import fill_in, table
from polyseme.jobs.atomic import folder_when_complete, replace_when_complete
from polyseme.jobs.manifests import write_json
from polyseme.nn.run_file import read_run_file, save_run_file
from polyseme.settings import read_changes, with_values
from polyseme.tasks.bundled_tasks import bundled_tasks_folder
from polyseme.tasks.data_files import DataFiles, split_of
from polyseme.tasks.definition import find_task
from polyseme.tasks.run import TaskPlan, train_task
from polyseme.tasks.spans import Span, spans_of, tags_of
from polyseme.tasks.tagged import cells, read_blocks
from polyseme.tasks.trained_task import NETWORK, Task
from polyseme.tasks.training import TaskWatch
from polyseme.text.tokenization import split_text
from shared_data import DATA

RESULTS = Path(__file__).parent / "results" / "task_models.json"
KEPT = ("run.json", "vocabularies.json", "static.json", "static.npy")  #: beside the network
#: Settings for all of them: no word vectors from a file, and early stopping on dev.
COMMON = {"inputs.static": "none", "inputs.characters": 64, "training.epochs": 60, "training.patience": 5}


@dataclass(frozen=True, slots=True)
class Boxed:
    """A bundled task model: its data, and what their licence says."""

    task: str
    folder: str  #: of the data sets
    source: str
    licence: str
    free: bool = True  #: whether their licence allows sharing a model trained on them
    changes: Mapping[str, Any] = field(default_factory=dict)
    characters: bool = False  #: the data have one character per line, including blanks, to be joined into words
    split: str | None = None  #: how text is split, if not by the language's own name
    in_tenths: bool = False  #: there is no train file: training uses the dev file except every tenth sentence


BOX = {
    "en/ner": Boxed("ner", "ner/uner-ewt", "Universal NER, English EWT", "CC BY-SA 4.0"),
    "en/pos": Boxed("pos", "pos/en_ewt", "UD English EWT", "CC BY-SA 4.0"),
    "en/srl": Boxed("srl", "srl", "PropBank on the English Web Treebank", "CC BY-SA 4.0"),
    "en/coref": Boxed("coref", "coref/ontogum", "OntoGUM", "CC BY 4.0, texts CC BY or CC BY-SA"),
    "en/sst": Boxed("sst", "sst", "Stanford Sentiment Treebank", "none stated", free=False),
    "ko/ner": Boxed("ner", "ner/ko-klue", "KLUE-NER, its public part", "CC BY-SA 4.0", characters=True),
    "ko/pos": Boxed("pos", "pos/ko_gsd", "UD Korean GSD", "CC BY-SA 4.0", split="ko-eojeol"),  # as its words are
    "zh/ner": Boxed("ner", "ner/zh-uner-gsdsimp", "Universal NER, Chinese GSDSimp", "CC BY-SA 4.0"),
    # The train file of the release 1.3, eight times as large, is CC BY-NC-SA 4.0.
    "zh/pos": Boxed(
        "pos", "pos/zh_gsdsimp", "the dev file of UD Chinese GSDSimp, nine tenths of it", "CC BY-SA 4.0", in_tenths=True
    ),
}


def say(line: str) -> None:
    print(line, flush=True)


def in_words(path: Path, out: Path, lang: str) -> Path:
    """Characters and tags → words and tags, split like raw text; a name covers every word that it touches."""
    with replace_when_complete(out) as file:
        for block in read_blocks(path, lambda line: line.startswith("##")):
            rows = [line.split("\t") if "\t" in line else cells(line) for line in block.lines]
            text, spans = "".join(row[0] for row in rows), spans_of([row[1] for row in rows])
            for words, tags in _projected(text, spans, lang):
                file.write(("".join(f"{w}\t{t}\n" for w, t in zip(words, tags, strict=True)) + "\n").encode())
    return out


def _projected(text: str, spans: list[Span], lang: str) -> Iterator[tuple[list[str], list[str]]]:
    for sentence in split_text(text, lang):
        found, free = list[Span](), 0
        for label, start, end in spans:
            touched = [n for n, (a, b) in enumerate(sentence.offsets) if a < end and start < b and n >= free]
            if touched:
                found.append(Span(label, touched[0], touched[-1] + 1))
                free = touched[-1] + 1
        yield sentence.tokens, tags_of(found, len(sentence.tokens), "IOB2")


def tenths(source: Path, folder: Path) -> DataFiles:
    """Split the dev file of a treebank: every tenth sentence for validation, the others for training."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {split_of(path.name): path for path in source.iterdir()}
    blocks = [block.lines for block in read_blocks(found["dev"], lambda line: line.startswith("#")) if block.lines]
    for name, chosen in (("train", [b for n, b in enumerate(blocks) if n % 10]), ("dev", blocks[::10])):
        with replace_when_complete(folder / f"{name}.conllu") as file:
            file.write("".join("\n".join(lines) + "\n\n" for lines in chosen).encode())
    return DataFiles(folder / "train.conllu", folder / "dev.conllu", found["test"])


def data_of(name: str, boxed: Boxed, work: Path) -> DataFiles:
    lang, folder = name.partition("/")[0], work / "words" / name
    if boxed.in_tenths:
        return tenths(DATA / boxed.folder, folder)
    found = find_task(boxed.task).find(DATA / boxed.folder)
    if not boxed.characters:
        return found
    folder.mkdir(parents=True, exist_ok=True)
    assert found.test is not None
    files = {split: getattr(found, split) for split in ("train", "dev", "test")}
    return DataFiles(**{split: in_words(path, folder / f"{split}.txt", lang) for split, path in files.items()})


def bundle(name: str, boxed: Boxed, work: Path, box: Path, changes: Sequence[str] = ()) -> None:
    """Train, copy what is needed to predict, and score what was copied."""
    lang = name.partition("/")[0]
    data, run = data_of(name, boxed, work), work / "runs" / name
    values = {**COMMON, **boxed.changes, "inputs.model": lang, "inputs.elmo": "input"}
    what = f"the task {boxed.task}"
    preset = with_values(find_task(boxed.task).presets["cpu"], values, what)
    preset = with_values(preset, read_changes(preset, changes, what), what)
    watch = TaskWatch(said=say, looked=lambda progress, _: say(f"{name} {progress.history[-1]}"))
    train_task(TaskPlan(boxed.task, data, run, preset, "cpu", lang=boxed.split or lang), resume=True, watch=watch)
    target = box / name
    with folder_when_complete(target, replace=True) as folder:
        copy_rounded(run, folder)
        task = Task.load(folder)
        files = {"dev": data.dev, "test": data.test}
        scores = {split: task.evaluate(file).values for split, file in files.items() if file is not None}
        (folder / "README.md").write_text(card(name, boxed, scores), encoding="utf-8")
    size = sum(path.stat().st_size for path in target.iterdir()) / 1e6
    say(f"{target}: {size:.1f} MB, {json.dumps(scores)}")
    if box == bundled_tasks_folder():
        write_table(name, {"megabytes": round(size, 1), "scores": scores})


def write_table(name: str, figures: Mapping[str, Any]) -> None:
    """Write a model's figures to results/task_models.json, and those of all models to docs/tasks.md."""
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    known = {one: figures if one == name else known[one] for one in BOX if one in {*known, name}}
    write_json(RESULTS, known)
    head = ["task model", "trained on", "score", "dev", "test", "megabytes"]
    fill_in("tasks.md", "box", table(head, [row_of(one, found) for one, found in known.items()]))


def row_of(name: str, figures: Mapping[str, Any]) -> list[str]:
    metric = find_task(BOX[name].task).metric
    scores = [f"{figures['scores'][split][metric]:.1f}" for split in ("dev", "test")]
    return [f"`{name}`", f"{BOX[name].source} ({BOX[name].licence})", metric, *scores, str(figures["megabytes"])]


def copy_rounded(run: Path, folder: Path) -> None:
    """Copy what prediction needs from a run, with the network's weights in float16: half the size."""
    for file in KEPT:
        copyfile(run / file, folder / file)
    tensors, about = read_run_file(run / NETWORK, "train it again")
    rounded = {name: one.half() if one.is_floating_point() else one for name, one in tensors.items()}
    save_run_file(folder / NETWORK, rounded, about)


def card(name: str, boxed: Boxed, scores: Mapping[str, Mapping[str, float]]) -> str:
    """The card of a task model: what it is made of, and how good it is."""
    rows = [
        f"| {split} | {metric} | {value:.2f} |" for split, found in scores.items() for metric, value in found.items()
    ]
    return "\n".join(
        [
            f"# {name}",
            "",
            f"{find_task(boxed.task).title.capitalize()}, on the bundled biLM `{name.partition('/')[0]}`. Trained on "
            f"{boxed.source} ({boxed.licence}); this model is shared under the same licence. Dev decided when training "
            "stopped; nothing was chosen on test.",
            "",
            "| split | score | |",
            "| --- | --- | ---: |",
            *rows,
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="LANG/TASK", help="by default, all that may be shared")
    parser.add_argument("--list", action="store_true", help="only list what should be bundled")
    parser.add_argument("--work", type=Path, default=Path("box"), help="folder for the runs")
    parser.add_argument("--out", type=Path, default=bundled_tasks_folder(), help="folder for the task models")
    parser.add_argument("--set", dest="changes", action="append", default=[], help="for a trial", metavar="NAME=VALUE")
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - BOX.keys():
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are: {', '.join(BOX)}")
    wanted = {name: boxed for name, boxed in BOX.items() if not chosen.names or name in chosen.names}
    for name, boxed in wanted.items():
        say(f"{name}: {boxed.source}, {boxed.licence}: {'may be shared' if boxed.free else 'cannot be bundled'}")
    if chosen.list:
        return
    torch.set_num_threads(chosen.threads)
    for name, boxed in wanted.items():
        if boxed.free:
            bundle(name, boxed, chosen.work, chosen.out, chosen.changes)


if __name__ == "__main__":
    main()
