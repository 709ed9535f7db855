"""A biLM reads a task's own text before the task is trained."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.small_lms import small_lm
from helpers.toy_names import write_names
from polyseme.elmo import Elmo
from polyseme.formats.native import save_native
from polyseme.reproduce.adapted import adapt_bilm
from polyseme.tasks.data_files import find_data


@pytest.mark.slow
def test_the_dev_text_becomes_likelier(tmp_path: Path) -> None:
    data = find_data(write_names(tmp_path / "names"))
    save_native(small_lm(), tmp_path / "model")
    found = adapt_bilm("ner", data, str(tmp_path / "model"), tmp_path / "bilm", passes=30)
    assert found.after < found.before
    assert (
        Elmo.from_pretrained(str(found.model)).fingerprint != Elmo.from_pretrained(str(tmp_path / "model")).fingerprint
    )
    again = adapt_bilm("ner", data, str(tmp_path / "model"), tmp_path / "bilm", passes=30)
    assert again == found, "what is done is only read"
