"""ELMoForManyLangs: a folder with config.json, the architecture it names, two dictionaries and two state dicts."""

from __future__ import annotations

from pathlib import Path

from polyseme.bilm_config import BiLMConfig, CharacterConfig, WordConfig
from polyseme.errors import ConfigError, FormatError
from polyseme.formats.arrays import ArrayFile
from polyseme.formats.json_file import Settings
from polyseme.formats.model import SoftmaxWeights, StoredModel
from polyseme.formats.names import MANYLANGS
from polyseme.formats.native import in_order, unicode_scheme
from polyseme.formats.renaming import read_tensors
from polyseme.formats.torch_file import read_state_dict
from polyseme.text.vocabulary import BEGIN, END, UNKNOWN, Indexer, Vocabulary, WordTable

TITLE = "ELMoForManyLangs"
ENCODER, EMBEDDER, CLASSIFIER = "encoder.pkl", "token_embedder.pkl", "classifier.pkl"
ARCHITECTURE = "cnn_50_100_512_4096_sample.json"
LARGEST_DICTIONARY = 1 << 30
IDEOGRAPHIC_SPACE = "\u3000"
#: Names of the softmax's special words here → in every other model.
SPECIALS = {"<oov>": UNKNOWN, "<bos>": BEGIN, "<eos>": END}

#: The architecture that comes with the program, with which models without their own were trained.
SHIPPED = {
    "encoder": {"name": "elmo", "projection_dim": 512, "dim": 4096, "n_layers": 2, "cell_clip": 3, "proj_clip": 3},
    "token_embedder": {
        "name": "cnn",
        "activation": "relu",
        "filters": [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]],
        "n_highway": 2,
        "word_dim": 100,
        "char_dim": 50,
        "max_characters_per_token": 50,
    },
}


def is_manylangs(path: Path) -> bool:
    """Whether a folder looks like an ELMoForManyLangs model, complete or not."""
    return path.is_dir() and ((path / ENCODER).is_file() or (path / EMBEDDER).is_file())


def load_manylangs(folder: Path) -> StoredModel:
    """Read an ELMoForManyLangs folder."""
    architecture = find_architecture(folder)
    has_words = architecture.whole("token_embedder.word_dim") > 0
    has_characters = architecture.whole("token_embedder.char_dim") > 0
    words = read_dictionary(folder / "word.dic") if has_words or (folder / CLASSIFIER).is_file() else {}
    characters = read_dictionary(folder / "char.dic") if has_characters else {}
    config = _config(architecture, len(characters), len(words) if has_words else 0)
    embedder, encoder = read_state_dict(folder / EMBEDDER), read_state_dict(folder / ENCODER)
    both = ArrayFile(f"{EMBEDDER} and {ENCODER}", {**embedder.arrays, **encoder.arrays}, embedder.size + encoder.size)
    longest = architecture.whole("token_embedder.max_characters_per_token")
    try:
        indexer = Indexer(
            unicode_scheme(characters, longest, "char.dic") if has_characters else None,
            WordTable(words, "<oov>", "<bos>", "<eos>", longest - 2) if has_words else None,
        )
    except ConfigError as error:
        raise FormatError(f"word.dic: {error}") from None
    return StoredModel(
        config=config,
        tensors=read_tensors(both, MANYLANGS, config),
        indexer=indexer,
        vocabulary=Vocabulary(tuple(SPECIALS.get(word, word) for word in in_order(words))) if words else None,
        softmax=_softmax(folder, len(words), config.projection),
        card={"assumed": [f"the architecture of {ARCHITECTURE}"]} if architecture.values is SHIPPED else {},
        format=TITLE,
    )


