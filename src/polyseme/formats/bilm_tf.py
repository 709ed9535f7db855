"""options.json and an HDF5 file: bilm-tf, AllenNLP's releases, SeqVec, NLPL.

A folder may also hold ``vocab.txt`` or ``vocab.txt.gz``. The vocabulary decides which literal tokens are special, as in
bilm-tf; without one, ``<S>`` and ``</S>`` are, as in AllenNLP and simple_elmo.
"""

from __future__ import annotations

import json
from pathlib import Path

from polyseme.bilm_config import BiLMConfig
from polyseme.errors import FormatError, InputError
from polyseme.formats.arrays import ArrayFile
from polyseme.formats.hdf5_file import open_hdf5, write_hdf5
from polyseme.formats.json_file import Settings
from polyseme.formats.model import SoftmaxWeights, StoredModel, model_folder
from polyseme.formats.names import BILM_TF, BILM_TF_FORWARD, BILM_TF_WITH_PADDING
from polyseme.formats.options_json import config_from_options, options_from_config
from polyseme.formats.renaming import Layout, choose_layout, file_arrays, read_tensors
from polyseme.text.characters import BYTE_ALPHABET, SENTENCE_BEGIN, SENTENCE_END, ByteScheme
from polyseme.text.vocabulary import BEGIN, END, UNKNOWN, Indexer, Vocabulary, WordTable

OPTIONS, WEIGHTS, VOCABULARY, EMBEDDINGS = "options.json", "weights.hdf5", "vocab.txt", "embeddings.hdf5"
BOUNDARIES = {BEGIN: SENTENCE_BEGIN, END: SENTENCE_END}
TITLE = "bilm-tf (options.json and HDF5)"


def load_bilm_tf(
    options: Path, weights: Path, vocabulary: Path | None = None, embedding: Path | None = None
) -> StoredModel:
    """Read a pair of options and weights.

    With ``embedding``, a separate file with a table of word vectors, the model reads word ids, whatever the options say
    about characters.
    """
    settings = Settings.of(options)
    words = read_vocabulary(vocabulary) if vocabulary else None
    with open_hdf5(weights) as file:
        if embedding is not None:
            with open_hdf5(embedding) as table:
                both = ArrayFile(file.name, {**file.arrays, **table.arrays}, file.size + table.size)
                by_words = Settings({**settings.values, "char_cnn": None}, settings.where)
                return read_tf_model(both, by_words, words, f"{TITLE}, word vectors of {embedding.name}")
        return read_tf_model(file, settings, words, TITLE)


def read_tf_model(file: ArrayFile, options: Settings, vocabulary: Vocabulary | None, title: str) -> StoredModel:
    """The model in arrays with TensorFlow's names, in any container."""
    config, layout = describe_tf_arrays(file, options)
    shared = options.boolean("share_embedding_softmax", False)
    return StoredModel(
        config=config,
        tensors=read_tensors(file, layout.table, config),
        indexer=tf_indexer(config, vocabulary),
        vocabulary=vocabulary,
        softmax=_softmax(file, "embedding" if shared else "softmax/W", config, vocabulary),
        format=title,
    )


def describe_tf_arrays(file: ArrayFile, options: Settings) -> tuple[BiLMConfig, Layout]:
    """The network that options and arrays describe, and how the arrays are named."""
    table = file.shape("char_embed" if options.has("char_cnn") else "embedding")
    layout = tf_layout(file)
    words = None if options.has("char_cnn") else (table or (0,))[0]
    return config_from_options(options, words=words, bidirectional=layout.directions == 2), layout


def tf_layout(file: ArrayFile) -> Layout:
    """How the arrays are named; a table with one row more than there are characters includes the padding row."""
    characters = file.arrays.get("char_embed")
    padded = characters is not None and characters.shape[:1] == (BYTE_ALPHABET + 1,)
    return choose_layout(file, BILM_TF_WITH_PADDING if padded else BILM_TF)


def tf_indexer(config: BiLMConfig, vocabulary: Vocabulary | None) -> Indexer:
    """How a bilm-tf model reads tokens."""
    if config.characters is not None:
        return Indexer(characters=ByteScheme(config.characters.max_characters, special_tokens(vocabulary)))
    if vocabulary is None:
        raise FormatError("the model looks words up, but has no vocabulary; put its vocab.txt next to it")
    assert config.words is not None
    if len(vocabulary) != config.words.size:
        raise FormatError(
            f"the vocabulary has {len(vocabulary)} lines, but the array 'embedding' has {config.words.size} rows; "
            "they must belong together"
        )
    if missing := [name for name in (BEGIN, END) if name not in vocabulary]:
        raise FormatError(
            f"the vocabulary has no line {missing[0]}, which every sentence needs; add it, and its vector"
        )
    ids = {word: number for number, word in enumerate(vocabulary.words)}
    return Indexer(words=WordTable(ids, unknown=UNKNOWN if UNKNOWN in vocabulary else None, begin=BEGIN, end=END))


