"""A biLM fine-tuned on a task's training text before the task is trained, as in the paper's appendix.

OUT/train.txt, dev.txt    the task's sentences      OUT/corpus    prepared      OUT/run    by `polyseme finetune`
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from polyseme.elmo import Elmo
from polyseme.jobs.atomic import replace_when_complete
from polyseme.pretrain.corpus.corpus import open_corpus
from polyseme.pretrain.corpus.preparation import prepare
from polyseme.pretrain.recipe import load_recipe
from polyseme.pretrain.training.finetuning import finetune
from polyseme.pretrain.training.run_plan import RunPlan
from polyseme.tasks.data_files import DataFiles, FileReading
from polyseme.tasks.definition import find_task
from polyseme.text.tokenization import split_text, word_language


@dataclass(frozen=True, slots=True)
class Adapted:
    """The model, and its perplexity on the task's dev text before and after, over the words of the training text."""

    model: Path
    before: float
    after: float


def adapt_bilm(
    task: str,
    data: DataFiles,
    model: str,
    out: Path,
    *,
    passes: int,
    options: str | None = None,
    elmo: Elmo | None = None,
    seed: int = 0,
    threads: int = 2,
    said: Callable[[str], None] = lambda line: None,
    lenient: bool = False,
    skip_bad_lines: bool = False,
) -> Adapted:
    """Fine-tune ``model`` on the text of a task in ``passes`` passes; an unfinished run continues, a finished is read.

    ``options`` is the options file of HDF5 weights, if it is not beside them; ``elmo`` is the model, if the program has
    already loaded it; ``FileReading`` explains ``lenient`` and ``skip_bad_lines``. A model of units smaller than words
    reads the units.
    """
    elmo = elmo or Elmo.from_pretrained(model, options=options)
    lang = word_language(elmo.lang)
    split = elmo.split if lang == elmo.lang else partial(split_text, lang=lang)
    reading = FileReading(split, lang, lenient, skip_bad_lines)
    out.mkdir(parents=True, exist_ok=True)
    definition = find_task(task)
    tokens = 0
    for name, path in (("train", data.train), ("dev", data.dev)):
        sentences = (s for example in definition.read(path, reading) for s in definition.sentences(example))
        count = _write(out / f"{name}.txt", (_units(elmo, sentence) for sentence in sentences))
        tokens = tokens or count
    corpus = out / "corpus"
    if not corpus.exists():
        prepare([out / "train.txt"], corpus, lang="whitespace", workers=1)
    said(f"fine-tuning the biLM on the task's {tokens:,} training tokens, {passes} times")
    changes = [f"budget.tokens={passes * tokens}", f"budget.validate_every={tokens}", f"budget.softmax_tokens={tokens}"]
    recipe = load_recipe("finetune", changes)
    if recipe.softmax.negatives >= len(open_corpus(corpus).vocabulary):  # too few words to draw from
        recipe = load_recipe("finetune", [*changes, "softmax.kind=full"])
    plan = RunPlan(
        corpus,
        out / "run",
        recipe,
        valid=out / "dev.txt",
        init=model,
        init_options=options,
        seed=seed,
        threads=threads,
    )
    outcome = finetune(plan, resume=(out / "run").exists())
    before = (outcome.fitted or outcome.before)["average"]
    return Adapted(outcome.model, before, outcome.after["average"])


def _units(elmo: Elmo, words: Sequence[str]) -> Sequence[str]:
    """What the biLM reads for these words: smaller units, or the words themselves."""
    parted = elmo.part(words)
    return words if parted is None else parted.units


def _write(path: Path, sentences: Iterable[Sequence[str]]) -> int:
    """Write each distinct sentence on a line, tokens separated by spaces; returns the number of tokens."""
    lines = dict.fromkeys(" ".join("".join(token.split()) for token in tokens if token.strip()) for tokens in sentences)
    with replace_when_complete(path) as file:
        for line in filter(None, lines):
            file.write(f"{line}\n".encode())
    return sum(line.count(" ") + 1 for line in lines if line)
