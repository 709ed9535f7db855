"""Find the files in a folder that are the options and the weights of one bilm-tf model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from polyseme.errors import FormatError
from polyseme.formats.bilm_tf import load_bilm_tf
from polyseme.formats.hdf5_file import open_hdf5
from polyseme.formats.hdf5_structure import SIGNATURE
from polyseme.formats.json_file import Settings
from polyseme.formats.model import StoredModel

SUFFIXES = (".hdf5", ".h5")
PREFERRED = ("model.hdf5", "weights.hdf5")  # simple_elmo's rule, then SeqVec's name
VOCABULARIES = ("vocab.txt.gz", "vocab.txt")  # in simple_elmo's order


@dataclass(frozen=True, slots=True)
class FilePair:
    """The files of one model."""

    options: Path
    weights: Path
    vocabulary: Path | None
    embedding: Path | None = None
    unused: Path | None = None  #: a table of word vectors without a vocabulary


def has_pair(path: Path) -> bool:
    """Whether a folder or file looks like options.json with HDF5, even if incomplete or unreadable."""
    folder = path if path.is_dir() else path.parent
    if path.is_dir():
        return bool(_options_files(folder)) and bool(_weight_files(folder))
    return _is_hdf5_name(path) or (path.name.endswith("options.json") and bool(_weight_files(folder)))


def load_pair(path: Path) -> StoredModel:
    """Read the model in a folder, or the one that an options or weight file belongs to."""
    return load_files(find_pair(path))


def load_files(pair: FilePair) -> StoredModel:
    model = load_bilm_tf(pair.options, pair.weights, pair.vocabulary, pair.embedding)
    if pair.unused is None:
        return model
    return replace(model, format=f"{model.format}; {pair.unused.name} without a vocab.txt is not used")


def find_pair(path: Path) -> FilePair:
    """The files that belong together; if content and names leave a choice, it is refused."""
    folder = path if path.is_dir() else path.parent
    if path.is_dir():
        options, weights = _only_options(folder), _only_weights(folder)
    elif path.name.endswith(".json"):
        options, weights = path, _weights_of(path) or _only_weights(folder)
    elif _holds_table(path):
        options, weights = _only_options(folder), _only_weights(folder)
    else:
        weights, options = path, _options_of(path) or _only_options(folder)
    return with_words(options, weights, asked_for=path)


def with_words(options: Path, weights: Path, asked_for: Path) -> FilePair:
    """Options and weights, with files beside the weights: a vocabulary, and the word table of a word-id model.

    A character model becomes a word-id model if its folder or the table itself was given and there is a vocab.txt: this
    is how bilm-tf's users store the output of ``dump_token_embeddings``.
    """
    folder = weights.parent
    vocabulary = next((folder / name for name in VOCABULARIES if (folder / name).is_file()), None)
    by_characters = Settings.of(options).has("char_cnn")
    if by_characters and asked_for in (options, weights):
        return FilePair(options, weights, vocabulary)
    if not asked_for.is_dir() and _holds_table(asked_for):
        return FilePair(options, weights, vocabulary, embedding=asked_for)
    table = _embedding(folder, weights)
    if by_characters and vocabulary is None:
        return FilePair(options, weights, None, unused=table)
    return FilePair(options, weights, vocabulary, table)


def _options_of(weights: Path) -> Path | None:
    """AllenNLP's releases call a pair …_options.json and …_weights.hdf5, or …_weights_PubMed_only.hdf5."""
    stem, found, _ = weights.name.rpartition("weights")
    options = weights.with_name(f"{stem}options.json")
    return options if found and options.is_file() else None


def _weights_of(options: Path) -> Path | None:
    stem = options.name.removesuffix("options.json")
    weights = options.with_name(f"{stem}weights.hdf5")
    return weights if options.name.endswith("options.json") and weights.is_file() else None


def _only_options(folder: Path) -> Path:
    found = _options_files(folder)
    if not found:
        raise FormatError("there is no options.json next to the weights, which is needed to read them")
    if len(found) > 1 and (folder / "options.json") not in found and not _say_the_same(found):
        raise FormatError(f"there are several options ({found[0].name}, {found[1].name}); give the file you mean")
    return folder / "options.json" if folder / "options.json" in found else found[0]


def _say_the_same(options: list[Path]) -> bool:
    """Releases of one size differ only in their weights."""
    first, *others = (Settings.of(path).values for path in options)
    return all(other == first for other in others)


def _only_weights(folder: Path) -> Path:
    files = [path for path in _weight_files(folder) if not _holds_table(path)]
    for name in PREFERRED:
        if folder / name in files:
            return folder / name
    if len(files) == 1:
        return files[0]
    models = [path for path in files if _holds_model(path)]
    if len(models) != 1:
        names = ", ".join(path.name for path in (models or files)[:3]) or "none"
        raise FormatError(
            f"one HDF5 file with weights was expected, and {len(models)} were found ({names}); give its name"
        )
    return models[0]


def _embedding(folder: Path, weights: Path) -> Path | None:
    """The file with the table of a word-id model, if it is not among the weights."""
    with open_hdf5(weights) as file:
        if "embedding" in file.arrays:
            return None
    return next((path for path in _weight_files(folder) if _holds_table(path)), None)


def _holds_table(path: Path) -> bool:
    """Whether it is the output of bilm-tf's ``dump_token_embeddings``: a vector for each word, and nothing else."""
    try:
        with open_hdf5(path) as file:
            return set(file.arrays) == {"embedding"}
    except FormatError:
        return False  # reading it will report the error


def _holds_model(path: Path) -> bool:
    with open_hdf5(path) as file:
        return any(name.lower().startswith("rnn") for name in file.arrays)


def _options_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name.endswith("options.json") and path.is_file())


def _weight_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if _is_hdf5_name(path))


def _is_hdf5_name(path: Path) -> bool:
    if not path.is_file() or path.name.startswith("."):
        return False
    if path.suffix in SUFFIXES:
        return True
    with path.open("rb") as file:
        return file.read(8) == SIGNATURE
