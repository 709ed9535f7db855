"""The picture of the demo has a glyph for everything it says, and says what it needs."""

from __future__ import annotations

import struct
import sys
import warnings
from pathlib import Path

import pytest

from helpers.demo_lines import SOME_WORDS, lines_with
from helpers.tiny_models import tiny_elmo
from polyseme.demo.picture import FAMILY, FONT, drawn_characters, save_picture
from polyseme.demo.study import Study, index_text, study
from polyseme.errors import MissingExtra

pytest.importorskip("matplotlib", reason="matplotlib is in an extra")


def studies(lang: str) -> list[Study]:
    index = index_text(tiny_elmo(lang=lang), lines_with(lang), "text")
    return [study(index, lang, word) for word in SOME_WORDS[lang]]


def test_the_font_has_every_character_and_its_licence_beside_it() -> None:
    from matplotlib.ft2font import FT2Font

    font = FT2Font(str(FONT))
    assert font.family_name == FAMILY
    assert {ord(character) for character in drawn_characters()} <= font.get_charmap().keys()
    assert FONT.stat().st_size < 400_000
    licence = FONT.with_name("OFL.txt").read_text(encoding="utf-8")
    assert "SIL OPEN FONT LICENSE Version 1.1" in licence
    assert "Adobe" in licence


def a_missing_glyph_is_an_error() -> None:
    """Only that: an older matplotlib makes newer packages warn of other things."""
    warnings.filterwarnings("error", message="Glyph .* missing from font")


@pytest.mark.parametrize("lang", SOME_WORDS)
def test_a_picture_is_drawn_without_a_missing_glyph(lang: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        a_missing_glyph_is_an_error()
        save_picture(studies(lang), tmp_path / "senses.png", title="Ambiguous words")
    (file,) = tmp_path.iterdir()
    begin = file.read_bytes()[:24]
    assert begin.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", begin[16:])
    assert width > 1200 and height > 800


def test_a_missing_glyph_would_be_seen(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        a_missing_glyph_is_an_error()
        with pytest.raises(UserWarning, match="missing from font"):
            save_picture(studies("ko"), tmp_path / "senses.png", title="龘")
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"polyseme\[plots\]"):
        save_picture([], tmp_path / "senses.png", title="")
    assert not list(tmp_path.iterdir())
