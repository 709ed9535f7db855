"""The same text has the same vectors, bit for bit, whichever way they leave: Python, every file format, HTTP."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from polyseme import Elmo
from polyseme.embed.description import Options
from polyseme.embed.job import embed_files
from polyseme.embed.records import read

if TYPE_CHECKING:
    from helpers.running_server import Client
    from polyseme.serve.served import Models

#: One sentence each, so that a text is one record; of many lengths, some alike.
TEXTS = [
    "Here is your birthday present.",
    "No",
    "The naïve traveller sat on the bank of the river and watched the boats go by until it was dark.",
    "日本 语 text",
    "Live in the present .",
    "The bank gave her a loan, and she bought the old house at the end of the road.",
]
#: What is asked for: in Python as ``mix``, of a job as ``--layers``, over HTTP as "layers".
WAYS: list[tuple[Any, Any, Any]] = [(None, "average", "mix"), ("top", "top", "top"), ("sum", "sum", None)]


@pytest.fixture(scope="module")
def elmo() -> Elmo:
    return Elmo.from_pretrained("en", device="cpu")


def expected(elmo: Elmo, mix: Any) -> list[np.ndarray]:
    other = Elmo(elmo.stored, device="cpu", mix=mix)
    return [other.encode(text).vectors for text in TEXTS]


def assert_same_bits(found: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype == np.float32
        np.testing.assert_array_equal(one.view(np.uint32), other.view(np.uint32))


@pytest.mark.parametrize("mix", [None, "top", "sum", 1])
def test_one_by_one_together_and_in_a_stream(elmo: Elmo, mix: Any) -> None:
    other, wanted = Elmo(elmo.stored, device="cpu", mix=mix), expected(elmo, mix)
    assert_same_bits([one.vectors for one in other.encode(TEXTS)], wanted)
    assert_same_bits([one.vectors for one in other.stream(iter(TEXTS[::-1]))], wanted[::-1])
    tokens = [[token for sentence in other.split(text) for token in sentence.tokens] for text in TEXTS]
    assert_same_bits([one.vectors for one in other.encode_tokens(tokens)], wanted)


@pytest.mark.parametrize("suffix", [".h5", ".parquet", ".npz"])
@pytest.mark.parametrize(("mix", "layers"), [(mix, layers) for mix, layers, _ in WAYS])
def test_in_files(elmo: Elmo, tmp_path: Path, suffix: str, mix: Any, layers: Any) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow", reason="the extra 'files' is not installed")
    text, out = tmp_path / "texts.txt", tmp_path / f"vectors{suffix}"
    text.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    embed_files([text], out, elmo, Options(layers=layers))
    assert_same_bits([record.vectors for record in read(out)], expected(elmo, mix))
    every = tmp_path / f"layers{suffix}"
    embed_files([text], every, elmo, Options(layers="all"))
    for record, one in zip(read(every), elmo.encode(TEXTS), strict=True):
        assert_same_bits([record.layers, record.vectors], [one.layers, one.vectors])


@pytest.fixture(scope="module")
def server(elmo: Elmo) -> Iterator[Client]:
    for package in ("starlette", "uvicorn", "orjson"):
        pytest.importorskip(package, reason="the extra 'serve' is not installed")
    from helpers.running_server import running
    from polyseme.index.vector_index import Index
    from polyseme.serve.served import Models, ServedModel

    models: Models = Models([ServedModel("en", elmo, "en", Index.in_memory(elmo, TEXTS), None, "ready")])
    with running(models) as client:
        yield client


@pytest.mark.parametrize(("mix", "layers"), [(mix, layers) for mix, _, layers in WAYS if layers])
def test_over_http(server: Client, elmo: Elmo, mix: Any, layers: Any) -> None:
    wanted = expected(elmo, mix)
    told = server.post("/encode", texts=TEXTS, layers=layers).json["texts"]
    assert_same_bits([np.array(one["vectors"], dtype=np.float32) for one in told], wanted)
    array = np.load(io.BytesIO(server.post("/encode", texts=TEXTS, layers=layers, format="npy").body))
    assert_same_bits([array], [np.concatenate(wanted)])
