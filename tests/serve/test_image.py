"""The container image: built, started, healthy, and run by a user without rights. Needs docker, and takes minutes."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from urllib.request import Request, urlopen

import pytest

from helpers.paths import ROOT

pytestmark = pytest.mark.slow


def docker(*arguments: str, timeout: int = 1800) -> str:
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True, check=True, timeout=timeout, cwd=ROOT)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def image() -> str:
    if shutil.which("docker") is None or subprocess.run(["docker", "info"], capture_output=True).returncode:
        pytest.skip("there is no docker that runs on this machine")
    docker("build", "--tag", "polyseme-test", ".")
    return "polyseme-test"


def test_the_image_answers_and_is_not_root(image: str) -> None:
    name = docker("run", "--detach", "--publish", "127.0.0.1::8000", "--env", "POLYSEME_TOKEN=open sesame", image)
    try:
        assert docker("exec", name, "id", "-u") == "10001"
        address = f"http://{docker('port', name, '8000/tcp').splitlines()[0]}"
        deadline = time.monotonic() + 120
        while docker("inspect", "--format", "{{.State.Health.Status}}", name) != "healthy":
            assert time.monotonic() < deadline
            time.sleep(2)
        headers = {"Content-Type": "application/json", "Authorization": "Bearer open sesame"}
        with urlopen(Request(f"{address}/embed", json.dumps({"inputs": "a"}).encode(), headers)) as answer:
            assert len(json.load(answer)) == 1
    finally:
        docker("rm", "--force", name)
