"""The description of the API against the server: a fuzzer sends what it allows and what it forbids."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from helpers.running_server import Client

#: Not checked: that all which the description allows is accepted, because it cannot say that a word is in brackets.
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
    "negative_data_rejection,unsupported_method"
)
#: A list that is too long is 413, which the fuzzer does not expect.
CONFIG = """
[checks.negative_data_rejection]
expected-statuses = ["4xx"]
"""


def test_a_fuzzer_finds_nothing(server: Client, tmp_path: Path) -> None:
    fuzzer = shutil.which("schemathesis")
    if fuzzer is None:
        pytest.skip("schemathesis is not installed (pip install schemathesis, in an environment of its own)")
    (tmp_path / "schemathesis.toml").write_text(CONFIG, encoding="utf-8")
    command = [fuzzer, "run", f"{server.address}/openapi.json", "--checks", CHECKS, "--phases", "coverage,fuzzing"]
    done = subprocess.run(
        [*command, "--max-examples", "20", "--seed", "1", "--suppress-health-check", "all"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:]
