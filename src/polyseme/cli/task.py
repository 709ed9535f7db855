"""polyseme task train, eval and predict: task models with ELMo at the input, the output, or both."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from polyseme.cli.bars import resumable
from polyseme.cli.options import (
    Device,
    OptionsFile,
    Overwrite,
    Quiet,
    ResumeRun,
    RunFolder,
    State,
    TaskChanges,
    TaskOptions,
    Threads,
    from_everywhere,
    keep_existing,
    with_groups,
)
from polyseme.cli.task_inputs import answers, json_lines
from polyseme.cli.task_output import print_scores, print_summary, shown_training, write_pieces

if TYPE_CHECKING:
    from polyseme.tasks.data_files import DataFiles
    from polyseme.tasks.definition import Definition, Preset

Lenient = Annotated[
    bool,
    typer.Option("--lenient", help="Accept tags that break their scheme (I- after O) instead of refusing the file."),
]
ScoresAsJson = Annotated[bool, typer.Option("--json", help="The scores as one JSON object.")]
SkipBadLines = Annotated[bool, typer.Option("--skip-bad-lines", help="Skip lines that are not UTF-8, and list them.")]


def train(
    task: Annotated[
        str,
        typer.Argument(
            help="ner, pos, sst, snli, srl, squad, coref, text, pairs, or one that a package adds.", metavar="TASK"
        ),
    ],
    out: RunFolder,
    data: Annotated[
        Path | None, typer.Option(help="A folder with files named train, dev (and test).", metavar="DIR")
    ] = None,
    train_file: Annotated[
        Path | None, typer.Option("--train", help="The training file, instead of the folder's.", metavar="FILE")
    ] = None,
    dev_file: Annotated[
        Path | None, typer.Option("--dev", help="The file to evaluate on after each epoch.", metavar="FILE")
    ] = None,
    budget: Annotated[
        Literal["paper", "cpu"] | None,
        typer.Option(help="The paper's sizes, or sizes that train in minutes on two cores; cpu unless there is a GPU."),
    ] = None,
    elmo: Annotated[
        Literal["none", "input", "output", "both"] | None,
        typer.Option(
            help="Where ELMo enters: none, input, output or both; by default, as in the paper.", metavar="PLACE"
        ),
    ] = None,
    layers: Annotated[
        str | None, typer.Option(help="all (a learned mix), last, or the number of one layer.", metavar="LAYERS")
    ] = None,
    mix_penalty: Annotated[
        float | None, typer.Option("--lambda", help="Strength of the penalty λ‖w‖² on the mix weights.", metavar="λ")
    ] = None,
    elmo_dropout: Annotated[float | None, typer.Option(help="Dropout rate for ELMo's vectors.")] = None,
    layer_norm: Annotated[bool | None, typer.Option(help="Normalise the layers before mixing.")] = None,
    finetune_bilm: Annotated[bool | None, typer.Option(help="Train the biLM together with the task.")] = None,
    adapt_bilm: Annotated[
        int,
        typer.Option(help="Passes of fine-tuning the biLM on the task's training text first.", metavar="PASSES"),
    ] = 0,
    model: Annotated[
        str | None,
        typer.Option(help="A name (polyseme models), a folder, a file, an address or a hub id; en by default."),
    ] = None,
    options_file: OptionsFile = None,
    state: State = None,
    vectors: Annotated[
        str | None,
        typer.Option(
            help="Word vectors besides ELMo: glove, none, or a file (GloVe, word2vec, fastText); glove for English.",
            metavar="FILE",
        ),
    ] = None,
    train_vectors: Annotated[
        bool | None, typer.Option(help="Train the word vectors with the task; with --vectors none, from scratch.")
    ] = None,
    word_dim: Annotated[int | None, typer.Option(help="Size of word vectors that are learned from scratch.")] = None,
    characters: Annotated[int | None, typer.Option(help="Filters over a token's characters; 0 turns them off.")] = None,
    character_dim: Annotated[int | None, typer.Option(help="Size of a character vector.")] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="A TOML file with [network], [training], [inputs]; options override it.", metavar="FILE"),
    ] = None,
    change: TaskChanges = None,
    lenient: Lenient = False,
    skip_bad_lines: SkipBadLines = False,
    cache: Annotated[
        Path | None, typer.Option(help="Cache folder for the biLM's layers, instead of the user's.", metavar="DIR")
    ] = None,
    lang: Annotated[
        str | None, typer.Option(help="How to split text; by default as the biLM says, or as English without one.")
    ] = None,
    resume: ResumeRun = False,
    seed: Annotated[int, typer.Option(help="Random seed for weights, order and dropout.")] = 0,
    device: Device = "cpu",
    threads: Threads = None,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Write curves for TensorBoard into the run's folder.")
    ] = False,
    quiet: Quiet = False,
    as_json: ScoresAsJson = False,
) -> None:
    """Train a task model on files in the task's official format, and keep the best one on dev.

    Examples:

      polyseme task train ner --data names --budget cpu --elmo both --out run

      polyseme task train ner --data names --budget cpu --elmo none --set hidden=50 --out baseline
    """
    from polyseme.cli.options import use_threads
    from polyseme.settings import read_changes, read_toml, with_values
    from polyseme.tasks.definition import find_task
    from polyseme.tasks.run import TaskPlan, default_budget, train_task
    from polyseme.tasks.vectors.static import named_vectors

    definition = find_task(task)
    name = budget or default_budget()
    choices = {
        "elmo": elmo,
        "layers": layers,
        "mix_penalty": mix_penalty,
        "elmo_dropout": elmo_dropout,
        "layer_norm": layer_norm,
        "finetune": finetune_bilm,
        "model": None if model is None else from_everywhere(model),
        "options": None if options_file is None else from_everywhere(options_file),
        "static": None if vectors is None else from_everywhere(named_vectors(vectors)),
        "word_vectors": None if train_vectors is None else "trained" if train_vectors else "frozen",
        "word_dim": word_dim,
        "characters": characters,
        "character_dim": character_dim,
    }
    given = {name: value for name, value in choices.items() if value is not None}
    preset, what = definition.presets[name], f"the task {task}"
    written = read_toml(config, "the configuration") if config else {}
    preset = with_values(preset, {**written, **read_changes(preset, change or [], what), **given}, what)
    files = _data(definition, data, train_file, dev_file)
    use_threads(threads)
    if adapt_bilm and preset.inputs.elmo != "none":
        forgiven = {"lenient": lenient, "skip_bad_lines": skip_bad_lines}
        preset, lang = _adapted(task, files, preset, out, adapt_bilm, lang, seed, threads, quiet, forgiven)
    plan = TaskPlan(
        task,
        files,
        out,
        preset,
        name,
        seed,
        device,
        lang,
        state,
        cache,
        lenient=lenient,
        skip_bad_lines=skip_bad_lines,
        tensorboard=tensorboard,
    )
    with resumable(quiet):
        finished = train_task(plan, resume=resume, watch=shown_training(quiet, preset.training))
    print_scores(finished.scores, as_json, {"mixes": finished.mixes})
    if not quiet:
        print_summary(finished, out, definition.metric)


def _adapted(
    task: str,
    files: DataFiles,
    preset: Preset[Any],
    out: Path,
    passes: int,
    lang: str | None,
    seed: int,
    threads: int | None,
    quiet: bool,
    forgiven: dict[str, bool],
) -> tuple[Preset[Any], str]:
    """The preset with the biLM fine-tuned on the task's training text, and how text is split."""
    from polyseme.elmo import Elmo
    from polyseme.reproduce.adapted import adapt_bilm
    from polyseme.settings import with_values
    from polyseme.text.tokenization import language_name

    elmo = Elmo.from_pretrained(preset.inputs.model, options=preset.inputs.options or None, lang=lang)

    def say(line: str) -> None:
        if not quiet:
            typer.echo(line, err=True)

    found = adapt_bilm(
        task,
        files,
        preset.inputs.model,
        out / "bilm",
        passes=passes,
        options=preset.inputs.options or None,
        elmo=elmo,
        seed=seed,
        threads=threads or 2,
        said=say,
        **forgiven,
    )
    say(f"perplexity of the dev text: {found.before:.1f} before, {found.after:.1f} after")
    adapted = {"inputs.model": str(found.model.resolve()), "inputs.options": ""}
    return with_values(preset, adapted, "the task"), language_name(elmo.lang)


