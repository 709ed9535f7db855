"""What the help says, word by word, and what it costs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from helpers.command_line import PLAIN, parse, polyseme
from polyseme import __version__
from polyseme.cli.app import GROUPS, VERBS, help_and_examples

HELP = """\
 Usage: polyseme [OPTIONS] COMMAND [ARGS]...
 Contextual word vectors from bidirectional language models (ELMo).
╭─ Options ────────────────────────────────────────────────────────────────────╮
│ --version            Print the version.                                      │
│ --help     -h        Show this message and exit.                             │
╰──────────────────────────────────────────────────────────────────────────────╯
╭─ Use a model ────────────────────────────────────────────────────────────────╮
│ demo         Show what polyseme does: vectors, word senses,    │
│              how well it works, what to try next.                            │
│ embed        Turn text files of any size into vectors. An interrupted job    │
│              continues with --resume.                                        │
│ tag          Tag names, parts of speech and semantic roles in a text or in   │
│              files of any size.                                              │
│ models       List all models known by name: bundled, downloaded, and every   │
│              released ELMo.                                                  │
│ pull         Download a model, or check it if it is here, and print its      │
│              folder. A stopped download continues.                           │
│ info         Show a model's format, shape, parameters, vocabulary, languages │
│              and licence, and check its weights.                             │
│ convert      Convert a model from any format to another.                     │
│ export       Write word vectors for gensim, or the network as an ONNX graph. │
╰──────────────────────────────────────────────────────────────────────────────╯
╭─ Make a model ───────────────────────────────────────────────────────────────╮
│ prepare      Turn text of any size into a training corpus.                   │
│ pretrain     Train a biLM on a prepared corpus.                              │
│ finetune     Continue training a model on your own corpus, and report how    │
│              much better it predicts it.                                     │
│ evaluate     Measure how well a model predicts text: full-softmax            │
│              perplexity, forward, backward and average.                      │
╰──────────────────────────────────────────────────────────────────────────────╯
╭─ Ask a model ────────────────────────────────────────────────────────────────╮
│ senses       Group the uses of a word in a text, with words that could       │
│              replace it and clear examples.                                  │
│ shift        Compare what words mean in two texts: which changed most, and   │
│              which senses appeared or disappeared.                           │
│ neighbours   Find words in an indexed text that are used like the one in     │
│              brackets, nearest first.                                        │
│ index        Index every word of a text by its vectors, for polyseme         │
│              neighbours. --resume continues after a stop.                    │
│ score        Show how likely each word of a text is, given the words before  │
│              it and given the words after it.                                │
│ substitutes  Show which words could replace the one in brackets, likeliest   │
│              first.                                                          │
╰──────────────────────────────────────────────────────────────────────────────╯
╭─ Show a model ───────────────────────────────────────────────────────────────╮
│ serve        Serve a page that shows what a word means in its sentence, and  │
│              an HTTP API for vectors.                                        │
│ explore      Write the explorer as a static site that works without a        │
│              server, with precomputed words.                                 │
╰──────────────────────────────────────────────────────────────────────────────╯
╭─ Tasks and the paper ────────────────────────────────────────────────────────╮
│ reproduce    Measure every table and figure of the paper, and write a        │
│              comparison as HTML, Markdown and JSON.                          │
│ task         Train, score and use task models: entities, sentiment,          │
│              inference, roles, questions, coreference.                       │
╰──────────────────────────────────────────────────────────────────────────────╯
 The help of every command ends with examples: polyseme embed --help
