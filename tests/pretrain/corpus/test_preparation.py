"""prepare: the corpus holds exactly the tokens of the input, whatever wrote it, or a clear sentence and no folder."""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.command_line import PATIENCE
from helpers.paths import DATA, needs
from polyseme.errors import ConfigError, InputError, JobError, PolysemeError
from polyseme.jobs.progress import Progress
from polyseme.pretrain.corpus import gather
from polyseme.pretrain.corpus import preparation as prepare_module
from polyseme.pretrain.corpus.corpus import Corpus, open_corpus
from polyseme.pretrain.corpus.preparation import prepare
from polyseme.text import readers

posix_only = pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")

# Any token that a line of text can hold: no white space, no control characters, no byte order mark.
TOKENS = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Zs", "Zl", "Zp"], exclude_characters="\ufeff"),
    min_size=1,
    max_size=5,
)
DOCUMENTS = st.lists(  # [documents][sentences][tokens]
    st.lists(st.lists(TOKENS | st.sampled_from(["a", "b", "<S>", "<UNK>"]), min_size=1), min_size=1), min_size=1
)


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def corpus_of(folder: Path, content: str | bytes, name: str = "a.txt", **options: Any) -> Corpus:
    options = {"lang": "whitespace", "workers": 1} | options
    prepare([write(folder / name, content)], folder / "corpus", **options)
    return open_corpus(folder / "corpus")


def sentences_of(corpus: Corpus) -> list[list[str]]:
    return [corpus.types(corpus.sentence(i)) for i in range(corpus.meta.sentences)]


def documents_of(corpus: Corpus) -> list[list[list[str]]]:
    sentences, bounds = sentences_of(corpus), corpus.documents.tolist()
    return [sentences[start:end] for start, end in pairwise(bounds)]


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def refusal(error: type[PolysemeError], folder: Path, content: str | bytes, **options: Any) -> str:
    """The sentence; and nothing but the input stays behind."""
    with pytest.raises(error) as caught:
        corpus_of(folder, content, **options)
    assert not (folder / "corpus").exists()
    assert not list(folder.glob("corpus.*"))
    return str(caught.value)


# What comes out


@given(documents=DOCUMENTS, size=st.none() | st.integers(4, 12), chunk=st.sampled_from([1, 7, 1 << 20]))
@settings(max_examples=40)
def test_every_token_comes_back(documents: list[list[list[str]]], size: int | None, chunk: int) -> None:
    text = "\n\n".join("\n".join(" ".join(tokens) for tokens in document) for document in documents)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(gather, "CHUNK_CHARACTERS", chunk)
        patch.setattr(prepare_module, "BLOCK", 3)
        try:
            corpus = corpus_of(Path(folder), text, vocabulary_size=size)
        except ConfigError:
            assert {token for d in documents for s in d for token in s} <= {"<S>", "<UNK>"}
            return
        assert documents_of(corpus) == documents
        tokens = [token for document in documents for sentence in document for token in sentence]
        assert corpus.targets[corpus.tokens].tolist() == corpus.vocabulary.ids(tokens)
        by_count = sorted(Counter(tokens).items(), key=lambda entry: (-entry[1], entry[0]))
        assert list(zip(corpus.types(range(corpus.meta.types)), corpus.counts.tolist(), strict=True)) == by_count
        assert size is None or len(corpus.vocabulary) <= size
        unknown = corpus.vocabulary.ids(tokens).count(2)
        assert corpus.meta.unknown_rate == unknown / len(tokens)
        assert corpus.vocabulary.counts is not None
        assert sum(corpus.vocabulary.counts) == len(tokens) + 2 * corpus.meta.sentences
        del corpus  # Windows deletes no mapped file