def find_architecture(folder: Path) -> Settings:
    """The settings that config.json points to.

    Most released folders name a path on the machine they were trained on, so only the file's name is used.
    """
    named = Settings.of(folder / "config.json") if (folder / "config.json").is_file() else Settings({}, "config.json")
    config_path = Path(named.text("config_path")) if named.has("config_path") else Path(ARCHITECTURE)
    for path in (folder / config_path.name, folder / config_path):
        if path.is_file():
            return Settings.of(path)
    return Settings(SHIPPED, ARCHITECTURE)


def read_dictionary(path: Path) -> dict[str, int]:
    """word.dic or char.dic: an entry, a tab, its id; ids count every entry once.

    A line with one field is the id of U+3000, which the program's own reader stripped as white space.
    """
    if not path.is_file():
        raise FormatError(f"the file {path.name} is missing")
    if path.stat().st_size > LARGEST_DICTIONARY:
        raise FormatError(f"{path.name} has {path.stat().st_size:,} bytes, too many for a dictionary")
    try:
        lines = path.read_bytes().decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path.name} is not UTF-8 (at byte {error.start})") from None
    ids: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        fields = line.strip().split("\t")
        if fields == [""] and number == len(lines):
            continue  # the rest after the last line end
        entry, text = fields if len(fields) == 2 else (IDEOGRAPHIC_SPACE, fields[0])
        if len(fields) > 2 or not (text.isascii() and text.isdigit() and len(text) < 10):
            raise FormatError(f"{path.name}, line {number}: expected an entry, a tab and its id, found {line[:40]!r}")
        ids[entry] = int(text)
    if sorted(ids.values()) != list(range(len(ids))):
        raise FormatError(f"{path.name}: the ids of its {len(ids)} entries are not 0 to {len(ids) - 1}, each once")
    return ids


def _config(architecture: Settings, characters: int, words: int) -> BiLMConfig:
    for part, kind in (("encoder", "elmo"), ("token_embedder", "cnn")):
        if (name := architecture.text(f"{part}.name").lower()) != kind:
            raise FormatError(f"{architecture.where}: the {part} is of kind {name!r}, and only {kind!r} is known")
    activation = architecture.text("token_embedder.activation")
    if activation not in ("relu", "tanh"):
        raise FormatError(f"{architecture.where}: the activation is {activation!r}, but should be 'relu' or 'tanh'")
    try:
        return BiLMConfig(
            characters=CharacterConfig(
                alphabet=characters,
                dim=architecture.whole("token_embedder.char_dim"),
                max_characters=architecture.whole("token_embedder.max_characters_per_token"),
                filters=architecture.pairs("token_embedder.filters"),
                highways=architecture.whole("token_embedder.n_highway"),
                activation="relu" if activation == "relu" else "tanh",
            )
            if characters
            else None,
            words=WordConfig(words, architecture.whole("token_embedder.word_dim")) if words else None,
            cell=architecture.whole("encoder.dim"),
            projection=architecture.whole("encoder.projection_dim"),
            layers=architecture.whole("encoder.n_layers"),
            cell_clip=architecture.real_or_none("encoder.cell_clip") or None,  # 0 means no clip here
            projection_clip=architecture.real_or_none("encoder.proj_clip") or None,
        )
    except ConfigError as error:
        raise FormatError(f"{architecture.where}: {error}") from None


def _softmax(folder: Path, words: int, size: int) -> SoftmaxWeights | None:
    """The optional classifier, from the sampled or the plain softmax."""
    if not (folder / CLASSIFIER).is_file():
        return None
    file = read_state_dict(folder / CLASSIFIER)
    if "hidden2tag.weight" in file.arrays:
        file.check({"hidden2tag.weight": (words, size), "hidden2tag.bias": (words,)})
        return SoftmaxWeights(file.read("hidden2tag.weight"), file.read("hidden2tag.bias"))
    # oov_column, a third array, does not affect the program's scores.
    file.check({"column_emb.weight": (words, size), "column_bias.weight": (words, 1)})
    return SoftmaxWeights(file.read("column_emb.weight"), file.read("column_bias.weight").reshape(-1))
