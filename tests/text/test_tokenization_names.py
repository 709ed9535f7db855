"""lang is a name that polyseme knows, however it is written; any other is refused with the list."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.refusals import refused
from helpers.tiny_models import tiny_elmo
from polyseme.elmo import Elmo
from polyseme.formats.releases.known import known_releases
from polyseme.pretrain.corpus.preparation import prepare
from polyseme.text.tokenization import BUILT_IN, known_language


@pytest.mark.parametrize(
    ("written", "known"),
    [
        ("zh-CN", "zh"),
        ("ZH", "zh"),
        ("zh_Hant_TW", "zh"),
        ("ko_KR", "ko"),
        ("KO-eojeol", "ko-eojeol"),
        ("en-GB", "en"),
        ("pt_BR", "pt"),
        ("grc", "grc"),
        (" de ", "de"),
        *((name, name) for name in sorted(BUILT_IN)),
    ],
)
def test_ways_to_write_a_language(written: str, known: str) -> None:
    assert known_language(written) == known


@pytest.mark.parametrize("name", ["klingon", "xx", "", "english", "zhong", "*"])
def test_any_other_name_is_refused_with_the_list(name: str) -> None:
    with refused("should be one of any, en, ko, ko-eojeol, protein, whitespace, zh, or the code of another language"):
        known_language(name)


def test_every_language_of_a_release_is_known() -> None:
    for release in known_releases():
        for language in release.card().get("languages") or []:
            assert known_language(language) == language


def test_where_text_is_split_the_name_is_checked(tmp_path: Path) -> None:
    stored = tiny_elmo().stored
    assert Elmo(stored, lang="zh-CN").lang == "zh"
    with refused("lang is 'klingon'"):
        Elmo(stored, lang="klingon")
    (tmp_path / "text.txt").write_text("a b\n")
    with refused("lang is 'klingon'"):
        prepare([tmp_path / "text.txt"], tmp_path / "corpus", lang="klingon")
    assert not (tmp_path / "corpus").exists()