def test_the_bytes_do_not_depend_on_the_number_of_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    lines = [" ".join(f"w{word}" for word in random.zipf(1.3, random.integers(1, 30)) % 5000) for _ in range(3000)]
    lines[::40] = [""] * len(lines[::40])
    path = write(tmp_path / "a.txt", "\n".join(lines))
    for workers, characters in ((1, 1 << 20), (1, 10_000), (2, 10_000)):
        monkeypatch.setattr(gather, "CHUNK_CHARACTERS", characters)
        prepare([path], tmp_path / f"{workers}-{characters}", lang="whitespace", workers=workers, min_count=2)
    expected = files_of(tmp_path / f"1-{1 << 20}")
    assert files_of(tmp_path / "1-10000") == expected
    assert files_of(tmp_path / "2-10000") == expected


def test_raw_text_is_split_by_its_language(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, "Mr. Bush didn't go. He rang.\nTwice.", lang="en")
    assert sentences_of(corpus) == [["Mr.", "Bush", "did", "n't", "go", "."], ["He", "rang", "."], ["Twice", "."]]


def test_empty_sentences_and_empty_documents_are_left_out(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, "\n\n \na b\n\t\n\n\nc\n\n")
    assert documents_of(corpus) == [[["a", "b"]], [["c"]]]


def test_every_file_begins_a_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "CHUNK_CHARACTERS", 4)
    paths = [write(tmp_path / f"{number}.txt", content) for number, content in enumerate(("a\nb", "\n", "c\nd\n"))]
    prepare(paths, tmp_path / "corpus", lang="whitespace", workers=1)
    assert documents_of(open_corpus(tmp_path / "corpus")) == [[["a"], ["b"]], [["c"], ["d"]]]


def test_tables_have_a_document_a_record(tmp_path: Path) -> None:
    records = [{"body": "a b\nc"}, {"body": ""}, {"body": "d\n\ne"}]
    content = "\n".join(map(json.dumps, records))
    corpus = corpus_of(tmp_path, content, name="a.jsonl", field="body")
    assert documents_of(corpus) == [[["a", "b"], ["c"]], [["d"], ["e"]]]


def test_text_and_tables_can_be_mixed(tmp_path: Path) -> None:
    paths = [write(tmp_path / "a.txt", "a b"), write(tmp_path / "b.jsonl", '{"body": "c"}')]
    prepare(paths, tmp_path / "corpus", lang="whitespace", field="body")
    assert sentences_of(open_corpus(tmp_path / "corpus")) == [["a", "b"], ["c"]]


def test_tokenised_files_are_used_as_they_are(tmp_path: Path) -> None:
    treebank = "# newdoc id = x\n1\tdo\n2\tn't\n\n1\t10 000\n\n# newdoc id = y\n1\tgo.\n"
    assert documents_of(corpus_of(tmp_path, treebank, name="a.conllu", lang="en")) == [
        [["do", "n't"], ["10 000"]],
        [["go."]],
    ]


def test_proteins_have_a_token_a_residue(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, ">P1\nMK\nV\n>P2\nmm\n", name="a.fasta")
    assert documents_of(corpus) == [[["M", "K", "V"]], [["M", "M"]]]


def test_inputs_are_noted_with_their_hash(tmp_path: Path) -> None:
    data = gzip.compress(b"a b\n", mtime=0)
    (entry,) = corpus_of(tmp_path, data, name="a.txt.gz").meta.inputs
    assert (entry.name, entry.size, entry.sha256) == ("a.txt.gz", len(data), hashlib.sha256(data).hexdigest())


def test_a_file_without_an_empty_line_may_have_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "LIMIT_BYTES", 1000)  # of what is held in memory at once
    assert corpus_of(tmp_path, "a b c\n" * 1000).meta.sentences == 1000


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    assert corpus_of(tmp_path, "a b").meta.tokens == 2


def test_progress_ends_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "CHUNK_CHARACTERS", 100)
    seen: list[Progress] = []
    corpus_of(tmp_path, "é b c\n" * 200, progress=seen.append)
    reading = [progress for progress in seen if progress.title == "reading"]
    assert len(reading) > 5
    assert [progress.done for progress in reading] == sorted(progress.done for progress in reading)
    assert (reading[-1].done, reading[-1].total) == (1400, 1400)
    assert (seen[-1].title, seen[-1].done, seen[-1].total, seen[-1].tokens) == ("numbering", 600, 600, 600)


