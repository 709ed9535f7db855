"""The explorer in the documentation, in one command: pictures, and how fast the page loads → docs/serve.md.

python benchmarks/explorer_pictures.py [--model MODEL ...] [--out DIR] [--pictures]      → explorer-*.png

Pictures are taken with the installed Chromium; with --pictures nothing else is done. first_paint.py says how the
figures are measured. The page opens with the examples that explorer_examples.py chose for the bundled models: run that
first for a new model.
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
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

from playwright.sync_api import sync_playwright

import first_paint
from pages import fill_in, table

DOCS = Path(__file__).parents[1] / "docs"

SUBSTITUTES, LEGEND = "section[aria-labelledby='substitutes-title']", "#legend"

#: name: (language, width, colours, the part of the page that is the last in the picture, state of the page); without a
#: text the page opens with the first example of its language
PICTURES = {
    "light": ("en", 1280, "light", SUBSTITUTES, {}),
    "layer-0": ("en", 1280, "light", SUBSTITUTES, {"layer": 0}),
    "dark": ("en", 1280, "dark", SUBSTITUTES, {"layer": "mix"}),
    "narrow": ("en", 400, "light", LEGEND, {}),
    "ko": ("ko", 1280, "light", SUBSTITUTES, {}),
    "zh": ("zh", 1280, "light", SUBSTITUTES, {}),
}
HEIGHT = 1500


def wait_for_indexes(address: str) -> list[dict[str, str]]:
    """The models of the server, once their indexes are ready."""
    while True:
        with urlopen(f"{address}/models") as answer:
            models = json.load(answer)["models"]
        if all(model["index"]["state"] != "building" for model in models):
            return models
        time.sleep(0.5)


def take_pictures(address: str, chromium: Any, out: Path) -> None:
    by_language = {model["lang"]: model["name"] for model in reversed(wait_for_indexes(address))}
    for name, (lang, width, colours, last, state) in PICTURES.items():
        if lang not in by_language:
            print(f"explorer-{name}.png is left out: no model of {lang}", file=sys.stderr)
            continue
        page = chromium.new_page(
            viewport={"width": width, "height": HEIGHT}, color_scheme=colours, reduced_motion="reduce"
        )
        page.goto(f"{address}/#{urlencode({'model': by_language[lang], **state})}")
        page.wait_for_selector("#map svg", timeout=120_000)
        page.wait_for_selector("body[data-running='0']", timeout=120_000)
        page.wait_for_timeout(500)
        end = page.locator(last).evaluate("part => part.getBoundingClientRect().bottom + window.scrollY")
        clip = {"x": 0, "y": 0, "width": width, "height": end}
        page.screenshot(path=out / f"explorer-{name}.png", full_page=True, clip=clip)
        page.close()


def write_table(paint: dict[str, dict[str, float]]) -> None:
    """The figures as docs/serve.md shows them."""
    visits = [
        [
            f"{width} pixels", f"{one['first_paint_ms']:.0f} ms", f"{one['map_ms']:.0f} ms",
            f"{one['bytes'] / 1000:.0f} kB", f"{one['requests']:.0f}",
        ]
        for width, one in paint.items()
    ]  # fmt: skip
    fill_in("serve.md", "explorer", table(["a fresh visit", "first paint", "map", "sent", "requests"], visits))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="append", default=[], help="as for polyseme serve; by default, all bundled")
    parser.add_argument("--out", type=Path, default=DOCS)
    parser.add_argument("--pictures", action="store_true", help="only take pictures")
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
        with sync_playwright() as started:
            chromium = started.chromium.launch(executable_path=browser, args=["--no-sandbox"])
            take_pictures(address, chromium, options.out)
            if not options.pictures:
                write_table(first_paint.measure(chromium, f"{address}/"))
            chromium.close()
    finally:
        process.terminate()
        process.wait(timeout=60)


if __name__ == "__main__":
    main()
