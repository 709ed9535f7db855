"""Every format is told by its content, those of other packages behind ours; what is damaged or missing is named."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from helpers.golden import golden
from helpers.packages import Install
from helpers.refusals import refused
from helpers.small_models import small_model
from helpers.tiny_models import tiny_model
from polyseme.errors import FormatError
from polyseme.formats import detect
from polyseme.formats.detect import FORMATS, load
from polyseme.formats.native import save_native

MODULE = '''
"""A folder "inner" with a native model, beside a file that is called so."""
from dataclasses import replace
from polyseme.formats import Format, load

def is_wrapped(path):
    return (path / "wrapped").is_file()

def load_wrapped(path):
    return replace(load(path / "inner"), format="a wrapped model")

FORMAT = Format("a wrapped model (wrapped, inner)", is_wrapped, load_wrapped)
EVERYTHING = Format("everything", lambda path: True, load_wrapped)
'''
GROUP = "polyseme.formats"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("bilm-tf-generated/inference/skip2_relu", "bilm-tf (options.json and HDF5)"),
        ("bilm-tf-generated/checkpoint", "TensorFlow checkpoint"),
        ("allennlp/archives/fta_projection.tar.gz", "AllenNLP"),
        ("allennlp/token_embedder_projection.th", "AllenNLP"),
        ("manylangs/model.zip", "ELMoForManyLangs"),
        ("manylangs/model_word_only", "ELMoForManyLangs"),
        ("nlpl/without_vocab.zip", "bilm-tf (options.json and HDF5)"),
        ("seqvec/seqvec_layout.zip", "bilm-tf (options.json and HDF5)"),
    ],
)
def test_every_family_through_the_one_door(name: str, title: str) -> None:
    assert load(golden(name)).format == title
    assert load(str(golden(name))).format == title


def test_a_model_has_the_name_of_its_file(tmp_path: Path) -> None:
    shutil.copy(golden("nlpl/with_vocab.zip"), tmp_path / "norwegian.zip")
    assert load(tmp_path / "norwegian.zip").card["name"] == "norwegian"


def test_a_folder_around_a_model_does_not_matter(tmp_path: Path) -> None:
    outer = tmp_path / "download"
    (outer / "__MACOSX").mkdir(parents=True)
    (outer / ".DS_Store").write_bytes(b"x")
    save_native(small_model(), outer / "deep" / "deeper")
    assert load(outer).fingerprint() == small_model().fingerprint()
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        for path in (outer / "deep" / "deeper").iterdir():
            archive.write(path, f"wrapped/{path.name}")
    assert load(tmp_path / "model.zip").fingerprint() == small_model().fingerprint()
    (tmp_path / "hub").mkdir()
    shutil.copy(tmp_path / "model.zip", tmp_path / "hub")
    (tmp_path / "hub" / "README.md").write_text("a repository with one archive")
    assert load(tmp_path / "hub").fingerprint() == small_model().fingerprint()


def test_every_test_of_the_table_can_take_any_path(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    for known in FORMATS:
        for path in (tmp_path / "empty", tmp_path / "folder", tmp_path / "missing"):
            assert not known.test(path)


@pytest.mark.parametrize("language", ["en", "ko", "zh"])
def test_a_bundled_model_that_is_missing(language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detect, "MODELS", tmp_path)
    with refused(f"the model '{language}' is missing in this installation"):
        load(language)
    save_native(small_model(), tmp_path / language)
    assert load(language).fingerprint() == small_model().fingerprint()


@pytest.mark.parametrize("source", ["", "no such thing", "a/b/c", "../nowhere", "x\0y", "y" * 5000, "owner/"])
def test_a_name_of_nothing(source: str) -> None:
    with refused("there is no file or folder .*, and no release of that name; give a path, an address, a hub id such"):
        load(source[:50] if len(source) > 4000 else source)


def test_a_name_that_is_too_long_for_a_file() -> None:
    with pytest.raises(Exception, match="there is no file or folder"):
        load("y" * 5000)


def test_what_is_unknown_is_described(tmp_path: Path) -> None:
    looked = "looked for a native folder .*, an ELMoForManyLangs folder .*, a TensorFlow checkpoint .*"
    with refused(f"found an empty folder, {looked}"):
        load(tmp_path)
    (tmp_path / "notes.txt").write_text("hello")
    with refused(f"found a folder with notes.txt, {looked}"):
        load(tmp_path)
    with refused(f"found a file that begins with b'hello', {looked}"):
        load(tmp_path / "notes.txt")
    (tmp_path / "empty").write_bytes(b"")
    with refused(f"found an empty file, {looked}"):
        load(tmp_path / "empty")


def test_what_is_not_elmo_is_called_by_its_name(tmp_path: Path) -> None:
    def folder(name: str, **files: object) -> Path:
        (tmp_path / name).mkdir()
        for file, content in files.items():
            (tmp_path / name / file.replace("_DOT_", ".")).write_text(json.dumps(content))
        return tmp_path / name

    def file(name: str, content: bytes) -> Path:
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    np.save(tmp_path / "array.npy", np.zeros(3))
    bert = {"model_type": "bert", "architectures": ["BertModel"]}
    cases = {
        "a transformers model": folder("bert", config_DOT_json=bert, model_DOT_safetensors=1),
        "a sentence-transformers model": folder("sbert", config_DOT_json=bert, modules_DOT_json=[]),
        "a spaCy pipeline": folder("spacy", config_DOT_cfg="", meta_DOT_json={}),
        "a fastText model": file("cc.en.300.bin", (793712314).to_bytes(4, "little") + bytes(60)),
        "a GGUF model": file("llama.gguf", b"GGUF" + bytes(60)),
        "a NumPy array file": tmp_path / "array.npy",
        "a Flair model": file("final-model.pt", b"\x80\x02cflair.models.language_model\nLanguageModel\n" + bytes(64)),
        "a file of vectors that were already computed": golden("allennlp/elmo_command/all.hdf5"),
        "a file of word vectors": file("glove.txt", ("the " + "0.1 " * 50 + "\n").encode()),
        "a file of word vectors .word2vec": file("w2v.vec", b"400000 300\nthe 0.1 0.2\n"),
    }
    for title, path in cases.items():
        with refused(f"this is {title}.*not an ELMo model"):
            load(path)


def test_other_models_of_allennlp_are_called_by_their_name(tmp_path: Path) -> None:
    def archive(name: str, config: dict[str, object], **tensors: torch.Tensor) -> Path:
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps(config))
        torch.save({key.replace("__", "."): x for key, x in tensors.items()}, tmp_path / name / "weights.th")
        return tmp_path / name

    with refused("a language model of AllenNLP's own kind, which is not ELMo"):
        load(archive("lm", {"model": {"type": "language_model"}}, _softmax_loss__softmax_w=torch.zeros(2)))
    embedder = {"type": "bidirectional_lm_token_embedder"}
    config: dict[str, object] = {"model": {"type": "simple_tagger", "text_field_embedder": {"elmo": embedder}}}
    with refused("its embedder is a language model of AllenNLP's own kind"):
        load(archive("tagger", config, x=torch.zeros(2)))
    with refused("an AllenNLP model of type 'bidaf' without one"):
        load(archive("bidaf", {"model": {"type": "bidaf"}}, x=torch.zeros(2)))
    torch.save({"rnn1.weight_hh_l0_reverse": torch.zeros(2)}, tmp_path / "cove.pth")
    with refused("a plain torch LSTM, such as CoVe"):
        load(tmp_path / "cove.pth")
    torch.save({"encoder.weight": torch.zeros(2)}, tmp_path / "other.pt")
    with refused("no ELMo part: no array's name ends with '_token_embedder._char_embedding_weights'"):
        load(tmp_path / "other.pt")


@pytest.fixture
def wrapped(tmp_path: Path) -> Path:
    (tmp_path / "model" / "inner").mkdir(parents=True)
    save_native(tiny_model(), tmp_path / "model" / "inner")
    (tmp_path / "model" / "wrapped").touch()
    (tmp_path / "model" / "more.txt").touch()
    return tmp_path / "model"


def test_a_package_adds_a_format(install: Install, wrapped: Path) -> None:
    with pytest.raises(FormatError, match="this is not a model that polyseme knows"):
        load(wrapped)
    install("wrapping", {"wrapping": MODULE}, {GROUP: {"wrapped": "wrapping:FORMAT"}})
    found = load(wrapped)
    assert found.format == "a wrapped model"
    assert found.fingerprint() == tiny_model().fingerprint()
    with pytest.raises(FormatError, match=r"looked for a native folder .*, a wrapped model \(wrapped, inner\)$"):
        load(wrapped.parent / "site-packages" / "wrapping-1.0.dist-info")


def test_it_may_be_a_thing_that_polyseme_refuses_by_name(install: Install, wrapped: Path) -> None:
    for name in ("modules.json", "config.json"):
        (wrapped / name).write_text("{}", encoding="utf-8")
    with pytest.raises(FormatError, match="this is a sentence-transformers model"):
        load(wrapped)
    install("wrapping", {"wrapping": MODULE}, {GROUP: {"wrapped": "wrapping:FORMAT"}})
    assert load(wrapped).format == "a wrapped model"


def test_what_polyseme_reads_itself_no_package_is_asked_about(install: Install, wrapped: Path) -> None:
    install("wrapping", {"wrapping": MODULE}, {GROUP: {"everything": "wrapping:EVERYTHING"}})
    assert load(wrapped / "inner").format == "native"


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("MISSING", "AttributeError: module 'wrapping' has no attribute 'MISSING'"),
        ("load", "it is of type function, not a Format"),
    ],
)
def test_a_format_that_cannot_be_loaded_is_named_where_it_may_be_missed(
    install: Install, wrapped: Path, where: str, reason: str
) -> None:
    install("wrapping", {"wrapping": MODULE}, {GROUP: {"broken": f"wrapping:{where}"}})
    with pytest.raises(FormatError) as refused:
        load(wrapped)
    assert str(refused.value).endswith(
        f"; the format 'broken' of the package wrapping 1.0 cannot be used ({reason}); update or uninstall it"
    )
    install("working", {"working": MODULE}, {GROUP: {"wrapped": "working:FORMAT"}})
    assert load(wrapped).format == "a wrapped model"
