"""What a team needs of a server: a description, clients they know, packed bodies, other origins, logs, bounds."""

from __future__ import annotations

import base64
import gzip
import json
import time
from collections.abc import Iterator

import numpy as np
import pytest

from helpers.running_server import SENTENCES, Client, running, served
from polyseme.errors import ConfigError
from polyseme.serve.limits import Limits, Refusal
from polyseme.serve.listening import Listening
from polyseme.serve.rate_limit import RateLimit
from polyseme.serve.served import Models

TEXTS = ["The bank closed.", "We fished from the bank of the river."]


@pytest.fixture(scope="module")
def small_answers() -> Iterator[Client]:
    limits = Limits(answer_bytes=20_000, characters=500, answer_seconds=1e-9)
    with running(Models([served("en", SENTENCES)]), limits=limits) as client:
        yield client


def test_embeddings_as_openai_has_them_are_those_of_encode(server: Client) -> None:
    expected = [one["vector"] for one in server.post("/encode", texts=TEXTS, pool="mean").json["texts"]]
    answer = server.post("/v1/embeddings", input=TEXTS, model="en").json
    assert [one["index"] for one in answer["data"]] == [0, 1]
    assert np.allclose([one["embedding"] for one in answer["data"]], expected, atol=1e-6)
    assert answer["usage"]["prompt_tokens"] == 4 + 9
    packed = server.post("/v1/embeddings", input=TEXTS[0], model="en", encoding_format="base64").json["data"]
    assert np.allclose(np.frombuffer(base64.b64decode(packed[0]["embedding"]), "<f4"), expected[0], atol=1e-6)
    wrong = server.post("/v1/embeddings", input=[[1, 2]], model="en")
    assert (wrong.status, "'input[0]' should be a string" in wrong.json["error"]["message"]) == (422, True)
    assert server.post("/v1/embeddings", input="a", model="en", dimensions=3).status == 422
    missing = server.post("/v1/embeddings", input="a", model="text-embedding-3-small")
    assert (missing.status, missing.json["error"]["code"]) == (404, "model_not_found")
    assert "there are: " in missing.json["error"]["message"]
    assert [one["id"] for one in server.get("/v1/models").json["data"]] == ["en", "ko", "zh"]


def test_the_openai_package_gets_vectors(server: Client) -> None:
    openai = pytest.importorskip("openai", reason="the package openai is not installed")
    client = openai.OpenAI(base_url=f"{server.address}/v1", api_key="none", max_retries=0)
    found = client.embeddings.create(model="en", input=TEXTS)  # asks for base64 by itself
    expected = [one["vector"] for one in server.post("/encode", texts=TEXTS, pool="mean").json["texts"]]
    assert np.allclose([one.embedding for one in found.data], expected, atol=1e-6)
    assert [one.id for one in client.models.list()] == ["en", "ko", "zh"]
    with pytest.raises(openai.UnprocessableEntityError, match="there is no model"):
        client.embeddings.create(model="gpt", input="a")


def test_embed_and_info_as_text_embeddings_inference_has_them(server: Client) -> None:
    expected = np.array([one["vector"] for one in server.post("/encode", texts=TEXTS, pool="mean").json["texts"]])
    found = np.array(server.post("/embed", inputs=TEXTS, truncate=True).json)
    assert np.allclose(found, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)
    plain = server.post("/embed", inputs=TEXTS[0], normalize=False).json
    assert np.allclose(plain, expected[:1], atol=1e-6)
    info = server.get("/info").json
    assert (info["model_id"], info["max_client_batch_size"]) == ("en", Limits().texts)


def test_bodies_are_packed_both_ways(server: Client) -> None:
    body = json.dumps({"texts": TEXTS}).encode()
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip", "Accept-Encoding": "gzip"}
    answer = server.send("POST", "/encode", gzip.compress(body), headers)
    assert answer.headers["content-encoding"] == "gzip"
    assert json.loads(gzip.decompress(answer.body)) == server.post("/encode", texts=TEXTS).json
    for wrong, status in ((b"no gzip", 400), (gzip.compress(body)[:-9], 400), (gzip.compress(b" " * 10**7), 413)):
        assert server.send("POST", "/encode", wrong, headers).status == status
    assert server.send("POST", "/encode", body, headers | {"Content-Encoding": "br"}).status == 415


def test_only_named_origins_may_ask_from_their_pages() -> None:
    with running(Models([served("en", SENTENCES)]), origins=("https://a.example",), token="open sesame") as client:
        asked = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
        asked["Access-Control-Request-Headers"] = "authorization,content-type"
        before = client.send("OPTIONS", "/encode", None, asked)  # a browser sends no token with it
        assert (before.status, before.headers["access-control-allow-origin"]) == (200, "https://a.example")
        other = client.send("OPTIONS", "/encode", None, asked | {"Origin": "https://b.example"})
        assert "access-control-allow-origin" not in other.headers


