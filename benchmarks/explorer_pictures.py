"""Pictures of the explorer page for the documentation, taken with the Chromium of this machine.

python benchmarks/explorer_pictures.py [--model MODEL ...] [--out DIR]      → explorer-*.png
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import urlopen

from playwright.sync_api import sync_playwright

DOCS = Path(__file__).parents[1] / "docs"

BANK = {"text": "They fished from the bank of the river.", "word": 4, "second": "She put her money in the bank."}

SUBSTITUTES, LEGEND = "section[aria-labelledby='substitutes-title']", "#legend"

#: name: (language, width, colours, the part of the page that is the last in the picture, state of the page)
PICTURES = {
    "light": ("en", 1280, "light", SUBSTITUTES, {**BANK, "layer": "mix"}),
    "layer-0": ("en", 1280, "light", SUBSTITUTES, {**BANK, "layer": 0}),
    "dark": ("en", 1280, "dark", SUBSTITUTES, {"text": "Here is your birthday present.", "word": 4, "layer": 2}),
    "narrow": ("en", 400, "light", LEGEND, {"text": "He lit the fire with a match.", "word": 6, "layer": "mix"}),
    "ko": ("ko", 1280, "light", SUBSTITUTES, {"text": "동생은 사과를 두 개나 먹었다.", "word": 1, "layer": 2}),
    "zh": ("zh", 1280, "light", SUBSTITUTES, {"text": "院子里的花很香。", "word": 3, "layer": "mix"}),
}
HEIGHT = 1500


def wait_for_indexes(address: str) -> list[dict[str, str]]:
    """The models of the server, when their indexes are there."""
    while True:
        with urlopen(f"{address}/models") as answer:
            models = json.load(answer)["models"]
        if all(model["index"]["state"] != "building" for model in models):
            return models
        time.sleep(0.5)


def take_pictures(address: str, browser: str, out: Path) -> None:
    by_language = {model["lang"]: model["name"] for model in reversed(wait_for_indexes(address))}
    with sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for name, (lang, width, colours, last, state) in PICTURES.items():
            if lang not in by_language:
                print(f"explorer-{name}.png is left out: no model of {lang}", file=sys.stderr)
                continue
            page = chromium.new_page(viewport={"width": width, "height": HEIGHT}, color_scheme=colours)
            page.goto(f"{address}/#{urlencode({'model': by_language[lang], **state})}")
            page.wait_for_timeout(500)
            page.wait_for_selector("body[data-running='0']", timeout=120_000)
            page.wait_for_timeout(1500)  # the marks glide
            end = page.locator(last).evaluate("part => part.getBoundingClientRect().bottom + window.scrollY")
            clip = {"x": 0, "y": 0, "width": width, "height": end}
            page.screenshot(path=out / f"explorer-{name}.png", full_page=True, clip=clip)
            page.close()
        chromium.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", action="append", default=[], help="what polyseme serve takes; all bundled ones")
    parser.add_argument("--out", type=Path, default=DOCS)
    options = parser.parse_args()
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        raise SystemExit("there is no Chromium on this machine")
    models = [word for model in options.model for word in ("--model", model)]
    command = [sys.executable, "-m", "polyseme", "serve", *models, "--port", "0", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        if not re.fullmatch(r"http://.*:\d+", address):
            raise SystemExit("the server did not start")
        take_pictures(address, browser, options.out)
    finally:
        process.terminate()
        process.wait(timeout=60)


if __name__ == "__main__":
    main()
