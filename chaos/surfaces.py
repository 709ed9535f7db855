"""Everything that reads a file which others may have written: how a good one is made, and how it is read."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.damage import forget_digests
from helpers.paths import COMMITTED
from helpers.small_corpora import random_text, small_corpus
from helpers.small_models import small_model
from helpers.tiny_models import tiny_elmo

GOLDEN = COMMITTED / "formats"
TEXT = "The bank of the river .\nA present from Seoul , 서울 , naïve .\n\nLive in the present .\n"
CONLLU = (GOLDEN / "manylangs/cli/sentences.conllu").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Surface:
    """``make`` fills an empty folder with good files, ``read`` reads them as the program does."""

    name: str
    make: Callable[[Path], object]
    read: Callable[[Path], object]
    share: float = 2.0  #: of the mutants, compared with the others: 1 where reading one takes milliseconds


def _load(path: Path) -> object:
    from polyseme.formats.detect import load

    return load(path)


def _only(folder: Path) -> Path:
    """The one file in it; a mutant may have none."""
    return next(iter(sorted(folder.iterdir())), folder / "nothing")


def _load_only(folder: Path) -> object:
    return _load(_only(folder))


def _copied(*names: str) -> Callable[[Path], object]:
    def make(folder: Path) -> None:
        for name in names:
            if (GOLDEN / name).is_dir():
                for path in (GOLDEN / name).iterdir():
                    if path.suffix != ".npz":
                        shutil.copy(path, folder)
            else:
                shutil.copy(GOLDEN / name, folder)

    return make


def _native(*, digests: bool) -> Callable[[Path], object]:
    def make(folder: Path) -> None:
        from polyseme.formats.native import save_native

        save_native(small_model(softmax=True), folder)
        (folder / "README.md").unlink()
        if not digests:
            forget_digests(folder)

    return make


def _text(name: str, content: str) -> Callable[[Path], object]:
    def make(folder: Path) -> None:
        data = content.encode()
        if name.endswith(".gz"):
            data = gzip.compress(data)
        elif name.endswith(".xz"):
            import lzma

            data = lzma.compress(data)
        elif name.endswith(".zst"):
            import zstandard

            data = zstandard.compress(data)
        (folder / name).write_bytes(data)

    return make


def _documents(folder: Path) -> int:
    from polyseme.text.readers import read_documents

    return sum(1 for _ in read_documents([_only(folder)]))


def _parquet(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"text": TEXT.split("\n"), "n": list(range(len(TEXT.split("\n"))))}), folder / "in.parquet")


def _embedded(name: str) -> Callable[[Path], object]:
    def make(folder: Path) -> None:
        from polyseme.embed.job import embed_files

        text = folder / "in.txt"
        text.write_text(TEXT, encoding="utf-8")
        embed_files([text], folder / name, tiny_elmo())
        text.unlink()

    return make


def _vectors(folder: Path) -> int:
    from polyseme.embed.records import read

    return sum(record.vectors.size for record in read(_only(folder)))


def _parts(folder: Path) -> None:
    from polyseme.embed.description import Shard
    from polyseme.embed.job import embed_files

    (folder / "in.txt").write_text(TEXT, encoding="utf-8")
    embed_files([folder / "in.txt"], folder / "out.h5", tiny_elmo(), shard=Shard(0, 1))
    embed_files([folder / "in.txt"], folder / "out.npz", tiny_elmo(), shard=Shard(0, 2))
    embed_files([folder / "in.txt"], folder / "out.npz", tiny_elmo(), shard=Shard(1, 2))
    (folder / "in.txt").unlink()
    (folder / "out.h5").unlink()


def _merge(folder: Path) -> object:
    from polyseme.embed.assembly import assemble

    return assemble(folder / "out.npz")


def _index(folder: Path) -> None:
    from polyseme.index.vector_index import Index

    text = folder.with_name(folder.name + ".txt")
    text.write_text(TEXT, encoding="utf-8")
    folder.rmdir()
    Index.build(tiny_elmo(), text, folder)
    text.unlink()


def _open_index(folder: Path) -> object:
    from polyseme.index.vector_index import Index

    index = Index.open(folder, tiny_elmo())
    return [index.neighbours("the [bank] .", k=2), len(index)]


def _corpus(folder: Path) -> None:
    small_corpus(folder, sentences=40)
    for path in (folder / "corpus").iterdir():
        path.rename(folder / path.name)
    (folder / "corpus").rmdir()
    (folder / "text.txt").unlink()


def _open_corpus(folder: Path) -> object:
    from polyseme.pretrain.corpus.corpus import open_corpus

    corpus = open_corpus(folder)
    return corpus.types(corpus.sentence(0))


def _run_file(folder: Path) -> None:
    import torch

    from polyseme.nn.run_file import save_run_file

    save_run_file(folder / "checkpoint.safetensors", {"a": torch.ones(3, 4), "b": torch.zeros(2)}, {"step": 3})


def _read_run_file(folder: Path) -> object:
    from polyseme.nn.run_file import read_run_file

    return read_run_file(folder / "checkpoint.safetensors", "train it again")


def _recipe(folder: Path) -> None:
    from helpers.small_corpora import small_recipe

    (folder / "recipe.json").write_text(json.dumps(small_recipe().to_dict()))


def _read_recipe(folder: Path) -> object:
    from polyseme.errors import ConfigError
    from polyseme.jobs.manifests import read_values
    from polyseme.pretrain.recipe import recipe_from_dict

    values: Any = read_values(folder / "recipe.json")
    if not isinstance(values, dict):
        raise ConfigError("no recipe")
    return recipe_from_dict(values)


def _static(folder: Path) -> None:
    lines = "\n".join(f"{word} {' '.join(str(n / 7) for n in range(5))}" for word in TEXT.split())
    (folder / "words.vec").write_text(f"{len(TEXT.split())} 5\n{lines}\n", encoding="utf-8")


def _read_static(folder: Path) -> object:
    from polyseme.tasks.vectors.static import load_static

    return load_static(str(_only(folder)), {"bank", "present"})


def _split(folder: Path) -> object:
    from polyseme.text.tokenization import split_text

    text = b"".join(path.read_bytes() for path in folder.iterdir()).decode("utf-8", "surrogateescape")
    return [split_text(text, lang) for lang in ("en", "ko", "zh", "any", "whitespace", "protein")]


def _task_data(reader: str, name: str, content: str) -> Surface:
    def read(folder: Path) -> object:
        from importlib import import_module

        from polyseme.text.tokenization import split_text

        module, function = reader.split(":")
        arguments = (split_text,) if function == "read_squad" else ()
        return getattr(import_module(module), function)(folder / name, *arguments)

    return Surface(f"task data {name}", _text(name, content), read)


SNLI = "".join(
    json.dumps({"gold_label": "entailment", "sentence1": "A b .", "sentence2": "B ."}) + "\n" for _ in range(3)
)
SQUAD = json.dumps(
    {"data": [{"paragraphs": [{"context": "The bank is old.", "qas": [
        {"id": "1", "question": "What is old?", "answers": [{"text": "The bank", "answer_start": 0}]}]}]}]}
)  # fmt: skip
SST = "(3 (2 The) (4 (3 bank) (2 .)))\n(1 (2 A) (2 present))\n"


def surfaces() -> Iterator[Surface]:
    """All of them."""
    yield Surface("native model", _native(digests=False), _load)
    yield Surface("native model with digests", _native(digests=True), _load)
    yield Surface("HDF5 weights", _copied("bilm-tf-generated/inference/skip2_relu"), _load, 1)
    yield Surface("TensorFlow checkpoint", _copied("bilm-tf-generated/checkpoint"), _load)
    yield Surface("AllenNLP archive", _copied("allennlp/archives/direct_two_mixes.tar.gz"), _load_only, 1)
    yield Surface("torch state dict", _copied("allennlp/token_embedder_projection.th"), _load_only, 1)
    yield Surface("ELMoForManyLangs", _copied("manylangs/model_char_only"), _load)
    yield Surface("zip archive", _copied("nlpl/with_vocab.zip"), _load_only, 1)
    yield Surface("embedding file .h5", _embedded("out.h5"), _vectors)
    yield Surface("embedding file .npz", _embedded("out.npz"), _vectors)
    yield Surface("embedding file .parquet", _embedded("out.parquet"), _vectors)
    yield Surface("parts of a job", _parts, _merge)
    yield Surface("index", _index, _open_index, 1)
    yield Surface("prepared corpus", _corpus, _open_corpus)
    yield Surface("checkpoint of a run", _run_file, _read_run_file)
    yield Surface("recipe", _recipe, _read_recipe)
    yield Surface("static vectors", _static, _read_static)
    records = "".join(json.dumps({"text": line, "n": 1}) + "\n" for line in TEXT.split("\n"))
    table = "n,text\n" + "".join(f'1,"{line}"\n' for line in TEXT.split("\n"))
    yield Surface("text .jsonl", _text("in.jsonl", records), _documents)
    yield Surface("text .csv", _text("in.csv", table), _documents)
    yield Surface(
        "text .tsv", _text("in.tsv", "n\ttext\n" + "".join(f"1\t{x}\n" for x in TEXT.split("\n"))), _documents
    )
    yield Surface("text .parquet", _parquet, _documents)
    yield Surface("text .conllu", _text("in.conllu", CONLLU), _documents)
    yield Surface("text .fasta", _text("in.fasta", ">a\nMKV\n>b x\nACDEF\n"), _documents)
    for suffix in ("gz", "xz", "zst"):
        yield Surface(f"text .txt.{suffix}", _text(f"in.txt.{suffix}", TEXT), _documents)
    yield Surface("tokenisers", _text("in.txt", TEXT + random_text(5)), _split, 1)
    yield _task_data("polyseme.tasks.snli.data:read_snli", "snli.jsonl", SNLI)
    yield _task_data("polyseme.tasks.squad.data:read_squad", "squad.json", SQUAD)
    yield _task_data("polyseme.tasks.sst.data:read_sentiment", "sst.txt", SST)
