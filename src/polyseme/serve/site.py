"""The explorer as a folder of files that any file server can show: some words of each language, recorded.

site/index.html, style.css, *.js          the page, with a backend of its own
site/data/models.json                     what the server says at /models
site/data/en/sentences.json, bank.json    recorded answers
site/data/en/model.json, model.bin        the model, for other sentences; a page fetches it when one is typed
site/data/en/words.json, bank.bin         which words there are, and the vectors of each one's occurrences
site/en/bank/index.html, bank.png         a page and a picture for each word, so that a link shows what it leads to
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import orjson

from polyseme.errors import ConfigError, InputError
from polyseme.export.browser_model import describe_model, pack_model, why_not
from polyseme.jobs.atomic import replace_when_complete
from polyseme.jobs.progress import working
from polyseme.senses.labelled import read_senses
from polyseme.senses.sense_map import SenseMap
from polyseme.senses.sense_picture import save_sense_picture
from polyseme.senses.shipped import DATA
from polyseme.serve.pages import read_pages
from polyseme.serve.recording import Recorder, WordPair, pair_of
from polyseme.serve.served import Models, ServedModel
from polyseme.serve.site_vectors import pack_occurrences, word_weights
from polyseme.text.tokenization import language_code

#: Words of each language.
WORDS = 50
FEWEST = 8  #: occurrences in the index


@dataclass(frozen=True, slots=True)
class SiteWord:
    pair: WordPair
    senses: SenseMap

    @property
    def file(self) -> str:
        """The word, as a part of an address."""
        return re.sub(r"[^\w-]", "_", self.pair.word)


def write_site(models: Models, folder: Path, words: Sequence[str] | None = None, address: str = "") -> int:
    """Write the site, and say how many words it has. ``address``: where it will be, for the pictures of its links."""
    recorder = Recorder(models)
    count = 0
    try:
        _write_page(folder, models, address)
        for model in models:
            chosen = list(choose_words(model, words))
            sentences: dict[str, str] = {}
            readable = why_not(model.elmo) is None
            with working(f"recording {model.name}", total=len(chosen)) as work:
                for one in chosen:
                    answers, leads = recorder.record(model, one.pair)
                    sentences |= dict.fromkeys(leads, one.file)
                    _write(folder / "data" / model.name / f"{one.file}.json", orjson.dumps(answers))
                    if readable:
                        _write(folder / "data" / model.name / f"{one.file}.bin", pack_occurrences(one.senses))
                    _write_word(folder, model, one, address)
                    work.advance(1, note=one.pair.word)
            _write(folder / "data" / model.name / "sentences.json", orjson.dumps(sentences))
            words_in = {one.pair.word: one.file for one in chosen}
            _write(folder / "data" / model.name / "words.json", orjson.dumps(words_in))
            count += len(chosen)
            _write_examples(folder, model, chosen)
        if not count:
            raise InputError(
                "none of these words has two groups of occurrences in an index, so there is nothing to show"
            )
    finally:
        recorder.close()
    return count


def choose_words(model: ServedModel, words: Sequence[str] | None) -> Iterator[SiteWord]:
    """Those that were named, else ambiguous words of the language, those with labelled senses first."""
    labelled = _labelled_pairs(language_code(model.elmo.lang))
    candidates = words if words is not None else [*labelled, *_ambiguous(language_code(model.elmo.lang))]
    most = len(candidates) if words is not None else WORDS
    found = 0
    for word in dict.fromkeys(candidates):
        if found == most:
            return
        if model.needed_index().count(word) < (1 if words is not None else FEWEST):
            continue
        senses = model.sense_map(word)
        pair = labelled.get(word) if words is None else None
        pair = pair or (pair_of(senses) if senses is not None else None)
        if senses is not None and pair is not None:
            found += 1
            yield SiteWord(pair, senses)


def _labelled_pairs(lang: str) -> dict[str, WordPair]:
    """A sentence of each sense, the shortest; none for a language without labelled words."""
    try:
        words = read_senses(lang=lang)
    except InputError:
        return {}
    found = {}
    for word in words:
        both = list(dict.fromkeys(word.senses))[:2]
        of = [[text for text, sense in zip(word.sentences, word.senses, strict=True) if sense == one] for one in both]
        found[word.word] = WordPair(word.word, min(of[0], key=len), min(of[1], key=len))
    return found


def _ambiguous(lang: str) -> list[str]:
    lines = (DATA / "ambiguous.tsv").read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines if line and not line.startswith("#"))
    return [row[1] for row in rows if row[0] == lang]


def _write_page(folder: Path, models: Models, address: str) -> None:
    """The files of the page; its backend is another one."""
    for path, file in read_pages().items():
        if path not in ("/", "/docs", "/examples.js", "/backend.js"):
            _write(folder / path[1:], file.content)
    static = resources.files("polyseme.serve").joinpath("static_page")
    for part in static.iterdir():
        if part.name.endswith(".js"):
            _write(folder / part.name, part.read_bytes())
    said = "ELMo gives every occurrence of a word its own vector. Watch the senses part, layer by layer."
    _write(folder / "index.html", _page(models.default.name, "", said, "", address, "").encode())
    described = [_described(model) | {"reads": write_model_files(folder, model)} for model in models]
    _write(folder / "data" / "models.json", orjson.dumps({"models": described}))
    _write(folder / ".nojekyll", b"")


def write_model_files(folder: Path, model: ServedModel) -> int:
    """How many bytes a page fetches before it reads its first sentence; 0 for a model that no page can read."""
    if why_not(model.elmo) is not None:
        return 0
    described = describe_model(model.elmo) | {"word_weights": word_weights(model.elmo)}
    weights = pack_model(model.elmo)
    _write(folder / "data" / model.name / "model.json", orjson.dumps(described))
    _write(folder / "data" / model.name / "model.bin", weights)
    return len(weights)


def _described(model: ServedModel) -> dict[str, object]:
    """As /models has it, but for the paths of this machine, and for task models, which no page can read."""
    found = model.describe()
    index = found["index"]
    assert isinstance(index, dict)
    return found | {"source": model.name, "tasks": [], "index": index | {"source": None}}


def _write_examples(folder: Path, model: ServedModel, chosen: Iterable[SiteWord]) -> None:
    """The words that the page offers; a file for each model, joined by examples.js."""
    lang = language_code(model.elmo.lang)
    shown = []
    for one in chosen:
        at = one.pair.first.index("[")
        plain = [text.replace("[", "", 1).replace("]", "", 1) for text in (one.pair.first, one.pair.second)]
        shown.append({"word": one.pair.word, "first": plain[0], "at": at, "second": plain[1]})
    path = folder / "examples.js"
    before = _read_examples(path)
    body = json.dumps(before | {lang: shown}, ensure_ascii=False)
    _write(path, f"export const EXAMPLES = {body};\n".encode())


def _read_examples(path: Path) -> dict[str, object]:
    if not path.exists():
        return {}
    found: dict[str, object] = json.loads(path.read_text(encoding="utf-8").partition("=")[2].rstrip().rstrip(";"))
    return found


def _write_word(folder: Path, model: ServedModel, one: SiteWord, address: str) -> None:
    at = folder / model.name / one.file
    names = "; ".join(" · ".join(group.names) for group in one.senses.groups if group.names)
    said = f"{len(one.senses.occurrences)} occurrences in {len(one.senses.groups)} groups: {names}"
    path = f"{model.name}/{one.file}/"
    at.mkdir(parents=True, exist_ok=True)
    _write(at / "index.html", _page(model.name, one.pair.word, said, path, address, "../../").encode())
    save_sense_picture(one.senses, at / f"{one.file}.png")


def _page(model: str, word: str, said: str, path: str, address: str, base: str) -> str:
    """index.html with what links show of it, and the word that it opens with."""
    page = read_pages()["/"].content.decode()
    title = f"“{word}”: one word, many vectors" if word else "ELMo, word by word"
    site = address.rstrip("/") + "/" if address else ""
    picture = (
        f"{site}{path}{path.rstrip('/').rpartition('/')[2]}.png"
        if site
        else f"{path.rstrip('/').rpartition('/')[2]}.png"
    )
    tags = {"og:type": "website", "og:site_name": "polyseme", "og:title": title, "og:description": said}
    if word:
        tags["og:image"] = picture
    if site:
        tags["og:url"] = site + path
    lines = [f'<meta property="{name}" content="{html.escape(value)}">' for name, value in tags.items()]
    lines.append('<meta name="twitter:card" content="summary_large_image">')
    lines.append(f'<meta name="polyseme-start" content="{html.escape(model)}|{html.escape(word)}">')
    page = re.sub(r'<a class="quiet" href="docs".*?</a>', "", page)
    page = re.sub(
        r"<title>.*?</title>", f"<title>{html.escape(title)} · polyseme</title>\n  " + "\n  ".join(lines), page
    )
    return page.replace('href="icon.svg"', f'href="{base}icon.svg"').replace(
        'src="icon.svg"', f'src="{base}icon.svg"').replace('href="style.css"', f'href="{base}style.css"').replace(
        'src="app.js"', f'src="{base}app.js"')  # fmt: skip


def check_folder(folder: Path, overwrite: bool) -> None:
    """A site is written into a folder of its own."""
    if folder.exists() and any(folder.iterdir()) and not overwrite:
        raise ConfigError(f"{folder} is there and not empty; name another folder, or allow it with --overwrite")


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replace_when_complete(path) as file:
        file.write(content)
