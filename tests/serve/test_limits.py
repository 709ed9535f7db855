"""What the server refuses, and how: a status, one sentence; and it goes on serving."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.command_line import PATIENCE
from helpers.running_server import SENTENCES, Answer, Client, running, served
from polyseme.errors import ConfigError, JobError
from polyseme.serve.limits import Limits
from polyseme.serve.listening import Listening
from polyseme.serve.served import Models
from polyseme.serve.server import listen

JSON = {"Content-Type": "application/json"}
SMALL = Limits(
    body_bytes=2000, texts=4, tokens=50, waiting=3, receive_seconds=1.5, answer_seconds=20, idle_seconds=3,
    connections=40,
)  # fmt: skip


@pytest.fixture(scope="module")
def small() -> Iterator[Client]:
    with running(Models([served("en", SENTENCES)]), limits=SMALL) as client:
        yield client


@pytest.mark.parametrize(
    ("path", "fields", "status", "said"),
    [
        ("/encode", {}, 422, "'texts' is missing"),
        ("/encode", {"texts": "one"}, 422, "'texts' should be a list of texts, but is \"one\""),
        ("/encode", {"texts": []}, 422, "an empty list"),
        ("/encode", {"texts": [1]}, 422, "'texts[0]' should be a string"),
        ("/encode", {"texts": [["a"]]}, 422, "but is a list"),
        ("/encode", {"texts": ["a"], "tokens": [["a"]]}, 422, "either 'texts' or 'tokens'"),
        ("/encode", {"tokens": [[]]}, 422, "an empty list"),
        ("/encode", {"tokens": [["a", None]]}, 422, "'tokens[0][1]' should be a string, but is null"),
        ("/encode", {"texts": ["a"], "layers": 3}, 422, "'layers' should be one of"),
        ("/encode", {"texts": ["a"], "layers": True}, 422, "'layers' should be one of"),
        ("/encode", {"texts": ["a"], "mix": [1, 2]}, 422, "a list of 3 numbers"),
        ("/encode", {"texts": ["a"], "mix": [0, 0, 0]}, 422, "no weight above zero"),
        ("/encode", {"texts": ["a"], "mix": [1, 2, "x"]}, 422, "a list of 3 numbers"),
        ("/encode", {"texts": ["a"], "format": "pickle"}, 422, "'format' should be one of"),
        ("/encode", {"texts": ["a"], "colour": "red"}, 422, 'there is no field "colour"'),
        ("/encode", {"texts": ["a"], "model": "fr"}, 422, "there is no model 'fr' here; there are: en"),
        ("/encode", {"texts": ["a"] * 5}, 413, "may have 4 texts"),
        ("/encode", {"texts": ["a b " * 30]}, 413, "may have 50 tokens, but this one has 60"),
        ("/encode", {"texts": ["a" * 3000]}, 413, "2,000 bytes"),
        ("/score", {"texts": {"a": 1}}, 422, "but is an object"),
        ("/substitutes", {"text": "no mark"}, 422, "put one in brackets"),
        ("/substitutes", {"text": "[a] [b]"}, 422, "2 are marked"),
        ("/substitutes", {"text": "a [b]", "k": 0}, 422, "'k' should be a whole number from 1 to 1000"),
        ("/substitutes", {"text": "a [b]", "k": 1.5}, 422, "'k' should be a whole number"),
        ("/substitutes", {"text": "a [b]", "direction": "up"}, 422, "'direction' should be one of"),
        ("/substitutes", {"tokens": ["a"], "position": 1}, 422, "from 0 to 0"),
        ("/substitutes", {"tokens": ["a"]}, 422, "'position' is missing"),
        ("/neighbours", {"text": "a [b]", "same_word": "yes"}, 422, "true or false"),
        ("/similarity", {"first": "a"}, 422, "'second' is missing"),
        ("/similarity", {"first": "a", "second": " "}, 422, "nothing to compare"),
        ("/senses", {"text": "a [b]", "k": 3}, 422, 'there is no field "k"'),
    ],
)
def test_wrong_fields(small: Client, path: str, fields: dict[str, Any], status: int, said: str) -> None:
    answer = small.post(path, **fields)
    assert (answer.status, said in answer.error) == (status, True), answer.body


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b'{"texts": ["\\ud800"]}', 400),
        (b'{"texts": [NaN]}', 400),
        (b"[" * 1900, 400),
        (b'{"a":' * 390, 400),
        (b"[]", 422),
        (b"null", 422),
        (b'"text"', 422),
        (b"1e999", 400),
        (b'{"texts": [' + b"9" * 300 + b"]}", 422),
    ],
)
def test_wrong_json(small: Client, body: bytes, status: int) -> None:
    answer = small.send("POST", "/encode", body, JSON)
    assert answer.status == status, answer.body
    assert answer.error


def test_another_content_type_is_refused(small: Client) -> None:
    """A form of another page can send text/plain without asking, but not JSON."""
    answer = small.send("POST", "/encode", b'{"texts": ["a"]}', {"Content-Type": "text/plain"})
    assert (answer.status, "Content-Type: application/json" in answer.error) == (415, True)


def test_unknown_paths_and_methods(small: Client) -> None:
    assert (small.get("/nowhere").status, small.get("/encode").status) == (404, 405)
    assert small.send("POST", "/health", b"", {}).status == 405
    assert "/docs" in small.get("/../etc/passwd").error


def test_a_body_without_a_length_that_never_ends(small: Client) -> None:
    """Chunks up to the limit are read, then some are thrown away (16 times the limit in all), then comes 413."""
    with socket.create_connection(small.place) as connection:
        connection.sendall(b"POST /encode HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
        connection.sendall(b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(32):  # just beyond that: what is sent to a closed connection would reset it
            connection.sendall(b"400\r\n" + b"a" * 0x400 + b"\r\n")
        assert received(connection).startswith(b"HTTP/1.1 413")


def test_a_slow_body_is_given_up(small: Client) -> None:
    with socket.create_connection(small.place) as connection:
        connection.sendall(b"POST /encode HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
        connection.sendall(b"Content-Length: 100\r\n\r\n{")
        assert received(connection).startswith(b"HTTP/1.1 408")


def test_slow_headers_are_given_up_however_steadily_they_drip(small: Client) -> None:
    with socket.create_connection(small.place) as connection:
        began = time.monotonic()
        connection.setblocking(False)
        answer = b""
        while not answer and time.monotonic() - began < 20:
            try:
                connection.send(b"G")
                answer = connection.recv(4096)
            except BlockingIOError:
                time.sleep(0.2)
        assert answer.startswith(b"HTTP/1.1 408") or answer == b""
        assert time.monotonic() - began < 15


def test_a_silent_connection_is_closed(small: Client) -> None:
    with socket.create_connection(small.place) as connection:
        connection.settimeout(PATIENCE)
        assert connection.recv(1) == b""


def test_what_is_not_http_is_refused(small: Client) -> None:
    with socket.create_connection(small.place) as connection:
        connection.sendall(b"\x16\x03\x01\x02\x00\x01\x00 hello\r\n\r\n")
        assert received(connection).startswith(b"HTTP/1.1 400")


def test_too_many_connections_are_refused(small: Client) -> None:
    idle = [socket.create_connection(small.place) for _ in range(60)]
    try:
        refused, deadline = 0, time.monotonic() + PATIENCE
        while refused < 10 and time.monotonic() < deadline:
            time.sleep(0.3)
            refused += sum(_said(one).startswith(b"HTTP/1.1 503") for one in idle)
        assert 10 <= refused <= 30
    finally:
        for one in idle:
            one.close()
    time.sleep(0.5)
    assert small.get("/health").status == 200


def _said(connection: socket.socket) -> bytes:
    connection.setblocking(False)
    try:
        return connection.recv(4096)
    except BlockingIOError:
        return b""


def received(connection: socket.socket) -> bytes:
    connection.settimeout(PATIENCE)
    found = b""
    while part := connection.recv(65536):
        found += part
    return found


def test_a_full_queue_is_503_and_nobody_else_is_harmed(small: Client) -> None:
    with ThreadPoolExecutor(30) as pool:
        answers = list(pool.map(lambda _: small.post("/encode", texts=["a b c " * 15]), range(120)))
    statuses = {answer.status for answer in answers}
    assert statuses <= {200, 503}
    refused = [answer for answer in answers if answer.status == 503]
    assert refused, "120 requests at once should be too many for a queue of three"
    assert all("busy" in answer.error and answer.headers["retry-after"] for answer in refused)
    assert small.post("/encode", texts=["a"]).status == 200


@settings(max_examples=60)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(max_size=9),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
            ["texts", "tokens", "text", "model", "k", "mix", "layers", "position", "first", "second", "x"]
        ), inner, max_size=4),
        max_leaves=8,
    ),
    st.sampled_from(["/encode", "/score", "/substitutes", "/neighbours", "/similarity", "/senses"]),
)  # fmt: skip
def test_whatever_json_comes_the_answer_is_200_or_4xx(server: Client, value: Any, path: str) -> None:
    answer: Answer = server.send("POST", path, json.dumps(value).encode("utf-8", "surrogatepass"), JSON)
    assert answer.status == 200 or (400 <= answer.status < 500 and answer.error)


def test_a_token_is_needed_for_everything_but_page_and_health() -> None:
    with running(Models([served("en", SENTENCES)]), token="open sesame") as client:
        assert client.get("/").status == client.get("/health").status == client.get("/docs").status == 200
        for path in ("/models", "/metrics"):
            assert client.get(path).status == 401
            assert client.get(path, Authorization="Bearer wrong").status == 401
            assert client.get(path, Authorization="Bearer open sesame").status == 200
        answer = client.post("/encode", texts=["a"])
        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")


def test_beyond_this_machine_a_token_is_needed() -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        with pytest.raises(ConfigError, match="a token is needed"):
            Listening(host)
        Listening(host, token="long enough")
    Listening("127.0.0.1"), Listening("::1"), Listening("localhost")
    with pytest.raises(ConfigError, match="at least 8"):
        Listening("0.0.0.0", token="short")


def test_other_names_for_this_machine_are_refused(server: Client) -> None:
    """So that a page elsewhere cannot read a local server through a name that leads here."""
    assert server.get("/models", Host="evil.example").status == 403
    assert server.get("/models", Host="localhost:1").status == 200
    assert server.get("/models", Host="[::1]:8000").status == 200


@pytest.mark.parametrize("host", ["[", "[::1", "[::1]]", "localhost:x", "", "a b", "@", "127.0.0.1:99999999"])
def test_strange_names_of_hosts_are_no_failure(server: Client, host: str) -> None:
    for path in ("/nowhere", "/health"):
        with socket.create_connection(server.place) as connection:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            status = int(received(connection).split(b" ", 2)[1])
            assert status == 200 or 400 <= status < 500


def test_made_up_paths_are_counted_together(server: Client) -> None:
    """Else a client could fill the memory with names."""
    for number in range(5):
        server.get(f"/made-up-{number}")
        server.get(f"/made-up-{number}", Host="evil.example")
    text = server.get("/metrics").body.decode()
    assert "made-up" not in text
    assert 'path="other",status="404"' in text and 'path="other",status="403"' in text


def test_pages_load_nothing_from_elsewhere(server: Client) -> None:
    policy = server.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy and "http" not in policy and "unsafe" not in policy


def test_a_taken_port_is_a_sentence(server: Client) -> None:
    with pytest.raises(JobError, match="try another --port"):
        listen(Listening("127.0.0.1", server.place[1]))


def test_answers_are_sent_at_once() -> None:
    """asyncio lets the end of an answer wait for the client's next packet, unless the socket says that it is TCP."""
    with listen(Listening("127.0.0.1", 0)) as listener:
        assert listener.proto == socket.IPPROTO_TCP