def test_every_request_has_an_id_and_a_line(capfd: pytest.CaptureFixture[str]) -> None:
    with running(Models([served("en", SENTENCES)]), access_log=True) as client:
        given = client.get("/health", **{"X-Request-ID": "abc-1"})
        own = client.get("/nowhere", **{"X-Request-ID": "no\tid" * 40})
    assert given.headers["x-request-id"] == "abc-1"
    assert len(own.headers["x-request-id"]) == 16
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    assert [(one["id"], one["path"], one["status"]) for one in lines] == [
        ("abc-1", "/health", 200),
        (own.headers["x-request-id"], "/nowhere", 404),
    ]


def test_seconds_are_counted_by_path(server: Client) -> None:
    server.post("/encode", texts=TEXTS)
    text = server.get("/metrics").body.decode()
    assert 'polyseme_request_seconds_bucket{path="/encode",le="+Inf"}' in text
    assert 'polyseme_request_seconds_count{path="/encode"}' in text


def test_answers_are_bounded_before_they_are_computed(small_answers: Client) -> None:
    words = "a b c d e " * 10
    grid = small_answers.post("/similarity", first=words, second=words, grid=True)
    assert (grid.status, "the answer would have 10,000 numbers" in grid.error) == (413, True)
    assert small_answers.post("/encode", texts=[words, words], layers="all").status == 413
    assert small_answers.post("/embed", inputs=["a"] * 512).status == 413
    long = small_answers.post("/encode", texts=["a" * 501])
    assert (long.status, "500 characters" in long.error) == (413, True)


def test_an_8_kb_request_makes_no_answer_of_many_megabytes(server: Client) -> None:
    text = "a " * 2040
    answer = server.post("/similarity", first=text, second=text, grid=True)
    assert answer.status == 413
    assert len(answer.body) < 300


def test_late_answers_are_504(small_answers: Client) -> None:
    answer = small_answers.post("/encode", texts=["a"])
    assert (answer.status, "no answer within" in answer.error) == (504, True)


def test_a_public_server_asks_for_no_token_but_for_patience() -> None:
    models = Models([served("en", SENTENCES)])
    with running(models, public=True, per_minute=60, burst=3) as client:
        assert client.get("/", Host="demo.example").status == 200
        statuses = [client.post("/encode", texts=["a"]).status for _ in range(5)]
        assert statuses[:3] == [200] * 3 and 429 in statuses[3:]
        refused = client.post("/encode", texts=["a"])
        assert int(refused.headers["retry-after"]) >= 1
        assert client.get("/health").status == client.get("/style.css").status == 200  # pages cost nothing
        time.sleep(1.1)
        other = client.get("/models", **{"X-Forwarded-For": "192.0.2.7"})  # another client, says the proxy
        assert other.status == 200
        assert client.get("/metrics").status in (404, 429)
    assert other.json["models"][0]["index"]["source"] is None


def test_a_bucket_fills_again_and_each_client_has_its_own() -> None:
    now = [0.0]
    rate = RateLimit(60, 2, lambda: now[0])
    rate.take("a"), rate.take("a"), rate.take("b")
    with pytest.raises(Refusal, match="wait a moment"):
        rate.take("a")
    now[0] = 1.0
    rate.take("a")


@pytest.mark.parametrize("stripped", [True, False])
def test_a_proxy_may_show_it_in_a_folder(stripped: bool) -> None:
    """Whether the proxy takes the folder off the path or not."""
    with running(Models([served("en", SENTENCES)]), root_path="/elmo") as client:
        folder = "" if stripped else "/elmo"
        assert client.get(f"{folder}/").status == client.get(f"{folder}/app.js").status == 200
        assert client.get(f"{folder}/models").json["models"][0]["name"] == "en"
        assert client.get("/openapi.json").json["servers"] == [{"url": "/elmo"}]


def test_wrong_choices_are_said() -> None:
    for wrong, said in (
        ({"root_path": "elmo"}, "should look like /elmo"),
        ({"origins": ("example.org",)}, "an origin such as"),
        ({"public": True, "token": "open sesame"}, "asks for no token"),
    ):
        with pytest.raises(ConfigError, match=said):
            Listening("127.0.0.1", **wrong)  # type: ignore[arg-type]
    Listening("0.0.0.0", public=True)


def test_the_description_names_every_path(server: Client) -> None:
    from polyseme.serve.asgi import QUESTIONS

    described = server.get("/openapi.json").json
    assert described["openapi"] == "3.1.0"
    assert {path for path, one in described["paths"].items() if "post" in one} == set(QUESTIONS)