@pytest.mark.shared
@needs(DATA / "pos")
def test_a_treebank_has_as_many_words_as_lines_with_a_number(tmp_path: Path) -> None:
    path = sorted((DATA / "pos").rglob("*test*.conllu.xz"))[0]
    lines = lzma.decompress(path.read_bytes()).decode().split("\n")
    meta = prepare([path], tmp_path / "corpus", workers=1)
    assert meta.tokens == sum(line.split("\t")[0].isdigit() for line in lines)
    assert meta.documents == max(1, sum(line.startswith("# newdoc") for line in lines))


# Words of the softmax


def test_the_smallest_count_and_the_size_bound_the_words(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, "a a a b b c", min_count=2, vocabulary_size=4)
    assert corpus.vocabulary.words == ("<S>", "</S>", "<UNK>", "a")
    assert corpus.meta.unknown_rate == 0.5


@pytest.mark.parametrize("order", [("<S>", "</S>", "<UNK>"), ("</S>", "<UNK>", "<S>")])
def test_a_vocabulary_of_bilm_tf_keeps_its_ids(tmp_path: Path, order: tuple[str, ...]) -> None:
    vocabulary = write(tmp_path / "words", "\n".join((*order, "!!!MAXTERMID", " b ", "absent", "a")) + "\n")
    corpus = corpus_of(tmp_path, "a a b c\nc", vocabulary=vocabulary)
    assert corpus.vocabulary.words == (*order, "b", "absent", "a")
    assert corpus.types(range(3)) == ["a", "c", "b"]
    assert corpus.targets.tolist() == [5, order.index("<UNK>"), 3]
    expected = {"<S>": 2, "</S>": 2, "<UNK>": 2, "b": 1, "absent": 0, "a": 2}
    assert dict(zip(corpus.vocabulary.words, corpus.vocabulary.counts or (), strict=True)) == expected


