"""The model in the page of a static site: it splits, spells and reads as Python does, in a real browser."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.explorer_visit import Visit
from helpers.file_server import file_server
from helpers.running_server import CHINESE, KOREAN, SENTENCES, Client, served
from polyseme.elmo import Elmo
from polyseme.encoding import Floats
from polyseme.export.browser_model import arranged, quantise
from polyseme.index.vector_index import Index
from polyseme.senses.shipped import shipped_text
from polyseme.serve.recording import Recorder
from polyseme.serve.served import Models, ServedModel
from polyseme.serve.site import write_model_files, write_site

MARKS = [
    "Mr. Bush didn't go. He rang at 7:30pm, isn't that odd? :-) See www.un.org/ha, plan.doc and os.path.join.",
    "In the U.S. Then a.k.a. J. Smith's Ph.D. etc. The end, 200,000.50 or .5 of PG&E, 20th and 1970s, '72, +44 20.",
    "cannot gonna I'm well-known non-commercial (555-1234) $5.50 ---- *** what??? “So…” ``a'' <3 ^_^ x.y@z.com",
    "1. Introduction 2. Methods. hello. world. Oh no! really? yes.\nAnother line!\r\n\n and a third",
    "naïve café 😀👍🏽 👨‍👩‍👧 🇰🇷🇺🇸 你好世界 こんにちは สวัสดี हिन्दी العربية п'ять",
    unicodedata.normalize("NFD", "Décomposé: café, 한국어 문장입니다. naïveté"),
    "", "   ", ".", "\N{ZERO WIDTH JOINER}", "[brackets] of one's own",
]  # fmt: skip
TEXTS = {
    "en": [*MARKS, *SENTENCES[:40]],
    "ko": [
        *KOREAN,
        "AK-47을 24~26cm의 2,700만 원에 샀다고 했어요 ㅋㅋㅋ 그래서 좋았습니다 정말.",
        "3·1운동ㆍ광복절, 한-미 정상회담! 대사를 외운 대사가 갔다.",
        unicodedata.normalize("NFD", "두 나라의 수교를 기념하는 만찬에 대사가 참석했다."),
        "배가 고파서\n밥을 먹었다",
    ],
    "zh": [
        *CHINESE,
        "他在8:30上班。价格是3.5%……真的吗？“是的。”他说。",
        "臺灣的計算機科學家發表了GPT-3論文。iPhone手机很贵！http://a.com/b 很好",
        "我在年青时候也曾经做过许多梦，\n后来大半忘却了。",
    ],
}


def rounded(name: str, sentences: list[str]) -> ServedModel:
    """A small model with weights that int8 can hold, so that the page has the same ones."""
    model = served(name, sentences, lang=name)
    tensors = {key: back(key, array) if array.ndim > 1 else array for key, array in model.elmo.stored.tensors.items()}
    elmo = Elmo(replace(model.elmo.stored, tensors=tensors), device="cpu")
    return ServedModel(name, elmo, name, Index.in_memory(elmo, sentences), None, "ready")


def back(name: str, array: Floats) -> Floats:
    sent = arranged(name, array)
    steps, scales = quantise(sent)
    found: Floats = (steps * scales.astype(np.float32)[:, None]).reshape(-1)[: sent.size].reshape(sent.shape)
    return arranged(name, found)  # turned twice is as it was


@pytest.fixture(scope="module")
def models() -> Models:
    return Models([rounded("en", SENTENCES), rounded("ko", KOREAN * 4), rounded("zh", CHINESE * 4)])


@pytest.fixture(scope="module")
def site(models: Models, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    pytest.importorskip("matplotlib", reason="the pictures need matplotlib")
    folder = tmp_path_factory.mktemp("site")
    write_site(models, folder, ["bank", "银行", "배"])
    with file_server(folder) as client:
        yield client


@pytest.fixture
def visit(browser: Any, site: Client) -> Iterator[Visit]:
    found = Visit(browser, site, "/")
    yield found
    found.close()  # checks that only this machine was asked, and that nothing went wrong


def ask_model(visit: Visit, site: str, lang: str, verb: str, items: list[Any]) -> list[Any]:
    """What the model in the page says, layers as lists of numbers."""
    script = """async ([site, lang, verb, items]) => {
      const { askModel } = await import(`${site}/reader.js`);
      const model = { address: `${site}/data/${lang}/`, bytes: 1 };
      const found = await Promise.all(items.map((item) => askModel(model, verb, item)));
      return JSON.stringify(found, (_, value) => (value instanceof Float32Array ? Array.from(value) : value));
    }"""
    found: list[Any] = json.loads(visit.page.evaluate(script, [site, lang, verb, items]))
    return found


@pytest.mark.parametrize("lang", TEXTS)
def test_the_page_splits_a_text_as_python_does(visit: Visit, site: Client, models: Models, lang: str) -> None:
    found = ask_model(visit, site.address, lang, "split", TEXTS[lang])
    for text, sentences in zip(TEXTS[lang], found, strict=True):
        expected = models.find(lang).elmo.split(text)
        assert [one["tokens"] for one in sentences] == [one.tokens for one in expected], text
        assert [one["offsets"] for one in sentences] == [list(map(list, one.offsets)) for one in expected], text


def lowest_cosine(elmo: Elmo, sentences: list[list[str]], found: list[list[list[float]]]) -> float:
    """Of all tokens in all layers; ``found`` are layers with boundaries."""
    lowest = 1.0
    for sentence, layers in zip(elmo.encode_tokens(sentences), found, strict=True):
        here: Floats = np.array(layers, np.float32).reshape(len(layers), len(sentence.tokens) + 2, -1)[:, 1:-1]
        norms = np.linalg.norm(here, axis=-1) * np.linalg.norm(sentence.layers, axis=-1)
        lowest = min(lowest, float(((here * sentence.layers).sum(axis=-1) / norms).min()))
    return lowest


@pytest.mark.parametrize("lang", TEXTS)
def test_the_page_computes_what_the_engine_computes(visit: Visit, site: Client, models: Models, lang: str) -> None:
    elmo = models.find(lang).elmo
    sentences = [one.tokens for text in TEXTS[lang] for one in elmo.split(text)]
    assert lowest_cosine(elmo, sentences, ask_model(visit, site.address, lang, "read", sentences)) > 1 - 1e-5


@pytest.mark.parametrize("lang", ["en", "ko", "zh"])
def test_vectors_of_the_bundled_models_are_within_1e_3_of_python_s(browser: Any, tmp_path: Path, lang: str) -> None:
    elmo = Elmo.from_pretrained(lang, device="cpu")
    text = shipped_text(elmo.lang)
    assert text is not None
    lines = text.read_text(encoding="utf-8").splitlines()[:12]
    model = ServedModel(lang, elmo, lang)
    bytes_to_fetch = write_model_files(tmp_path, model)
    assert bytes_to_fetch < 12_000_000
    (tmp_path / "index.html").write_text("<link rel=icon href=data:,><body data-running=0>", encoding="utf-8")
    for part in (Path(__file__).parents[2] / "src" / "polyseme" / "serve" / "static_page").glob("*.js"):
        (tmp_path / part.name).write_bytes(part.read_bytes())
    with file_server(tmp_path) as shown:
        visit = Visit(browser, shown, "/")
        expected = [elmo.split(line) for line in lines]
        split = ask_model(visit, shown.address, lang, "split", lines)
        assert [[one["tokens"] for one in found] for found in split] == [[s.tokens for s in one] for one in expected]
        sentences = [sentence.tokens for found in expected for sentence in found]
        lowest = lowest_cosine(elmo, sentences, ask_model(visit, shown.address, lang, "read", sentences))
        visit.close()
    assert lowest > 0.999
    print(f"{lang}: {bytes_to_fetch / 1e6:.1f} MB, lowest cosine {lowest:.5f}")


def test_a_typed_sentence_gets_its_place_neighbours_and_cosines(visit: Visit, models: Models) -> None:
    assert not [url for url in visit.asked if url.endswith("model.bin")]  # not before somebody types
    visit.page.locator("#sentence").fill("The old bank by the water was green.")
    visit.settle()
    assert len([url for url in visit.asked if url.endswith("model.bin")]) == 1
    assert visit.page.locator("#message").inner_text() == ""
    assert visit.words() == ["The", "old", "bank", "by", "the", "water", "was", "green", "."]
    assert visit.page.locator("#strip [aria-pressed=true]").inner_text() == "bank"  # which was looked at before
    assert "So this list compares the top layer" in visit.page.locator("#near").inner_text()
    own = np.array(visit.page.locator("#map .here").last.evaluate(
        "ring => { const at = new DOMMatrix(getComputedStyle(ring).transform); return [at.m41, at.m42]; }"
    ))  # fmt: skip
    group = visit.page.locator("#map .here").last.evaluate("ring => ring.className.baseVal.replace('here of-', '')")
    marks = visit.page.locator("#map g .point").evaluate_all("all => all.map(one => one.className.baseVal.slice(-1))")
    np.testing.assert_allclose(own, visit.places()[np.array(marks) == group].mean(axis=0), atol=0.2)  # no substitutes
    visit.move_to("2")
    recorder = Recorder(models)
    place = {"tokens": visit.words(), "position": 2}
    want = recorder.ask("/neighbours", model="en", **place, mix=[0, 0, 1], same_word=True, k=10)["neighbours"]
    recorder.close()
    shown = [float(one) for one in visit.page.locator("#near .number").all_inner_texts()]
    np.testing.assert_allclose(shown, [one["similarity"] for one in want], atol=0.006)  # two digits
    assert visit.page.locator("#near li").first.inner_text().endswith(want[0]["text"])
    assert len(visit.places()) == 50
    assert visit.page.locator("#map .here").count() >= 1
    assert "does not predict words" in visit.page.locator("#substitutes").inner_text()
    visit.page.locator("#second").fill("They fished from the bank of the river.")
    visit.settle()
    first, second = "The old bank by the water was green.", "They fished from the bank of the river."
    recorder = Recorder(models)
    grid = recorder.ask("/similarity", model="en", first=first, second=second, grid=True)["grids"][2]
    recorder.close()
    np.testing.assert_allclose(visit.cells(), np.ravel(grid), atol=0.006)


def test_a_word_that_the_site_does_not_have_is_said(visit: Visit) -> None:
    visit.page.locator("#sentence").fill("A zebra was green.")
    visit.settle()
    visit.choose("zebra")
    assert "does not contain “zebra”" in visit.page.locator("#map").inner_text()
    visit.page.get_by_text("of any word").click()
    visit.settle()
    assert "own words only" in visit.page.locator("#near").inner_text()


def test_progress_is_told_and_a_model_that_does_not_come_too(browser: Any, site: Client) -> None:
    visit = Visit(browser, site, "/")
    told: list[str] = []
    visit.page.expose_function("noted", lambda words: told.append(words))
    visit.page.evaluate("""() => new MutationObserver(() => noted(document.querySelector("#message").textContent))
        .observe(document.querySelector("#message"), { childList: true, characterData: true, subtree: true })""")
    visit.page.locator("#sentence").fill("The bank was green.")
    visit.settle()
    assert any("Loading the model" in one or "The model is loaded" in one for one in told)
    visit.close()

    visit = Visit(browser, site, "/")
    visit.context.route("**/model.bin", lambda route: route.abort())
    visit.page.locator("#sentence").fill("The bank was green.")
    visit.settle()
    assert "could not be loaded" in visit.page.locator("#message").inner_text()
    visit.context.close()
