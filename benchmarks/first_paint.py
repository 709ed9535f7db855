"""How long the explorer takes to appear: first paint, the map, and bytes; → results/first_paint.json.

    polyseme serve --port 8000 &
    python benchmarks/first_paint.py http://127.0.0.1:8000/

Medians of several fresh visits (no cache), at 1280 × 800 and at 400 × 800, in the installed Chromium.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import sync_playwright

from polyseme.jobs.atomic import replace_when_complete

RESULTS = Path(__file__).parent / "results" / "first_paint.json"
VISITS = 5
WIDTHS = (1280, 400)


def visit(browser: Any, address: str, width: int) -> dict[str, float]:
    """One visit: milliseconds from the start of navigation, and what was sent."""
    context = browser.new_context(viewport={"width": width, "height": 800}, reduced_motion="reduce")
    page = context.new_page()
    sizes: list[int] = []
    page.on("requestfinished", lambda request: sizes.append(request.sizes()["responseBodySize"]))
    page.goto(address)
    page.wait_for_selector("#map svg", timeout=120_000)
    shown = page.evaluate("performance.now()")
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    page.wait_for_selector("body[data-running='0']", timeout=120_000)
    context.close()
    return {"first_paint_ms": paint, "map_ms": shown, "bytes": sum(sizes), "requests": len(sizes)}


def measure(browser: Any, address: str) -> dict[str, dict[str, float]]:
    """By width; written beside the other results."""
    visit(browser, address, 1280)  # the first map of a word is computed, later ones are cached
    found = {}
    for width in WIDTHS:
        visits = [visit(browser, address, width) for _ in range(VISITS)]
        found[str(width)] = {name: round(median(one[name] for one in visits), 1) for name in visits[0]}
    with replace_when_complete(RESULTS) as file:
        file.write((json.dumps(found, indent=1) + "\n").encode())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address", help="a server whose indexes are ready, or a static site")
    address = parser.parse_args().address
    browser_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        print(json.dumps(measure(browser, address), indent=1))
        browser.close()


if __name__ == "__main__":
    main()