def _data(definition: Definition[Any, Any], folder: Path | None, train: Path | None, dev: Path | None) -> DataFiles:
    """The files that were named, and the folder's files for the others."""
    from polyseme.tasks.data_files import DataFiles

    if train is not None and dev is not None:
        return DataFiles(train, dev)
    if folder is None:
        raise typer.BadParameter("give a folder, or both --train and --dev", param_hint="--data")
    found = definition.find(folder)
    return DataFiles(train or found.train, dev or found.dev, found.test)


@with_groups
def evaluate(
    run: Annotated[Path, typer.Argument(help="A folder written by polyseme task train.", metavar="RUN")],
    file: Annotated[Path, typer.Argument(help="A file in the task's format.", metavar="FILE")],
    *,
    bilm: TaskOptions,
    overwrite: Overwrite = False,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the confusion matrix into this PNG file.", metavar="FILE")
    ] = None,
    lenient: Lenient = False,
    skip_bad_lines: SkipBadLines = False,
    as_json: ScoresAsJson = False,
) -> None:
    """Score a trained task on a file, overall and for each class, by the task's official definition.

    Examples:

      polyseme task eval run names/test.txt

      polyseme task eval run names/test.txt --picture confusion.png --json
    """
    from polyseme.errors import ConfigError
    from polyseme.tasks.scores import draw_confusion

    keep_existing(picture, overwrite=overwrite)
    (task,) = bilm.load(str(run))
    scores = task.evaluate(file, lenient=lenient, skip_bad_lines=skip_bad_lines)
    if picture is not None:
        if scores.confusion is None or not scores.confusion.labels:
            raise ConfigError(f"the task {task.definition.name} has no confusion matrix to draw for {file}")
        draw_confusion(scores.confusion, picture, f"{task.definition.title}, {file.name}")
    print_scores(scores, as_json)