def test_the_vocabulary_of_another_corpus_can_be_used(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    first = corpus_of(tmp_path / "first", "a a b")
    corpus = corpus_of(tmp_path, "b c", vocabulary=first.folder / "vocab.txt")
    assert corpus.vocabulary.words == first.vocabulary.words
    assert corpus.vocabulary.counts == (1, 1, 1, 0, 1)


def test_a_vocabulary_with_duplicates_is_refused_by_name(tmp_path: Path) -> None:
    vocabulary = write(tmp_path / "words", "<S>\n</S>\n<UNK>\ndog\ncat\ndog\n")
    assert "words: the vocabulary has 1 words more than once ('dog')" in refusal(
        ConfigError, tmp_path, "a", vocabulary=vocabulary
    )


def test_a_vocabulary_without_specials_is_refused_by_name(tmp_path: Path) -> None:
    vocabulary = write(tmp_path / "words", "</S>\ndog\n")
    assert "words: the vocabulary lacks <S>, <UNK>" in refusal(ConfigError, tmp_path, "a", vocabulary=vocabulary)


@pytest.mark.parametrize(
    "options, sentence",
    [
        ({"vocabulary_size": 3}, "no room for a word"),
        ({"min_count": 0}, "at least 1, not 0"),
        ({"min_count": 4}, "no word occurs 4 times or more, the most frequent one 2 times"),
        ({"workers": 0}, "at least one"),
        ({"field": "text"}, "no input is a table"),
        ({"kind": "docx"}, "no input format 'docx'"),
    ],
)
def test_settings_that_do_not_fit_are_refused(tmp_path: Path, options: dict[str, Any], sentence: str) -> None:
    assert sentence in refusal(ConfigError, tmp_path, "a a b", **options)


def test_a_given_vocabulary_has_a_size_already(tmp_path: Path) -> None:
    vocabulary = write(tmp_path / "words", "<S>\n</S>\n<UNK>\n")
    assert "used as it is" in refusal(ConfigError, tmp_path, "a", vocabulary=vocabulary, vocabulary_size=9)


# Input that is bad, or strange


@pytest.mark.parametrize("content", ["", "\n \n\n", "\ufeff"])
def test_an_empty_corpus_is_refused(tmp_path: Path, content: str) -> None:
    assert "there is no token in" in refusal(InputError, tmp_path, content)


def test_no_input_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no input"):
        prepare([], tmp_path / "corpus")


def test_one_sentence_is_a_corpus(tmp_path: Path) -> None:
    assert documents_of(corpus_of(tmp_path, "one")) == [[["one"]]]


def test_a_line_of_a_million_tokens_stays_one_sentence(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, "a b c d " * 250_000)
    assert (corpus.meta.tokens, corpus.meta.sentences, corpus.meta.longest_sentence) == (10**6, 1, 10**6)


def test_binary_data_is_refused(tmp_path: Path) -> None:
    assert "a.txt holds binary data" in refusal(InputError, tmp_path, bytes(range(256)) * 10)


def test_what_is_no_utf8_is_refused_by_file_and_line(tmp_path: Path) -> None:
    assert "a.txt, line 3 is not UTF-8" in refusal(InputError, tmp_path, b"a\nb\nc \xff\n")


def test_a_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing\.txt does not exist"):
        prepare([tmp_path / "missing.txt"], tmp_path / "corpus")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_exists_is_left_alone(tmp_path: Path) -> None:
    before = files_of(corpus_of(tmp_path, "a b").folder)
    with pytest.raises(JobError, match="corpus already exists"):
        corpus_of(tmp_path, "c")
    assert files_of(tmp_path / "corpus") == before


# Jobs that do not end well. The input is standard input kept open, so that the moment does not depend on luck.

PROGRAM = """
import sys
from polyseme.errors import PolysemeError
from polyseme.pretrain.corpus.preparation import prepare
if __name__ == "__main__":
    try:
        prepare(["-"], sys.argv[1], lang="whitespace", workers=2, progress=lambda _: print("reading", flush=True))
    except PolysemeError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
"""


@contextmanager
def waiting_job(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A job that has read some chunks, has two workers, and waits for more input."""
    with subprocess.Popen(
        [sys.executable, write(folder / "job.py", PROGRAM), folder / "corpus"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as job:
        assert job.stdin is not None and job.stdout is not None
        try:
            job.stdin.write(b"some words of a line\n" * 200_000)  # four chunks
            job.stdin.flush()
            assert job.stdout.readline() == b"reading\n"
            yield job
        finally:
            job.kill()


def wait_until(true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE
    while not true() and time.monotonic() < deadline:
        time.sleep(0.05)
    return true()


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@posix_only
def test_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    with waiting_job(tmp_path) as job:
        os.killpg(job.pid, signal.SIGINT)  # as a terminal does: the workers get it too
        _, errors = job.communicate(timeout=PATIENCE)
    assert (job.returncode, errors) == (130, b"")
    assert [path.name for path in tmp_path.iterdir()] == ["job.py"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
def test_a_killed_job_leaves_no_corpus_no_workers_and_does_not_disturb_the_next_one(tmp_path: Path) -> None:
    with waiting_job(tmp_path) as job:
        workers = [int(pid) for pid in Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()]
        with pytest.raises(JobError, match="another process is writing"):
            corpus_of(tmp_path, "a b")
        job.kill()
        job.communicate(timeout=PATIENCE)
    assert len(workers) >= 2
    assert wait_until(lambda: not any(map(alive, workers)))
    assert not (tmp_path / "corpus").exists()
    assert corpus_of(tmp_path, "a b").meta.tokens == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "corpus", "job.py"]


@posix_only
def test_a_full_disk_is_said_so_and_leaves_no_corpus(tmp_path: Path) -> None:
    program = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n" + PROGRAM
    job = subprocess.run(
        [sys.executable, write(tmp_path / "job.py", program), tmp_path / "corpus"],
        input=b"some words of a line\n" * 50_000,
        capture_output=True,
        timeout=PATIENCE,
    )
    assert job.returncode == 1
    assert job.stderr.decode().startswith(f"no space left for {tmp_path / 'corpus'} (file too large)")
    assert [path.name for path in tmp_path.iterdir()] == ["job.py"]