def special_tokens(vocabulary: Vocabulary | None) -> dict[str, int]:
    """The tokens that bilm-tf does not spell by their bytes.

    Its vocabulary caches the rows of its words. It also writes the rows of the boundaries there, which overwrite that
    of the last word if they are not in the vocabulary.
    """
    if vocabulary is None:
        return dict(BOUNDARIES)
    specials: dict[str, int] = {}
    if vocabulary.words:
        for boundary, raw in BOUNDARIES.items():
            specials[boundary if boundary in vocabulary else vocabulary.words[-1]] = raw
    return specials


def read_vocabulary(path: Path) -> Vocabulary:
    """Read a vocabulary file by bilm-tf's rules."""
    try:
        return Vocabulary.read_bilm_tf(path)
    except InputError as error:
        raise FormatError(str(error).replace(str(path), path.name)) from None


def save_bilm_tf(model: StoredModel, folder: Path) -> None:
    """Write options.json, weights.hdf5 and vocab.txt, as bilm-tf and simple_elmo read them.

    The softmax is added to the weights under its names in a checkpoint, which those programs ignore. Mixes, an output
    projection and the card cannot be stored.
    """
    check_bilm_tf(model)
    config = model.config
    layout = BILM_TF[0] if config.bidirectional else BILM_TF_FORWARD
    arrays = file_arrays(model.tensors, layout.table, config)
    if model.softmax is not None and model.softmax.clusters is None:
        arrays |= {"softmax/W": model.softmax.weight, "softmax/b": model.softmax.bias}
    rows = None if model.softmax is None or model.softmax.clusters else len(model.softmax.bias)
    with model_folder(folder, (OPTIONS, WEIGHTS, VOCABULARY, EMBEDDINGS)) as beside:
        options = options_from_config(config, softmax_words=rows)
        (beside / OPTIONS).write_text(json.dumps(options, indent=2) + "\n", encoding="utf-8")
        write_hdf5(beside / WEIGHTS, arrays)
        if model.vocabulary is not None:
            Vocabulary(model.vocabulary.words).write(beside / VOCABULARY)


def check_bilm_tf(model: StoredModel) -> None:
    """Refuse a model that bilm-tf's files cannot represent."""
    config, characters = model.config, model.indexer.characters
    reason = None
    if config.characters and config.words:
        reason = "it reads words and characters together"
    elif config.characters and not isinstance(characters, ByteScheme):
        reason = "it reads Unicode characters instead of bytes"
    elif isinstance(characters, ByteScheme) and not _reads_alike(characters, model.vocabulary):
        reason = "it has special tokens that do not follow from its vocabulary"
    elif config.project_tokens and config.encoded_size <= config.projection:
        reason = (
            f"its {config.encoded_size} filters are projected to {config.projection} values, "
            "where bilm-tf only knows projections to fewer"
        )
    elif config.words and (config.project_tokens or model.vocabulary is None):
        reason = "its word vectors are projected, or its vocabulary is missing"
    elif model.vocabulary is not None and _not_writable(model.vocabulary):
        reason = "its vocabulary holds words with surrounding blanks, which bilm-tf strips"
    if reason:
        raise FormatError(f"the model cannot be written in bilm-tf's format: {reason}; save it as a native model")


def _reads_alike(characters: ByteScheme, vocabulary: Vocabulary | None) -> bool:
    """Whether bilm-tf gives every token the same ids as the model.

    Models that spell all tokens, as those of polyseme pretrain do, are accepted too: there a token spelled <S> or </S>
    becomes a boundary, and nothing else changes.
    """
    there = special_tokens(vocabulary)
    return characters.specials == there or (not characters.specials and there == BOUNDARIES)


def _not_writable(vocabulary: Vocabulary) -> bool:
    return any(word != word.strip() or word == "!!!MAXTERMID" for word in vocabulary.words)


def _softmax(file: ArrayFile, weight: str, config: BiLMConfig, vocabulary: Vocabulary | None) -> SoftmaxWeights | None:
    """The softmax, if there is one; its ``weight`` may be shared with the model's word table."""
    if "softmax/b" not in file.arrays:
        return None
    rows = len(vocabulary) if vocabulary is not None else (file.shape("softmax/b") or (0,))[0]
    file.check({weight: (rows, config.projection), "softmax/b": (rows,)})
    return SoftmaxWeights(file.read(weight), file.read("softmax/b"))
