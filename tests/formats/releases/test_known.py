"""The releases that are known: the table is sound, and the names that people type from memory find them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from helpers.release_files import list_releases
from polyseme.errors import FormatError
from polyseme.formats.releases.known import BUNDLED, find_file, find_release, known_releases, read_releases
from polyseme.formats.releases.store import folder_name

pytestmark = pytest.mark.usefixtures("home")
S3 = "https://s3-us-west-2.amazonaws.com/allennlp/models/elmo/"


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("original", "original"),
        ("Original", "original"),
        ("5.5B", "original-5.5b"),
        ("large", "original-5.5b"),
        ("small", "small"),
        ("medium", "medium"),
        ("pt", "pt"),
        ("portuguese", "pt"),
        ("pubmed", "pubmed"),
        ("seqvec", "seqvec"),
        ("nlpl:201", "nlpl:201"),
        ("nlpl/201", "nlpl:201"),
        ("nlpl:161", "manylangs:ko"),
        ("11/161", "manylangs:ko"),
        ("manylangs:ko", "manylangs:ko"),
        ("manylangs/ko", "manylangs:ko"),
        ("embeddia:sl", "embeddia:sl"),
        ("https://tfhub.dev/google/elmo/3", "tfhub-elmo-3"),
        ("https://tfhub.dev/google/elmo/3/", "tfhub-elmo-3"),
        (f"{S3}2x4096_512_2048cnn_2xhighway/elmo_2x4096_512_2048cnn_2xhighway_weights.hdf5", "original"),
        (f"{S3}2x4096_512_2048cnn_2xhighway/elmo_2x4096_512_2048cnn_2xhighway_options.json", "original"),
        (
            "https://allennlp.s3.amazonaws.com/models/elmo/2x4096_512_2048cnn_2xhighway_5.5B/"
            "elmo_2x4096_512_2048cnn_2xhighway_5.5B_weights.hdf5",
            "original-5.5b",
        ),
        (f"{S3}contributed/pt/elmo_pt_weights.hdf5", "pt"),
        (
            f"{S3}contributed/pubmed/elmo_2x4096_512_2048cnn_2xhighway_weights_PubMed_only.hdf5",
            "pubmed",
        ),
        ("http://vectors.nlpl.eu/repository/20/217.zip", "nlpl:217"),
        ("https://vectors.nlpl.eu/repository/20/217.zip", "nlpl:217"),
    ],
)
def test_what_people_type_finds_the_release(typed: str, name: str) -> None:
    release = find_release(typed)
    assert release is not None
    assert release.name == name


@pytest.mark.parametrize("typed", ["", "originals", "nlpl", "nlpl:", "owner/name", "https://x.org/x.zip", "../small"])
def test_what_is_no_release(typed: str) -> None:
    assert find_release(typed) is None


def test_no_name_stands_for_two_releases() -> None:
    names = Counter(name.casefold() for one in known_releases() for name in (one.name, *one.aliases))
    assert [name for name, count in names.items() if count > 1] == []
    assert names.keys().isdisjoint(BUNDLED)
    assert len({folder_name(one).casefold() for one in known_releases()}) == len(known_releases())


@pytest.mark.parametrize("release", known_releases(), ids=lambda one: one.name)
def test_every_row_says_what_is_needed(release) -> None:  # type: ignore[no-untyped-def]
    assert release.title and release.languages and release.container
    assert release.state in ("", "warm") and release.mix in ("", "sum")
    ways = [bool(release.sources), bool(release.hub), bool(release.by_hand), bool(release.refused)]
    assert sum(ways) == 1, "it is downloaded, or from a hub, or by hand, or refused"
    for source in release.sources:
        for url in source.values():
            assert urlsplit(url).scheme in ("http", "https") and re.fullmatch(r"[\x21-\x7e]+", url)
    assert not any(word in f"{release.title}{release.notes}{release.seen_in}" for word in ("find_string", "[derived]"))


def test_the_models_that_were_trained_with_carried_state_start_warm() -> None:
    cold = {release.name for release in known_releases() if release.state != "warm"}
    assert cold == {"transformer-elmo", "test-elmo-tiny"}


def test_only_seqvec_is_summed_and_reads_residues() -> None:
    assert [release.name for release in known_releases() if release.mix == "sum"] == ["seqvec"]
    seqvec = find_release("seqvec")
    assert seqvec is not None
    assert seqvec.card()["tokenization"] == "protein"
    assert set(seqvec.warm_text.split()) <= set("ACDEFGHIKLMNPQRSTVWY")


def test_a_file_of_a_release_is_found_by_its_address() -> None:
    found = find_file(f"{S3}2x1024_128_2048cnn_1xhighway/elmo_2x1024_128_2048cnn_1xhighway_options.json")
    assert found is not None
    assert (found[0].name, found[1]) == ("small", "options.json")
    assert find_file("https://example.org/options.json") is None


def test_a_vocabulary_that_several_models_share_names_none_of_them() -> None:
    assert find_release(f"{S3}vocab-2016-09-10.txt") is None


def test_the_users_own_file_comes_first(home: Path) -> None:
    assert find_release("our-elmo") is None
    source = {"model.zip": "http://127.0.0.1/model.zip"}
    list_releases(
        home, {"name": "our-elmo", "languages": ["is"], "sources": [source]}, {"name": "small", "title": "ours"}
    )
    ours = find_release("Our-Elmo")
    assert ours is not None and ours.sources == (source,) and ours.languages == ("is",)
    small = find_release("small")
    assert small is not None and small.title == "ours"
    assert find_release("original") is not None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[[release]\n", "is not valid TOML"),
        ("release = 1\n", r"should begin with \[\[release\]\]"),
        ("[[release]]\ntitle = 'x'\n", "a release has no name"),
        ("[[release]]\nname = 'x'\nstatus = 'dead'\n", "'status' is unknown; there are: name, title"),
        ("[[release]]\nname = 'x'\naliases = 'y'\n", "aliases is 'y', which has the wrong type"),
        ("[[release]]\nname = 'x'\nsources = [{ a = 'ftp://x/a' }]\n", "'ftp://x/a' is not an address"),
        ("[[release]]\nname = 'x'\nsources = [{ '../a' = 'http://x/a' }]\n", "'../a' is not a file name"),
        ("[[release]]\nname = 'x'\nsources = [{}]\n", "a source should be names of files"),
        ("[[release]]\nname = 'x'\nchecksums = { a = 'sha256:12' }\n", "the checksum of a is 'sha256:12'"),
    ],
)
def test_mistakes_in_it_are_one_sentence(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "releases.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=problem) as caught:
        read_releases(path)
    assert "\n" not in str(caught.value) or "TOML" in problem
