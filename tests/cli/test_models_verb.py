"""polyseme models and polyseme pull: what there is, here and in the world."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.command_line import polyseme, refusal
from helpers.faulty_server import Served, serving
from helpers.release_files import list_releases, zipped
from helpers.small_models import small_model
from polyseme.cli.app import help_and_examples
from polyseme.cli.pull import pull
from polyseme.formats.bilm_tf import save_bilm_tf


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POLYSEME_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def published(home: Path, tmp_path: Path) -> Iterator[str]:
    """The address of a server with a small model, which the user's own file of releases calls "tiny" and "small"."""
    save_bilm_tf(small_model(), tmp_path / "model")
    content = zipped({path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()})
    with serving({"/tiny.zip": Served(content)}) as (address, _):
        sources = [{"tiny.zip": f"{address}/tiny.zip"}]
        tiny = {"name": "tiny", "title": "a tiny model", "languages": ["is"], "licence": "CC0", "sources": sources}
        url = "https://example.org/elmo_weights.hdf5"
        list_releases(home, tiny, {"name": "small", "aliases": [url], "state": "warm", "sources": sources})
        yield address


def lines(*arguments: str) -> list[list[str]]:
    return [line.split("\t") for line in polyseme("models", *arguments).stdout.splitlines()]


@pytest.mark.usefixtures("home")
def test_all_models_are_listed_the_bundled_first() -> None:
    head, *rows = lines()
    assert head == ["name", "here", "languages", "bytes", "licence", "container", "host", "title"]
    assert [(row[0], row[1]) for row in rows[:4]] == [
        *((lang, "bundled") for lang in ("en", "ko", "zh")),
        ("original", "known"),
    ]
    assert len(rows) == 95
    assert {row[1] for row in rows} == {"bundled", "known", "by hand", "dead", "refused"}


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("german", ["de-tsystems", "nlpl:201", "manylangs:de"]),
        ("Norwegian", ["nlpl:210", "nlpl:211", "nlpl:217", "nlpl:218", "manylangs:nb", "manylangs:nn"]),
        ("5.5B", ["original-5.5b"]),
        ("seqvec", ["seqvec"]),
        ("is", []),
    ],
)
def test_a_word_is_looked_for_in_names_titles_and_languages(word: str, names: list[str]) -> None:
    if not names:
        assert f"no model has {word!r} in its name" in refusal("models", word)
        return
    assert [row[0] for row in lines(word)[1:]] == names


@pytest.mark.usefixtures("home")
def test_json_has_all_that_is_known() -> None:
    (seqvec,) = json.loads(polyseme("models", "seqvec", "--json").stdout)
    assert (seqvec["mix"], seqvec["state"], seqvec["licence"]) == ("sum", "warm", "MIT (of its repository)")
    assert len(seqvec["sources"]) == 3
    assert json.loads(polyseme("models", "no-such-thing", "--json").stdout) == []


@pytest.mark.usefixtures("published")
def test_a_model_is_pulled_listed_used_and_removed(home: Path, tmp_path: Path) -> None:
    done = polyseme("pull", "tiny")
    folder = Path(done.stdout.strip())
    assert folder == home / "releases" / "tiny" / "model"
    said = done.stderr.splitlines()
    assert said[0] == "polyseme: tiny: its licence: CC0"
    assert re.fullmatch(r"polyseme: downloading tiny: tiny.zip, [\d.]+ (bytes|KB), from 127\.0\.0\.1:\d+", said[1])
    assert polyseme("pull", "tiny", "--quiet").stderr == ""
    assert lines("tiny")[1][:4] == ["tiny", "downloaded", "is", str(sum(p.stat().st_size for p in folder.iterdir()))]
    facts = json.loads(polyseme("info", "tiny", "--json").stdout)
    assert (facts["name"], facts["licence"], facts["fingerprint"]) == ("tiny", "CC0", small_model().fingerprint())
    (tmp_path / "text.txt").write_text("ein Satz\n", encoding="utf-8")
    polyseme("embed", str(tmp_path / "text.txt"), "--model", "tiny", "--out", str(tmp_path / "v.h5"), "--quiet")
    assert polyseme("models", "--remove", "tiny").stderr.startswith("removed tiny, ")
    assert not folder.exists()
    assert lines("tiny")[1][1] == "known"
    assert "tiny is not among the downloaded models, so nothing was removed; there are: none" in refusal(
        "models", "--remove", "tiny"
    )


def test_an_address_is_listed_and_removed_too(home: Path, published: str) -> None:
    url = f"{published}/tiny.zip?version=2"
    list_releases(home)
    polyseme("pull", url, "--quiet")
    (row,) = [row for row in lines() if row[0] == url]
    assert row[1] == "downloaded"
    polyseme("models", "--remove", url)
    assert list((home / "releases").glob("*/release.json")) == []


@pytest.mark.usefixtures("published")
def test_again_downloads_what_is_here() -> None:
    polyseme("pull", "tiny", "--quiet")
    assert "downloading" not in polyseme("pull", "tiny").stderr
    assert "downloading tiny" in polyseme("pull", "tiny", "--again").stderr


@pytest.mark.usefixtures("home")
def test_a_model_that_cannot_be_had_is_one_sentence() -> None:
    assert "bioelmo cannot be downloaded automatically" in refusal("pull", "bioelmo")
    assert "polyseme cannot use transformer-elmo" in refusal("info", "transformer-elmo")


@pytest.mark.usefixtures("published")
def test_the_examples_run() -> None:
    for example in re.findall(r"polyseme (.*)", help_and_examples(pull)[1]):
        assert Path(polyseme(*shlex.split(example)).stdout.strip()).is_dir()


@pytest.mark.usefixtures("home")
def test_a_narrow_terminal_shows_where_a_model_is_and_its_title(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyseme.cli.models.on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    head, *rows = polyseme("models").stdout.splitlines()
    assert head.split() == ["name", "lang", "size", "from", "what", "it", "is"]
    assert max(map(len, [head, *rows])) < 80
    assert "bundled" in rows[0]
