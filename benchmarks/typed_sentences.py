"""The model in a static site's page compared with Python's: bytes, tokens, vectors, speed, groups; → docs/serve.md.

python benchmarks/typed_sentences.py [--only ko] [--lines 60]      → results/typed_sentences.json

For each bundled model, lines of the bundled text are split and read in Chromium, and labelled sentences of words in the
text are assigned to groups twice: with substitutes, like a server, and without, like the page.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

from pages import fill_in, table
from polyseme.elmo import Elmo
from polyseme.encoding import add_directions, unit
from polyseme.formats.releases.known import bundled_models
from polyseme.index.vector_index import Index
from polyseme.jobs.atomic import replace_when_complete
from polyseme.lm.places import find_place
from polyseme.senses.labelled import read_senses
from polyseme.senses.sense import lexicon_or_none
from polyseme.senses.sense_map import SenseMap, map_occurrences
from polyseme.senses.shipped import shipped_text
from polyseme.senses.uses import Uses, read_uses
from polyseme.serve.questions import nearest_group
from polyseme.serve.served import ServedModel
from polyseme.serve.site import write_model_files
from polyseme.serve.site_vectors import group_means
from polyseme.text.tokenization import language_code

RESULTS = Path(__file__).parent / "results" / "typed_sentences.json"
WORDS, FEWEST = 20, 8  # labelled words, and occurrences of each

ASK = """async ([lang, verb, items]) => {
  const { askModel } = await import("./reader.js");
  const model = { address: new URL(`data/${lang}/`, location).href, bytes: 1 };
  await askModel(model, verb, items[0]);
  const began = performance.now();
  const found = [];
  for (const item of items) found.push(await askModel(model, verb, item));
  const seconds = (performance.now() - began) / 1000;
  return JSON.stringify([seconds, found], (_, value) => (value instanceof Float32Array ? Array.from(value) : value));
}"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


def measure_page(elmo: Elmo, name: str, lines: list[str], browser: Any, folder: Path) -> dict[str, Any]:
    """What the model in the page computes for the lines, compared with Python."""
    fetched = write_model_files(folder, ServedModel(name, elmo, name))
    (folder / "index.html").write_text("<title>typed sentences</title>", encoding="utf-8")
    for part in resources.files("polyseme.serve").joinpath("static_page").iterdir():
        (folder / part.name).write_bytes(part.read_bytes())
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = browser.new_page()
    page.goto(f"http://127.0.0.1:{server.server_port}/")
    expected = [elmo.split(line) for line in lines]
    _, split = json.loads(page.evaluate(ASK, [name, "split", lines]))
    pairs = zip(split, expected, strict=True)
    same = [[one["tokens"] for one in got] == [one.tokens for one in want] for got, want in pairs]
    sentences = [one.tokens for found in expected for one in found]
    seconds, layers = json.loads(page.evaluate(ASK, [name, "read", sentences]))
    page.close()
    server.shutdown()
    python = elmo.encode_tokens(sentences)
    cosines = np.concatenate([_cosines(a.layers, b) for a, b in zip(python, layers, strict=True)])
    tokens = sum(map(len, sentences))
    return {
        "bytes": fetched, "lines": len(lines), "lines_split_alike": sum(same), "tokens": tokens,
        "lowest_cosine": float(cosines.min()), "mean_cosine": float(cosines.mean()),
        "ms_per_token": 1000 * seconds / tokens,
    }  # fmt: skip


def _cosines(layers: Any, found: list[list[float]]) -> Any:
    """Cosines of every token in every layer; ``found`` also has boundaries."""
    here = np.array(found, np.float32).reshape(len(found), layers.shape[1] + 2, -1)[:, 1:-1]
    return ((unit(layers) * unit(here)).sum(axis=-1)).reshape(-1)


def measure_groups(elmo: Elmo, text: list[str]) -> dict[str, int]:
    """How many labelled sentences get the same group with and without substitutes."""
    index, alike, count = Index.in_memory(elmo, text), 0, 0
    words = [word for word in read_senses(lang=language_code(elmo.lang)) if index.count(word.word) >= FEWEST]
    for word in words[:WORDS]:
        found = map_occurrences(elmo, word.word, index.occurrences(word.word))
        if len(found.groups) < 2:
            continue
        uses = read_uses(elmo, [find_place(elmo, sentence) for sentence in word.sentences], lexicon_or_none(elmo))
        for number in range(len(uses)):
            use = uses[number : number + 1]
            served = nearest_group(found, use.similarities(found.uses, "sense")[0])
            alike += served == group_in_page(found, use)
            count += 1
    return {"grouped": count, "grouped_alike": alike}


def group_in_page(found: SenseMap, use: Uses) -> int:
    """The group as static_page/typed.js computes it."""
    directions = [unit(add_directions(one, use.directions))[0] for one in (use.place, use.sentence)]
    means = [group_means(found, one) for one in (found.uses.place, found.uses.sentence)]
    return int(sum(mean @ one for mean, one in zip(means, directions, strict=True)).argmax())


def write_table(found: dict[str, dict[str, Any]]) -> None:
    head = ["model", "fetched", "lines split alike", "lowest cosine", "mean", "groups alike"]
    rows = [
        [
            name, f"{one['bytes'] / 1e6:.1f} MB", f"{one['lines_split_alike']} of {one['lines']}",
            f"{one['lowest_cosine']:.5f}", f"{one['mean_cosine']:.5f}",
            f"{one['grouped_alike']} of {one['grouped']}",
        ]
        for name, one in found.items()
    ]  # fmt: skip
    said = (
        "The page in Chromium beside Python: lines of the shipped text, cosines of every token in every layer, groups "
        "of labelled sentences beside those of a server (`python benchmarks/typed_sentences.py`)."
    )
    fill_in("serve.md", "typed", f"{said}\n\n{table(head, rows)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="one bundled model; the others keep their figures")
    parser.add_argument("--lines", type=int, default=60)
    options = parser.parse_args()
    browser_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for name in [options.only] if options.only else bundled_models():
            elmo = Elmo.from_pretrained(name, device="cpu")
            shipped = shipped_text(elmo.lang)
            assert shipped is not None
            text = shipped.read_text(encoding="utf-8").splitlines()
            with tempfile.TemporaryDirectory() as folder:
                found[name] = measure_page(elmo, name, text[: options.lines], browser, Path(folder))
            found[name] |= measure_groups(elmo, text)
            print(name, json.dumps(found[name]), flush=True)
        browser.close()
    with replace_when_complete(RESULTS) as file:
        file.write((json.dumps(found, indent=1) + "\n").encode())
    write_table(found)


if __name__ == "__main__":
    main()