@with_groups
def predict(
    run: Annotated[
        Path,
        typer.Argument(help="A folder written by polyseme task train, or a bundled model: en/coref.", metavar="RUN"),
    ],
    inputs: Annotated[
        str,
        typer.Argument(
            help="A text, a file (.txt: one per line; .jsonl; the task's own format), or - .", metavar="TEXT|FILE|-"
        ),
    ],
    kind: Annotated[
        Literal["text", "tokens", "jsonl", "task"] | None,
        typer.Option(help="What a line holds, if the file name does not show it; tokens are separated by spaces."),
    ] = None,
    style: Annotated[
        Literal["jsonl", "task"], typer.Option("--format", help="JSON lines, or the task's own format.")
    ] = "jsonl",
    out: Annotated[
        Path | None, typer.Option(help="The file to write; standard output by default.", metavar="FILE")
    ] = None,
    *,
    bilm: TaskOptions,
    overwrite: Overwrite = False,
) -> None:
    """Predict with a trained task, from raw text, tokens, JSON objects or files in the task's own format.

    Examples:

      polyseme task predict run "Ada Lovelace lived in London."

      polyseme task predict run sentences.txt --format task --out predicted.txt
    """
    from polyseme.cli.score import names_a_file
    from polyseme.errors import ConfigError

    if out is not None and out.exists() and names_a_file(inputs) and Path(inputs).exists() and out.samefile(inputs):
        raise ConfigError(f"{out} is the input; write the predictions to another file")
    keep_existing(out, overwrite=overwrite)
    (task,) = bilm.load(str(run))
    if style == "task":
        pieces = task.definition.write(answers(task, inputs, kind))
    else:
        pieces = json_lines(task, inputs, kind)
    write_pieces(pieces, out)
