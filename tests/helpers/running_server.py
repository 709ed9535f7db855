"""A real server in a thread, with small models, and a client that speaks plain HTTP."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

import torch

from helpers.command_line import PATIENCE
from polyseme.bilm_config import BiLMConfig, CharacterConfig
from polyseme.elmo import Elmo
from polyseme.formats.model import SoftmaxWeights, StoredModel
from polyseme.index.vector_index import Index
from polyseme.nn.bilm import BiLM
from polyseme.pretrain.toy import TOY_TEXT
from polyseme.serve.limits import Limits
from polyseme.serve.listening import Listening
from polyseme.serve.served import Models, ServedModel
from polyseme.serve.server import address, listen, make_server
from polyseme.text.characters import ByteScheme
from polyseme.text.vocabulary import SPECIALS, Indexer, Vocabulary

SENTENCES = [line for line in TOY_TEXT.read_text(encoding="utf-8").splitlines() if line]
KOREAN = ["배를 타고 바다로 나갔다.", "배가 고파서 밥을 먹었다.", "시원한 배를 깎아 먹었다.", "배가 항구를 떠났다."]
CHINESE = ["他在银行工作。", "我们在河边的银行旁边散步。", "他每天去银行上班。"]


def small_model(words: Sequence[str], *, lang: str = "en", seed: int = 0, softmax: bool = True) -> StoredModel:
    """Random weights of a size at which every word has a say."""
    characters = CharacterConfig(alphabet=261, dim=8, max_characters=30, filters=((1, 8), (2, 8), (3, 16)), highways=1)
    config = BiLMConfig(characters=characters, cell=32, projection=16, layers=2)
    torch.manual_seed(seed)
    tensors = {name: (0.5 * torch.randn_like(value)).numpy() for name, value in BiLM(config).state_dict().items()}
    vocabulary = Vocabulary((*SPECIALS, *words), tuple(range(len(words) + len(SPECIALS), 0, -1)))
    output = (
        SoftmaxWeights(torch.randn(len(vocabulary), 16).numpy(), torch.randn(len(vocabulary)).numpy())
        if softmax
        else None
    )
    card = {"name": "small", "tokenization": lang}
    return StoredModel(config, tensors, Indexer(ByteScheme(30)), vocabulary=vocabulary, softmax=output, card=card)


def small_elmo(sentences: Sequence[str] = SENTENCES, *, lang: str = "en", softmax: bool = True) -> Elmo:
    splitter = Elmo(small_model([], lang=lang), device="cpu")
    words = sorted({token for line in sentences for sentence in splitter.split(line) for token in sentence.tokens})
    return Elmo(small_model(words, lang=lang, softmax=softmax), device="cpu")


def served(name: str, sentences: Sequence[str], *, lang: str = "en", softmax: bool = True) -> ServedModel:
    """A small model with an index of its sentences."""
    elmo = small_elmo(sentences, lang=lang, softmax=softmax)
    return ServedModel(name, elmo, name, Index.in_memory(elmo, list(sentences)), None, "ready")


def three_languages() -> Models:
    return Models(
        [served("en", SENTENCES), served("ko", KOREAN * 4, lang="ko-eojeol"), served("zh", CHINESE * 4, lang="zh")]
    )


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The one sentence of a refusal."""
        (sentence,) = self.json.values()
        assert self.json.keys() == {"error"}
        assert isinstance(sentence, str) and "\n" not in sentence
        return sentence


@dataclass(frozen=True)
class Client:
    """Talks to a server; every request has a connection of its own."""

    address: str

    @property
    def place(self) -> tuple[str, int]:
        host, _, port = self.address.removeprefix("http://").rpartition(":")
        return host, int(port)

    def get(self, path: str, **headers: str) -> Answer:
        return self.send("GET", path, None, headers)

    def post(self, path: str, **fields: Any) -> Answer:
        return self.send("POST", path, json.dumps(fields).encode(), {"Content-Type": "application/json"})

    def send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        connection = HTTPConnection(*self.place, timeout=PATIENCE)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()


@contextmanager
def running(models: Models, *, limits: Limits | None = None, **where_options: Any) -> Iterator[Client]:
    where = Listening("127.0.0.1", 0, **where_options)
    listener = listen(where)
    server = make_server(models, where, limits or Limits())
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    client = Client(address(listener))
    thread.start()
    try:
        deadline = time.monotonic() + PATIENCE
        while not server.started:
            assert thread.is_alive() and time.monotonic() < deadline
            time.sleep(0.01)
        yield client
    finally:
        server.should_exit = True
        thread.join(timeout=PATIENCE)
        assert not thread.is_alive()
