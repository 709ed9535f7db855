"""The server answers a request for vectors, and shows its page."""

import json
import subprocess
import sys
from urllib.request import Request, urlopen

run = [sys.executable, "-m", "polyseme", "serve", "--port", "0", "--quiet"]
with subprocess.Popen(run, stdout=subprocess.PIPE, text=True) as server:
    assert server.stdout is not None
    try:
        address = server.stdout.readline().split()[-1].rstrip("/")
        asked = json.dumps({"texts": ["Here is your present."]}).encode()
        with urlopen(Request(f"{address}/encode", asked, {"Content-Type": "application/json"})) as answer:
            assert "present" in json.dumps(json.load(answer))
        with urlopen(f"{address}/") as page:
            assert "<html" in page.read().decode()
    finally:
        server.terminate()
