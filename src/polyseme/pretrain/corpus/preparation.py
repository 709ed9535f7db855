"""Text of any size → a corpus on disk, in two passes; only the table of distinct tokens is held in memory.

Pass 1 (gather.py) tokenises chunks of text in several processes and numbers the types in order of appearance. Then all
counts are known, and pass 2 renumbers the types by frequency, block by block. The final numbers depend only on counts
and words, so the bytes are the same for any number of workers.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polyseme.engine.pool import usable_cores
from polyseme.errors import ConfigError, InputError
from polyseme.jobs.atomic import folder_when_complete
from polyseme.jobs.manifests import measure_piece, write_manifest
from polyseme.jobs.progress import Report, Work, working
from polyseme.pretrain.corpus.corpus import META, TYPES_TEXT, U4, U8, VOCABULARY, CorpusMeta
from polyseme.pretrain.corpus.gather import Gathered, Source, find_sources, gather
from polyseme.pretrain.corpus.softmax_words import WordChoice, choose_words, read_for_training
from polyseme.text.tokenization import Language, known_language, language_name, split_text
from polyseme.text.vocabulary import UNKNOWN, Vocabulary

BLOCK = 1 << 20  # tokens or types processed at once


def prepare(
    inputs: Sequence[str | Path],
    out: str | Path,
    *,
    lang: Language = "en",
    vocabulary_size: int | None = None,
    min_count: int = 1,
    vocabulary: str | Path | None = None,
    workers: int | None = None,
    field: str | None = None,
    kind: str | None = None,
    progress: Report | None = None,
    seed: int = 0,
    overwrite: bool = False,
) -> CorpusMeta:
    """Write the corpus folder ``out`` from ``inputs``: anything that `polyseme.text.readers.read_documents` reads.

    ``lang`` says how raw text is split into tokens ("whitespace": it already is, one sentence per line), or is a
    function that splits it. The words of the softmax are those of the file ``vocabulary`` (of bilm-tf, or of another
    corpus), or else the most frequent ones: at most ``vocabulary_size`` including the specials, each occurring at least
    ``min_count`` times. ``workers`` processes tokenise, by default one per core. ``seed`` is stored in the corpus.
    """
    given = read_for_training(Path(vocabulary)) if vocabulary is not None else None
    choice = WordChoice(vocabulary_size, min_count, given)
    workers = usable_cores() if workers is None else workers
    if workers < 1:
        raise ConfigError(f"{workers} worker processes were asked for; at least one is needed")
    sources = find_sources(inputs, kind, field)
    lang = known_language(lang)
    split_text("a", lang)  # a broken tokeniser fails before anything starts
    if workers > 1:
        _refuse_local_function(lang)
    replace = overwrite and (Path(out) / META).is_file()  # only ever replace a corpus
    with folder_when_complete(Path(out), replace=replace) as folder:
        described = tuple(source.describe() for source in sources)
        size = sum(source.size or 0 for source in sources)  # 0 if unknown, as for standard input
        with working("reading", size or None, progress) as work:
            gathered = gather(sources, folder, lang=lang, workers=workers, work=work)
        _refuse_empty(gathered, sources)
        order = _by_frequency(gathered)
        with working("numbering", gathered.tokens, progress) as work:
            _renumber(folder / "tokens.bin", order, gathered.tokens, work)
        types, counts = _sorted_types(gathered, order)
        words = choose_words(types, counts.tolist(), gathered.sentences, choice)
        unknown = _write_types(folder, types, counts, words)
        meta = CorpusMeta(
            lang=language_name(lang),
            tokens=gathered.tokens,
            sentences=gathered.sentences,
            documents=gathered.documents,
            types=len(types),
            vocabulary_size=len(words),
            unknown_rate=unknown / gathered.tokens,
            coverage=(gathered.tokens - unknown) / gathered.tokens,
            longest_sentence=gathered.longest_sentence,
            seed=seed,
            inputs=described,
            pieces={path.name: measure_piece(path) for path in sorted(folder.iterdir())},
        )
        write_manifest(folder / META, meta)
    return meta


def _refuse_empty(gathered: Gathered, sources: Sequence[Source]) -> None:
    if gathered.tokens == 0:
        names = ", ".join(source.name for source in sources[:3]) + (", …" if len(sources) > 3 else "")
        raise InputError(f"there is no token in {names or 'no input'}; a corpus needs at least one sentence")


def _by_frequency(gathered: Gathered) -> NDArray[np.int64]:
    """The provisional numbers of the types by decreasing count, ties by code points."""
    words = list(gathered.numbers)
    by_word = np.array(sorted(range(len(words)), key=words.__getitem__), np.int64)
    return by_word[np.argsort(-gathered.counts[by_word], kind="stable")]


def _sorted_types(gathered: Gathered, order: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int64]]:
    words = list(gathered.numbers)
    return [words[number] for number in order.tolist()], gathered.counts[order]


def _renumber(path: Path, order: NDArray[np.int64], tokens: int, work: Work) -> None:
    """Pass 2, in place: each provisional number becomes its rank."""
    ranks = np.empty(len(order), U4)
    ranks[order] = np.arange(len(order), dtype=U4)
    with path.open("r+b") as file:
        for start in range(0, tokens, BLOCK):
            file.seek(start * U4.itemsize)
            block = np.frombuffer(file.read(BLOCK * U4.itemsize), U4)
            file.seek(start * U4.itemsize)
            file.write(ranks[block].tobytes())
            work.advance(len(block), tokens=len(block))


def _write_types(folder: Path, types: list[str], counts: NDArray[np.int64], words: Vocabulary) -> int:
    """Write types.txt, types.bin, counts.bin, targets.bin and vocab.txt; returns the number of unknown tokens."""
    position = 0
    with (folder / TYPES_TEXT).open("wb") as text, (folder / "types.bin").open("wb") as starts:
        for first in range(0, len(types), BLOCK):
            lines = [f"{word}\n".encode() for word in types[first : first + BLOCK]]
            ends = position + np.cumsum([len(line) for line in lines], dtype=U8)
            starts.write(np.concatenate([[position], ends[:-1]]).astype(U8).tobytes())
            text.write(b"".join(lines))
            position = int(ends[-1])
        starts.write(np.array([position], U8).tobytes())
    targets = np.array(words.ids(types), U4)
    (folder / "counts.bin").write_bytes(counts.astype(U8).tobytes())
    (folder / "targets.bin").write_bytes(targets.tobytes())
    words.write(folder / VOCABULARY)
    return int(counts[targets == words.find(UNKNOWN)].sum())


def _refuse_local_function(lang: Language) -> None:
    try:
        pickle.dumps(lang)
    except (pickle.PicklingError, AttributeError, TypeError):
        raise ConfigError(
            f"the tokenizer {language_name(lang)} cannot be sent to other processes; define it at the top of a module, "
            "or ask for one worker"
        ) from None
