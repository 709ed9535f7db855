"""Tables on a terminal show every letter of a text, however wide the letters and the terminal are."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.text import Text

from polyseme.cli.printing import new_table
from polyseme.cli.tag_output import print_sentences

KOREAN = "선비는 과거를 보러 한양으로 가다가 구렁이에게 감긴 까치를 구했다."


@pytest.mark.parametrize("width", range(24, 80))
def test_no_letter_of_a_korean_sentence_is_lost_where_a_word_has_room(width: int) -> None:
    shown = io.StringIO()
    table = new_table("similarity", "sentence", left=("sentence",))
    table.add_row("0.724", Text(KOREAN))
    Console(file=shown, width=width).print(table)
    _, _, *lines = shown.getvalue().strip("\n ").splitlines()  # below the heading and its rule
    letters = "".join(lines).replace("0.724", "").replace(" ", "")
    assert letters.lstrip("─") == KOREAN.replace(" ", "")


def test_a_bar_is_cropped_and_never_broken_into_two_lines() -> None:
    shown = io.StringIO()
    table = new_table("word", "", left=("word",), bars=("",))
    table.add_row("bank", "█" * 30)
    Console(file=shown, width=20).print(table)
    assert sum("█" in line for line in shown.getvalue().splitlines()) == 1


def test_a_long_line_of_roles_is_indented_as_a_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    roles = [{"role": "ARG1", "text": "a very long argument of the verb that goes on and on"}]
    sentence = {"tokens": [], "offsets": [], "frames": [{"word": "say", "roles": roles}]}
    print_sentences([{"text": "", "sentences": [sentence]}])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert len(lines) > 1 and all(line.startswith("  ") for line in lines)
