"""Runs: they learn, describe themselves, go on after a kill with the same losses, and are read back as a Task."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch
from torch import nn

from helpers.command_line import signals
from helpers.damage import rewrite
from helpers.toy_names import write_names
from polyseme.errors import ConfigError, FormatError, InputError, JobError
from polyseme.jobs.manifests import read_values
from polyseme.nn.mix import ScalarMix
from polyseme.nn.run_file import read_run_file
from polyseme.settings import with_values
from polyseme.tasks import run as runs
from polyseme.tasks import trained_task as task_module
from polyseme.tasks import training
from polyseme.tasks.data_files import find_data
from polyseme.tasks.definition import MODULES, TrainingChoices, find_task
from polyseme.tasks.inputs import InputChoices
from polyseme.tasks.run import Finished, TaskPlan, train_task
from polyseme.tasks.trained_task import Task
from polyseme.tasks.training import TaskWatch, TrainingProgress, batches_of_epoch, new_optimizer, spread, take_share
from polyseme.tasks.vectors import static, word_index
from polyseme.tasks.vectors.static import PACKAGE
from polyseme.text import Sentence

SMALL = {
    "hidden": 8,
    "depth": 1,
    "dropout": 0.1,
    "characters": 8,
    "static": "none",
    "epochs": 6,
    "batch": 4,
    "rate": 0.02,
}


def plan(names: Path, out: Path, model: str, **changes: object) -> TaskPlan:
    preset = with_values(find_task("ner").presets["cpu"], {**SMALL, "model": model, **changes}, "a task")
    return TaskPlan("ner", find_data(names), out, preset, "cpu", seed=3)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, model: str) -> tuple[TaskPlan, Finished]:
    folder = tmp_path_factory.mktemp("run")
    chosen = replace(plan(write_names(folder / "names"), folder / "run", model, elmo="both"), cache=folder / "cache")
    return chosen, train_task(chosen)


@pytest.fixture
def finished(original: tuple[TaskPlan, Finished], names: Path, tmp_path: Path) -> tuple[TaskPlan, Finished]:
    """A copy that a test may spoil."""
    shutil.copytree(original[0].out, tmp_path / "run")
    return replace(original[0], out=tmp_path / "run", data=find_data(names)), original[1]


def history(out: Path) -> list[dict[str, float]]:
    """Without the time that an epoch took."""
    epochs = json.loads((out / "history.json").read_text(encoding="utf-8"))
    return [{name: value for name, value in epoch.items() if name != "seconds"} for epoch in epochs]


def test_it_learns_and_leaves_everything_behind(finished: tuple[TaskPlan, Finished]) -> None:
    chosen, result = finished
    assert result.scores.values["f1"] > 95
    assert set(result.mixes) == {"input", "output"}
    assert set(result.mixes["input"]) == {"shares", "scale"}
    assert sum(result.mixes["input"]["shares"]) == pytest.approx(1, abs=1e-3)
    about = json.loads((chosen.out / "run.json").read_text(encoding="utf-8"))
    assert (about["task"], about["seed"], about["inputs"]["elmo"]) == ("ner", 3, "both")
    assert about["data"]["train"]["name"] == "train.txt"
    scores = json.loads((chosen.out / "scores.json").read_text(encoding="utf-8"))
    assert scores["classes"]["PER"]["support"] == 16
    assert (chosen.out / "confusion.png").read_bytes().startswith(b"\x89PNG")
    losses = [epoch["loss"] for epoch in history(chosen.out)]
    assert losses[-1] < losses[0] / 2
    assert not [path.name for path in chosen.out.iterdir() if path.suffix in (".pkl", ".pt", ".partial", ".lock")]


def test_a_task_is_loaded_and_predicts_what_it_scored(finished: tuple[TaskPlan, Finished], names: Path) -> None:
    chosen, result = finished
    task = Task.load(chosen.out)
    assert task.evaluate(names / "dev.txt").values == result.scores.values
    (whole,) = task.predict("Eve saw new Lima .")
    (text,) = whole["sentences"]
    (tokens,) = task.predict([["Eve", "saw", "new", "Lima", "."]])
    (listed,) = task.predict({"tokens": ["Eve", "saw", "new", "Lima", "."]})
    assert tokens == listed
    assert text["tokens"] == tokens["tokens"]
    for found, same in zip(text["entities"], tokens["entities"], strict=True):
        assert found["text"] == whole["text"][found["start_char"] : found["end_char"]]
        assert 0 < found["confidence"] <= 1
        assert {name: found[name] for name in same} == same
    assert [entity["text"] for entity in text["entities"]] == ["Eve", "Lima"]
    assert task.predict([]) == []
    assert [record["tokens"] for record in task.predict([["Ada"], [], ["Bob", "."]])] == [["Ada"], [], ["Bob", "."]]
    with pytest.raises(InputError, match=r"item 2: token 1 is 'a\\nb', but must not be empty or contain a tab"):
        task.predict([["Ada"], ["Bob", "a\nb"]])
    with pytest.raises(InputError, match=r"^expected a text"):
        task.predict({"words": ["Ada"]})
    written = "".join(task.definition.write(task.stream([["Ada", "left"]])))
    assert written == "Ada\tB-PER\nleft\tO\n\n"


@pytest.mark.parametrize("items", [None, 3, Path("sentences.txt")])
def test_what_is_no_text_is_refused(finished: tuple[TaskPlan, Finished], items: object) -> None:
    with pytest.raises(InputError, match="a list of them, not"):
        Task.load(finished[0].out).predict(items)  # type: ignore[arg-type]


def test_predictions_do_not_depend_on_batch_mates(finished: tuple[TaskPlan, Finished]) -> None:
    task = Task.load(finished[0].out)
    items = [["Ada"], ["Bob", "left", "new", "Oslo", "."], ["new"] * 30, ["Rome"]]
    assert task.predict(items) == [task.predict([item])[0] for item in items]


def test_the_model_may_have_moved_but_not_changed(
    finished: tuple[TaskPlan, Finished], model: str, tmp_path: Path
) -> None:
    from helpers.tiny_models import tiny_model
    from polyseme.formats.native import save_native

    save_native(tiny_model(seed=1), tmp_path / "other")
    with pytest.raises(JobError, match=r'another model .*: fingerprint was "1:.*" and is "1:.*--model'):
        Task.load(finished[0].out, model=str(tmp_path / "other"))
    about = read_values(finished[0].out / "run.json")
    rewrite(finished[0].out / "run.json", inputs=about["inputs"] | {"model": str(tmp_path / "gone")})
    with pytest.raises(FormatError, match="--model"):
        Task.load(finished[0].out)
    assert Task.load(finished[0].out, model=model).predict([["Ada"]])


def test_a_run_that_was_killed_goes_on_with_the_same_losses(
    names: Path, tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = plan(names, tmp_path / "whole", model, epochs=4, average=0.9)
    train_task(whole)
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0.0)  # after every step
    broken = plan(names, tmp_path / "broken", model, epochs=4, average=0.9)

    class Killed(Exception):
        pass

    for kill_at in (2, 7, 11):

        def stepped(progress: TrainingProgress, batches: int, kill_at: int = kill_at) -> None:
            if progress.step == kill_at:
                raise Killed

        with pytest.raises(Killed):
            train_task(broken, resume=kill_at > 2, watch=TaskWatch(stepped=stepped))
    train_task(broken, resume=True)
    assert history(broken.out) == history(whole.out)
    task, again = Task.load(whole.out), Task.load(broken.out)
    for (name, a), (_, b) in zip(
        task.place.network.state_dict().items(), again.place.network.state_dict().items(), strict=True
    ):
        assert torch.equal(a, b), name


def test_what_is_kept_is_the_average_of_the_weights(names: Path, tmp_path: Path, model: str) -> None:
    steps: list[float] = []
    chosen = plan(names, tmp_path / "run", model, elmo="none", epochs=1, average=0.9)
    train_task(chosen, watch=TaskWatch(stepped=lambda progress, batches: steps.append(progress.step)))
    kept, _ = read_run_file(chosen.out / "model.safetensors", "")
    last, _ = read_run_file(chosen.out / "last.safetensors", "")
    assert len(steps) > 1
    for name, value in kept.items():
        assert torch.equal(value, last[f"average.{name}"])
    assert any(not torch.equal(value, last[f"network.{name}"]) for name, value in kept.items())


@pytest.mark.parametrize("kind", ["adam", "adadelta"])
def test_matrices_alone_decay(kind: str) -> None:
    network = nn.ModuleDict({"linear": nn.Linear(2, 2), "mix": ScalarMix(3)})
    choices = TrainingChoices(optimizer=kind, weight_decay=0.1)  # type: ignore[arg-type]
    optimizer = new_optimizer(network, choices)  # type: ignore[arg-type]
    decays = {id(p): group["weight_decay"] for group in optimizer.param_groups for p in group["params"]}
    by_name = {name: decays[id(p)] for name, p in network.named_parameters()}
    assert by_name == {"linear.weight": 0.1, "linear.bias": 0.0, "mix.weights": 0.0, "mix.scale": 0.0}


@pytest.mark.parametrize("finetune", [False, True])
def test_a_run_knows_where_its_sentences_start(names: Path, tmp_path: Path, model: str, finetune: bool) -> None:
    """Warm: noted in the run, with layers of its own in the cache, and read back as such."""
    chosen = replace(plan(names, tmp_path / "warm", model, epochs=1, finetune=finetune), state="warm")
    result = train_task(chosen)
    about = json.loads((chosen.out / "run.json").read_text(encoding="utf-8"))
    assert about["model"]["state"] == "warm"
    task = Task.load(chosen.out)
    assert task.elmo is not None and task.elmo.state == "warm"
    assert task.evaluate(names / "dev.txt").values == result.scores.values
    with pytest.raises(JobError, match=r'holds another run: model\.state was "warm" and is "reset"'):
        train_task(replace(chosen, state="reset"), resume=True)
    cold = replace(chosen, out=tmp_path / "cold", state=None)
    other = train_task(cold)
    assert json.loads((cold.out / "run.json").read_text(encoding="utf-8"))["model"]["state"] == "reset"
    assert history(cold.out) != history(chosen.out)
    assert other.progress.epoch == result.progress.epoch == 1


def test_a_run_cannot_carry_state(names: Path, tmp_path: Path, model: str) -> None:
    with pytest.raises(ConfigError, match="use the state reset or warm"):
        train_task(replace(plan(names, tmp_path / "run", model), state="carry"))


def test_the_same_seed_is_the_same_run_and_another_is_not(names: Path, tmp_path: Path, model: str) -> None:
    plans = [replace(plan(names, tmp_path / f"run{i}", model, epochs=1), seed=seed) for i, seed in enumerate((1, 1, 2))]
    for chosen in plans:
        train_task(chosen)
    first, second, third = (history(chosen.out) for chosen in plans)
    assert first == second
    assert first != third


def test_a_run_is_not_overwritten_or_mixed_up(finished: tuple[TaskPlan, Finished], names: Path, model: str) -> None:
    chosen, _result = finished
    with pytest.raises(JobError, match="--resume"):
        train_task(chosen)
    with pytest.raises(JobError, match="inputs"):
        train_task(plan(names, chosen.out, model, elmo="none"), resume=True)
    (names / "train.txt").write_text("Ada\tB-PER\n", encoding="utf-8")
    with pytest.raises(JobError, match=r"another run: data.train.size was 588 and is 10; data.train.sha256 was"):
        train_task(chosen, resume=True)


def test_other_vectors_under_the_same_name_are_another_run(names: Path, tmp_path: Path, model: str) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("ada 1 0\nbob 0 1\n", encoding="utf-8")
    chosen = plan(names, tmp_path / "run", model, elmo="none", static=str(vectors), epochs=1)
    train_task(chosen)
    longer = replace(chosen, preset=with_values(chosen.preset, {"epochs": 2}, "a task"))
    assert train_task(longer, resume=True).progress.epoch == 2
    vectors.write_text("ada 1 0\nbob 0 9\n", encoding="utf-8")
    with pytest.raises(JobError, match='another run: vectors was "'):
        train_task(longer, resume=True)


def test_a_stream_of_new_words_reads_the_vectors_once(
    names: Path, tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("ada 1 0\n" + "".join(f"new{i} {i} {-i}\n" for i in range(20)), encoding="utf-8")
    train_task(plan(names, tmp_path / "run", model, elmo="none", static=str(vectors), epochs=1))
    items = [["Ada", f"new{i}", f"no{i}"] for i in range(20)]
    together = Task.load(tmp_path / "run").predict(items)
    read: list[str] = []
    mapped = word_index.map_vectors
    word_index._indexed.cache_clear()
    monkeypatch.setattr(word_index, "map_vectors", lambda source: read.append(source) or mapped(source))
    monkeypatch.setattr(static, "read_vectors", lambda *given: read.append("all") or pytest.fail("read again"))
    monkeypatch.setattr(task_module, "WINDOW", 2)
    task = Task.load(tmp_path / "run")
    kept = len(task.place.features.static.table)
    assert task.predict(items) == together
    assert read == [str(vectors)]
    assert len(task.place.features.static.table) == kept + 2, "only the words of one window are kept"
    assert capsys.readouterr().err == ""
    vectors.unlink()
    gone = Task.load(tmp_path / "run")
    assert gone.predict(items) == gone.predict(items)
    (said,) = capsys.readouterr().err.splitlines()
    assert "vectors.txt cannot be read" in said


def test_the_packages_vectors_are_known_by_name(names: Path, tmp_path: Path, model: str) -> None:
    """Nothing large is read for it, and runs of earlier versions go on."""
    about = runs.describe(plan(names, tmp_path / "run", model, elmo="none", static=PACKAGE), None)
    assert (about.vectors, about.inputs.static) == (None, PACKAGE)


def test_a_finished_run_may_go_on_with_more_epochs(finished: tuple[TaskPlan, Finished]) -> None:
    chosen, _result = finished
    longer = replace(chosen, preset=with_values(chosen.preset, {"epochs": 7, "patience": 9}, "a task"))
    assert train_task(longer, resume=True).progress.epoch == 7
    said = list[str]()
    train_task(longer, resume=True, watch=TaskWatch(said=said.append))
    assert any("complete after 7 epochs" in line for line in said)
    assert json.loads((chosen.out / "run.json").read_text(encoding="utf-8"))["training"]["epochs"] == 7


def test_what_has_no_room_in_the_cache_is_told(
    names: Path, tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setenv("POLYSEME_CACHE_GB", "0.000001")
    train_task(plan(names, tmp_path / "run", model, epochs=2), watch=TaskWatch(said=said.append))
    (line,) = (line for line in said if "POLYSEME_CACHE_GB" in line)
    assert line.startswith("100.0% of the tokens did not fit into the cache of 9.99e-07 GB")


def test_the_bilm_reads_where_the_network_is_trained(
    names: Path, tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Opened(Exception):
        pass

    def open_elmo(choices: InputChoices, device: str = "cpu", state: str | None = None) -> None:
        raise Opened(device)

    monkeypatch.setattr(runs, "open_elmo", open_elmo)
    with pytest.raises(Opened, match="cuda"):
        train_task(replace(plan(names, tmp_path / "run", model), device="cuda"))


def test_training_stops_when_dev_gets_no_better(names: Path, tmp_path: Path, model: str) -> None:
    chosen = plan(names, tmp_path / "run", model, elmo="none", epochs=50, patience=2)
    result = train_task(chosen)
    assert result.progress.epoch == result.progress.best_epoch + 2 < 50
    assert result.scores.values["f1"] == result.progress.best


def test_files_without_examples_and_folders_without_runs_are_refused(names: Path, tmp_path: Path, model: str) -> None:
    (names / "dev.txt").write_text("\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"dev.txt"):
        train_task(plan(names, tmp_path / "run", model, elmo="none"))
    with pytest.raises(FormatError, match=r"run.json"):
        Task.load(tmp_path)


@pytest.mark.parametrize("name", ["run.json", "vocabularies.json", "static.json"])
@pytest.mark.parametrize("content", ["{}", "[]", "[1]", '{"version": 1}', "null"])
def test_a_run_that_was_damaged_is_refused(finished: tuple[TaskPlan, Finished], name: str, content: str) -> None:
    (finished[0].out / name).write_text(content, encoding="utf-8")
    with pytest.raises((FormatError, InputError)):
        Task.load(finished[0].out)


def test_text_without_entities_is_scored(names: Path, tmp_path: Path, model: str) -> None:
    for name in ("train.txt", "dev.txt"):
        (names / name).write_text("Ada\tO\nleft\tO\n\nBob\tO\n", encoding="utf-8")
    result = train_task(plan(names, tmp_path / "run", model, elmo="none", epochs=1))
    assert result.scores.values["f1"] == 0
    assert not (tmp_path / "run/confusion.png").exists()


@pytest.mark.parametrize("name", MODULES)
def test_a_name_is_one_choice_in_every_task(name: str) -> None:
    """ "layers" are the biLM's; a network's own are its "depth"."""
    for preset in find_task(name).presets.values():
        parts = [{field.name for field in fields(part)} for part in (preset.network, preset.training, preset.inputs)]
        assert sum(map(len, parts)) == len(set.union(*parts))
        assert with_values(preset, {"layers": "last"}, "a task").inputs.layers == "last"


def test_a_choice_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"colour.*hidden"):
        with_values(find_task("ner").presets["cpu"], {"colour": 1}, "a task")
    with pytest.raises(ConfigError, match="ner"):
        find_task("parsing")


@pytest.mark.parametrize(
    ("name", "value"),
    [("hidden", 0), ("depth", -1), ("dropout", 2.0), ("dropout", float("nan")), ("halve_after", -1), ("batch", 0)],
)
def test_a_choice_that_makes_no_sense_is_refused(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"{name} is {value}, but should be"):
        with_values(find_task("ner").presets["cpu"], {name: value}, "a task")


@pytest.mark.parametrize("name", ["rate", "clip", "weight_decay"])
@pytest.mark.parametrize("value", [float("inf"), float("nan"), -1.0])
def test_rates_are_finite(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"training.{name} is {value}, but should be a number"):
        with_values(find_task("ner").presets["cpu"], {name: value}, "a task")


def test_a_seed_has_bounds(names: Path, tmp_path: Path, model: str) -> None:
    with pytest.raises(ConfigError, match="seed"):
        replace(plan(names, tmp_path, model), seed=10**17)


def test_every_example_once_an_epoch_and_neighbours_of_the_same_length() -> None:
    sizes = [(7 * i) % 23 for i in range(300)]
    first, again, other = (batches_of_epoch(sizes, 8, 0, epoch) for epoch in (0, 0, 1))
    assert first == again != other
    assert sorted(row for rows in first for row in rows) == list(range(300))
    assert sum(max(sizes[r] for r in rows) - min(sizes[r] for r in rows) for rows in first) / len(first) < 3


def test_a_look_at_dev_is_spread_over_it() -> None:
    assert spread(range(10), 0) == spread(range(10), 10) == spread(range(10), 99) == range(10)
    assert spread(range(10), 4) == [0, 2, 5, 7]


def test_a_share_is_the_same_for_every_seed() -> None:
    assert take_share(list(range(10)), 0.3) == take_share(list(range(10)), 0.3)
    assert len(take_share(list(range(10)), 0.3)) == 3
    assert take_share([1, 2], 1.0) == [1, 2]


@signals
@pytest.mark.slow
def test_ctrl_c_saves_the_step(names: Path, tmp_path: Path, model: str) -> None:
    script = (
        "import sys, os, signal\nfrom pathlib import Path\n"
        "from test_run import plan, train_task, TaskWatch\n"
        "def stepped(progress, batches):\n    if progress.step == 5: os.kill(os.getpid(), signal.SIGINT)\n"
        "train_task(plan(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]), watch=TaskWatch(stepped=stepped))\n"
    )
    command = [sys.executable, "-c", script, str(names), str(tmp_path / "run"), model]
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=paths)
    assert done.stderr.rstrip().endswith("Stopped")
    assert (tmp_path / "run" / "last.safetensors").exists()
    assert train_task(plan(names, tmp_path / "run", model), resume=True).progress.epoch == 6
    assert runs.LAST == "last.safetensors"


def hyphenated(text: str) -> list[Sentence]:
    spans = [match.span() for match in re.finditer(r"[^-]+", text)]
    return [Sentence([text[start:end] for start, end in spans], spans)]


def test_text_may_be_split_by_a_function_that_is_given_again(names: Path, tmp_path: Path, model: str) -> None:
    chosen = replace(plan(names, tmp_path / "run", model, epochs=1), lang=hyphenated)
    train_task(chosen)
    assert Task.load(chosen.out, lang=hyphenated).predict("Eve-left-Lima")[0]["sentences"][0]["tokens"] == [
        "Eve",
        "left",
        "Lima",
    ]
    with pytest.raises(ConfigError, match=r"split by the function .*:hyphenated here, .*; pass it as lang"):
        Task.load(chosen.out).predict("Eve-left-Lima")


def test_trained_vectors_are_a_part_of_the_run(names: Path, tmp_path: Path, model: str) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("likes 1 0 0\nleft 0 1 0\n", encoding="utf-8")
    changes = {"elmo": "none", "static": str(vectors), "epochs": 2}
    finished = train_task(plan(names, tmp_path / "run", model, **changes, word_vectors="trained"))
    task = Task.load(tmp_path / "run")
    assert "likes" in task.place.features.words.words
    assert task.evaluate(find_data(names).dev).values == finished.scores.values
    frozen = train_task(plan(names, tmp_path / "frozen", model, **changes))
    assert frozen.progress.history[0]["loss"] != finished.progress.history[0]["loss"]


@pytest.mark.parametrize(("lang", "vectors", "tuning"), [("en", PACKAGE, "frozen"), ("ko", "none", "trained")])
def test_english_vectors_are_for_english(
    names: Path, tmp_path: Path, model: str, lang: str, vectors: str, tuning: str
) -> None:
    chosen = replace(plan(names, tmp_path / "run", model, elmo="none", static="auto", epochs=1), lang=lang)
    inputs = runs.describe(chosen, None).inputs
    assert (inputs.static, inputs.word_vectors) == (vectors, tuning)
    if lang == "ko":
        said: list[str] = []
        train_task(chosen, watch=TaskWatch(said=said.append))
        assert any("GloVe is for English" in line for line in said)


def test_vectors_of_another_language_are_told(names: Path, tmp_path: Path, model: str) -> None:
    vectors, said = tmp_path / "vectors.txt", list[str]()
    vectors.write_text("고양이 1 0 0\n개 0 1 0\n", encoding="utf-8")
    chosen = plan(names, tmp_path / "run", model, elmo="none", static=str(vectors), epochs=1)
    train_task(chosen, watch=TaskWatch(said=said.append))
    assert any(line.startswith("only 0% of the tokens have a vector") for line in said)
