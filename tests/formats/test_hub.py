"""Hub ids: downloaded once, then read without a network; refused before the weights of something else are fetched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.hub_server import COMMIT, Repositories, hub
from helpers.small_models import small_model
from polyseme.formats.hub import is_hub_id
from polyseme.formats.native import load_native, save_native

LOAD = "import sys\nfrom polyseme.formats.detect import load\nprint(load(sys.argv[1]).fingerprint())"
PUSH = (
    "import sys\nfrom polyseme.formats.detect import load\nfrom polyseme.formats.hub import push_to_hub\n"
    "print(push_to_hub(load(sys.argv[1]), sys.argv[2]))"
)


def run(script: str, *arguments: str, cache: Path, address: str = "http://127.0.0.1:9", offline: bool = False) -> str:
    """What a new process prints, or the last line of its error; the hub's package reads its settings at import."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    environment |= {"HF_HOME": str(cache), "HF_ENDPOINT": address, "HF_HUB_DISABLE_TELEMETRY": "1"}
    environment |= {"HF_TOKEN": "hf_test", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "OMP_NUM_THREADS": "1"}
    environment |= {"HF_HUB_OFFLINE": "1"} if offline else {}
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        check=False,
    )
    return (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()[-1]


def repository(folder: Path) -> dict[str, bytes]:
    save_native(small_model(), folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_model_is_downloaded_once_and_then_read_offline(tmp_path: Path) -> None:
    files = {**repository(tmp_path / "model"), "training.log": b"not needed"}
    with hub({"owner/tiny": files}) as (address, asked):
        assert run(LOAD, "owner/tiny", cache=tmp_path / "cache", address=address) == small_model().fingerprint()
        assert not any("training.log" in line for line in asked)
    for offline in (True, False):
        assert run(LOAD, "owner/tiny", cache=tmp_path / "cache", offline=offline) == small_model().fingerprint()


def test_a_model_that_is_not_cached_cannot_be_had_offline(tmp_path: Path) -> None:
    message = run(LOAD, "owner/tiny", cache=tmp_path)
    assert message.startswith("polyseme.errors.FormatError: there is no file or folder 'owner/tiny'")
    assert "the hub could not be reached, and owner/tiny is not in the cache" in message


def test_a_model_that_the_hub_does_not_have(tmp_path: Path) -> None:
    with hub({}) as (address, _):
        message = run(LOAD, "owner/none", cache=tmp_path, address=address)
    assert "the hub has no model owner/none" in message


def test_another_kind_of_model_is_refused_before_its_weights_are_fetched(tmp_path: Path) -> None:
    config = json.dumps({"model_type": "bert", "architectures": ["BertModel"]}).encode()
    with hub({"owner/bert": {"config.json": config, "model.safetensors": b"x" * 1000}}) as (address, asked):
        message = run(LOAD, "owner/bert", cache=tmp_path, address=address)
    assert "this is a transformers model, not an ELMo model" in message
    assert not any("safetensors" in line for line in asked)


def test_a_pushed_model_is_the_model(tmp_path: Path) -> None:
    save_native(small_model(softmax=True), tmp_path / "model")
    repositories: Repositories = {}
    with hub(repositories) as (address, _):
        printed = run(PUSH, str(tmp_path / "model"), "owner/new", cache=tmp_path / "cache", address=address)
    assert printed == f"{address}/owner/new/commit/{COMMIT}"
    (tmp_path / "pushed").mkdir()
    for name, content in repositories["owner/new"].items():
        (tmp_path / "pushed" / name).write_bytes(content)
    assert load_native(tmp_path / "pushed").fingerprint() == small_model(softmax=True).fingerprint()
    card = (tmp_path / "pushed" / "README.md").read_text(encoding="utf-8")
    assert 'Elmo.from_pretrained("owner/new")' in card and 'library_name: "polyseme"' in card


def test_pushing_without_a_network_is_one_sentence(tmp_path: Path) -> None:
    save_native(small_model(), tmp_path / "model")
    message = run(PUSH, str(tmp_path / "model"), "owner/new", cache=tmp_path / "cache", offline=True)
    assert message.startswith("polyseme.errors.FormatError: the model could not be pushed to owner/new: ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("owner/name", True),
        ("owner/name@v1.0", True),
        ("Own-er.1/na_me-2", True),
        ("name", False),
        ("a/b/c", False),
        ("../name", False),
        ("./name", False),
        ("owner/..", False),
        ("/name", False),
        ("owner/name@", False),
        ("owner/na me", False),
    ],
)
def test_what_a_hub_id_looks_like(text: str, expected: bool) -> None:
    assert is_hub_id(text) == expected