"""

BY_NAME = {verb.__name__: verb for verbs in VERBS.values() for verb in verbs} | {
    f"{first} {second}": verb for first, (_, seconds) in GROUPS.items() for second, verb in seconds.items()
}

#: The same word means the same thing in every verb: the type of its value.
SAME_WORDS = {
    "--model": str,
    "--out": Path,
    "--lang": str,
    "--resume": bool,
    "--seed": int,
    "--device": str,
    "--threads": int,
    "--quiet": bool,
    "--json": bool,
    "--options": str,
}


def examples_of(verb: Callable[..., None]) -> list[str]:
    return re.findall(r"polyseme .*", help_and_examples(verb)[1])


def words_of(screen: str) -> list[str]:
    """Without boxes: where lines break differs between versions of typer."""
    return re.sub("[╭╮╰╯│─]", " ", screen).split()


def test_help_word_by_word() -> None:
    assert words_of(polyseme("--help").stdout) == words_of(HELP)


def test_without_arguments_there_is_help_too() -> None:
    assert " Usage: polyseme [OPTIONS] COMMAND [ARGS]..." in polyseme(code=2).output


def test_version() -> None:
    assert polyseme("--version").stdout == f"polyseme {__version__}\n"


@pytest.mark.parametrize("name", BY_NAME)
def test_the_help_of_a_verb_ends_with_its_two_examples(name: str) -> None:
    examples = examples_of(BY_NAME[name])
    assert len(examples) == 2
    assert all(f"{example} ".startswith(f"polyseme {name} ") for example in examples)
    lines = [" ".join(line.split()) for line in polyseme(*name.split(), "--help").stdout.splitlines()]
    assert " ".join(line for line in lines[lines.index("Examples:") + 1 :] if line) == " ".join(examples)


@pytest.mark.parametrize("name", BY_NAME)
def test_examples_parse(name: str) -> None:
    for example in examples_of(BY_NAME[name]):
        assert parse(example).params


def options_of(verb: Callable[..., None]) -> Iterator[tuple[str, Any, str | None]]:
    """(option or argument, type of its value, its help)"""
    for name, hint in get_type_hints(verb, include_extras=True).items():
        if name != "return":
            kind, settings = get_args(hint)
            kinds = get_args(kind) if get_origin(kind) is UnionType else (kind,)
            words = settings.param_decls or [f"--{name.replace('_', '-')}"]
            once = get_args(kinds[0]) if get_origin(kinds[0]) is list else (kinds[0],)  # may be given again
            yield words[0], once[0], settings.help


@pytest.mark.parametrize("name", BY_NAME)
def test_wherever_a_model_is_named_its_options_may_lie_elsewhere(name: str) -> None:
    if "--model" in {word for word, _, _ in options_of(BY_NAME[name])}:
        assert "--options" in polyseme(*name.split(), "--help").stdout.split()


@pytest.mark.parametrize("name", BY_NAME)
def test_every_option_is_explained_and_the_same_words_mean_the_same(name: str) -> None:
    for word, kind, explained in options_of(BY_NAME[name]):
        assert explained, f"{name} {word} has no help"
        assert kind is SAME_WORDS.get(word, kind), f"{name} {word}"


@pytest.mark.parametrize("name", BY_NAME)
def test_words_in_brackets_are_shown(name: str) -> None:
    """To the library that prints the help, [present] would be the name of a colour."""
    shown = polyseme(*name.split(), "--help").stdout
    for word, _, explained in options_of(BY_NAME[name]):
        for bracketed in re.findall(r"\[\w+\]", explained or ""):
            assert bracketed in shown, f"{name} {word}"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not count the time of child processes")
@pytest.mark.parametrize(
    ("arguments", "times"),
    [(["-c", "import polyseme"], 1), (["-m", "polyseme", "-h"], 6), (["-m", "polyseme", "models"], 6)],
)
def test_start_is_quick(arguments: list[str], times: float) -> None:
    """At most so many times what numpy takes to be imported, in time of the processor, the best of three.

    The clock on the wall would measure other programs, and seconds the machine.
    """
    limit = times * min(cpu_seconds(["-c", "import numpy"]) for _ in range(3))
    assert min(cpu_seconds(arguments) for _ in range(3)) < limit


def cpu_seconds(arguments: list[str]) -> float:
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], env=os.environ | PLAIN, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("name", ["", *GROUPS, *BY_NAME])
def test_on_80_columns_nothing_is_cut_off_and_a_flag_has_no_type(name: str) -> None:
    shown = polyseme(*name.split(), "--help").stdout
    assert "<bool>" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    for word in re.findall(r"--[\w-]+…", shown):
        raise AssertionError(f"{name} shows {word}")


def test_the_settings_of_a_task_have_an_example_of_their_own() -> None:
    assert "training.rate=0.002" in polyseme("task", "train", "--help").stdout
    assert "optimizer.rate=0.002" in polyseme("pretrain", "--help").stdout
