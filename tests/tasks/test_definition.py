"""Tasks by name: our own, and those of other packages."""

from __future__ import annotations

import pytest

from helpers.packages import Install
from polyseme.errors import ConfigError, PluginError
from polyseme.tasks import find_task, task_names

#: A task that is one of ours under another name.
RENAMED = """
from polyseme.tasks.sst.task import Sst

class Mood(Sst):
    name = "mood"

TASK = Mood()
"""
TASKS = "polyseme.tasks"


def test_a_package_adds_a_task(install: Install) -> None:
    install("polyseme-mood", {"polyseme_mood": RENAMED}, {TASKS: {"mood": "polyseme_mood:TASK"}})
    assert find_task("mood").name == "mood"
    assert task_names()[-1] == "mood"
    with pytest.raises(
        ConfigError, match=r"there is no task 'moods' to train; there are: ner, .*coref, text, pairs, mood$"
    ):
        find_task("moods")


def test_a_package_cannot_take_the_name_of_a_task_of_ours(install: Install) -> None:
    install("polyseme-mood", {"polyseme_mood": RENAMED}, {TASKS: {"sst": "polyseme_mood:TASK"}})
    assert find_task("sst").name == "sst"
    assert task_names().count("sst") == 1


@pytest.mark.parametrize(
    ("where", "reason"),
    [("Mood", "it is of type ABCMeta, not a Definition"), ("OTHER", r"the task calls itself 'sst'")],
)
def test_what_is_no_task_of_that_name_is_refused(install: Install, where: str, reason: str) -> None:
    source = RENAMED + "\nOTHER = Sst()\n"
    install("polyseme-mood", {"polyseme_mood": source}, {TASKS: {"mood": f"polyseme_mood:{where}"}})
    with pytest.raises(PluginError, match=rf"the task 'mood' of the package polyseme-mood 1\.0 .*\({reason}\)"):
        find_task("mood")
