"""Write src/polyseme/formats/releases/known.toml from the table of all releases, shared/registry/models.tsv.

    python benchmarks/make_releases.py

The table is what was found in public repositories, a row for each release. This script is the review of it: which rows
are left out and why, what each release is called, where its files are, and which settings make it right. A row that is
neither left out nor described here is an error, so that a longer table has to be reviewed again.
"""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

from shared_data import SHARED

TABLE = SHARED / "registry" / "models.tsv"
OUT = Path(__file__).parents[1] / "src" / "polyseme" / "formats" / "releases" / "known.toml"

Row = dict[str, str]
Fields = dict[str, Any]

#: Rows that are not shipped: the reason for each.
LEFT_OUT = {
    "seqvec-head-secstruct": "a task's network on top of SeqVec, not a biLM",
    "seqvec-head-subcell": "a task's network on top of SeqVec, not a biLM",
    "ja-stockmark-1": "no address but an article's",
    "ja-stockmark-2": "no address but an article's",
    "hf/lysandre-elmo": "a copy of original, which has it as a mirror",
    "hf/lysandre-elmo-original": "another copy of original; the names of its files are not known",
    "hf/ishikura-elmo": "nobody says what it holds",
    "india": "no address was found",
}

S3 = "https://s3-us-west-2.amazonaws.com/allennlp/models/elmo"
S3_VIRTUAL_HOST = "https://allennlp.s3.amazonaws.com/models/elmo"
WORDS_1B = "1B Word Benchmark: as in the Penn Treebank"
#: Ubiquitin, whose sequence every textbook has.
PROTEIN = " ".join("MQIFVKTLTGKTITLEVEPSDTIENVKAKIQDKEGIPPDQQRLIFAGKQLEDGRTLSDYNIQKESTLHLVLRLRGG")

#: What all members of a family share. ``state``: all were trained with carried state, so that a sentence starts warm.
FAMILIES: dict[str, Fields] = {
    "allennlp": {"container": "HDF5 pair", "languages": ["en"], "words": WORDS_1B, "state": "warm"},
    "bilm-tf": {"container": "TF checkpoint", "languages": ["en"], "words": WORDS_1B, "state": "warm"},
    "contributed": {"container": "HDF5 pair", "state": "warm"},
    "manylangs": {
        "container": "ManyLangs, zip",
        "licence": "CC BY 4.0 (the repository's; not stated for this model)",
        "trained_on": "20 million words of Wikipedia and Common Crawl (CoNLL 2018)",
        "words": "Universal Dependencies",
        "state": "warm",
        "notes": "every address was reported dead in 2021, and found again in 2023",
        "seen_in": "HIT-SCIR/ELMoForManyLangs: README.md",
    },
    "nlpl": {
        "container": "HDF5 pair, zip",
        "licence": "CC BY 4.0 (the repository's norm; not stated for this model)",
        "state": "warm",
    },
    "norlm": {
        "container": "HDF5 pair, zip",
        "languages": ["nb"],
        "licence": "CC BY 4.0 (as its paper says)",
        "state": "warm",
    },
    "embeddia": {
        "container": "HDF5 pair, tar.gz",
        "state": "warm",
        "notes": "the address follows that of the Slovenian model; nobody has tried it",
        "trained_on": "large monolingual corpora (Ulčar and Robnik-Šikonja, 2020)",
    },
    "tf-hub": {"container": "TF-Hub, tar.gz", "state": "warm"},
}

#: name in the table → (our name, family, what is said of it, other names). The order is the order of `polyseme models`.
REVIEWED: dict[str, tuple[str, str, Fields, list[str]]] = {
    "original": (
        "original",
        "allennlp",
        {"title": "English ELMo, 93.6 million weights", "megabytes": 374},
        ["2x4096_512_2048cnn_2xhighway", "elmo_2x4096_512_2048cnn_2xhighway", "elmo-original"],
    ),
    "original-5.5b": (
        "original-5.5b",
        "allennlp",
        {
            "title": "English ELMo, 93.6 million weights, seven times the text; its authors' choice",
            "megabytes": 374,
            "trained_on": "Wikipedia (1.9 billion tokens) and WMT news 2008-2012 (3.6 billion)",
        },
        ["5.5b", "large", "2x4096_512_2048cnn_2xhighway_5.5b", "elmo_2x4096_512_2048cnn_2xhighway_5.5b"],
    ),
    "medium": (
        "medium",
        "allennlp",
        {"title": "English ELMo, 28.0 million weights", "megabytes": 112},
        ["2x2048_256_2048cnn_1xhighway", "elmo_2x2048_256_2048cnn_1xhighway", "elmo-medium"],
    ),
    "small": (
        "small",
        "allennlp",
        {"title": "English ELMo, 13.6 million weights", "megabytes": 54},
        ["2x1024_128_2048cnn_1xhighway", "elmo_2x1024_128_2048cnn_1xhighway", "elmo-small"],
    ),
    "pubmed": (
        "pubmed",
        "contributed",
        {"title": "English ELMo of PubMed", "languages": ["en"], "trained_on": "PubMed", "megabytes": 374},
        [],
    ),
    "pt-wikipedia": (
        "pt",
        "contributed",
        {"title": "Portuguese ELMo of Wikipedia", "languages": ["pt"], "trained_on": "Portuguese Wikipedia"},
        ["portuguese", "pt-wikipedia"],
    ),
    "pt-brwac": (
        "pt-brwac",
        "contributed",
        {"title": "Portuguese ELMo of the Brazilian web", "languages": ["pt"], "trained_on": "brWaC"},
        ["brwac"],
    ),
    "seqvec": (
        "seqvec",
        "contributed",
        {
            "title": "SeqVec: ELMo of proteins",
            "languages": ["protein"],
            "tokenization": "protein",
            "licence": "MIT (of its repository)",
            "trained_on": "UniRef50",
            "words": "one residue a token; a residue is the sum of its layers, a protein the mean of its residues",
            "mix": "sum",
            "warm_text": PROTEIN,
            "megabytes": 374,
            "notes": "its first host, rostlab.org, is dead since March 2024; these are mirrors",
        },
        ["uniref50", "uniref50_v2"],
    ),
    "small-lm": (
        "small-lm",
        "bilm-tf",
        {"title": "small with its softmax, for score, substitutes and finetune", "megabytes": 930},
        [],
    ),
    "medium-lm": (
        "medium-lm",
        "bilm-tf",
        {"title": "medium with its softmax, for score, substitutes and finetune", "megabytes": 1860},
        [],
    ),
    "original-lm": (
        "original-lm",
        "bilm-tf",
        {"title": "original with its softmax, for score, substitutes and finetune", "megabytes": 4010},
        [],
    ),
    "tfhub-elmo-3": (
        "tfhub-elmo-3",
        "tf-hub",
        {"title": "English ELMo of TensorFlow Hub, version 3", "languages": ["en"], "words": "split at spaces"},
        ["google/elmo", "google/elmo/3", "https://tfhub.dev/google/elmo", "https://tfhub.dev/google/elmo/3"],
    ),
    "tfhub-elmo-2": (
        "tfhub-elmo-2",
        "tf-hub",
        {"title": "English ELMo of TensorFlow Hub, version 2", "languages": ["en"], "words": "split at spaces"},
        ["google/elmo/2", "https://tfhub.dev/google/elmo/2"],
    ),
    "tfhub-elmo-1": (
        "tfhub-elmo-1",
        "tf-hub",
        {"title": "English ELMo of TensorFlow Hub, version 1", "languages": ["en"], "words": "split at spaces"},
        ["google/elmo/1", "https://tfhub.dev/google/elmo/1"],
    ),
    "de-tsystems": (
        "de-tsystems",
        "contributed",
        {
            "title": "German ELMo of Wikipedia, by Philip May (T-Systems); perplexity 40.17",
            "languages": ["de"],
            "trained_on": "German Wikipedia with its talk pages, 963 million tokens",
        },
        ["german-elmo", "german"],
    ),
    "de-tsystems-lm": (
        "de-tsystems-lm",
        "contributed",
        {
            "title": "de-tsystems with its softmax of 800,000 words",
            "container": "TF checkpoint, tar.gz",
            "languages": ["de"],
            "trained_on": "German Wikipedia with its talk pages, 963 million tokens",
        },
        [],
    ),
    "ja-exawizards": (
        "ja-exawizards",
        "contributed",
        {
            "title": "Japanese ELMo, by ExaWizards (ACL 2019)",
            "languages": ["ja"],
            "notes": "on a trial account; an earlier address broke in 2019",
        },
        ["japanese"],
    ),
    "eu-plur": (
        "eu-plur",
        "contributed",
        {
            "title": "Basque ELMo, by Stefan Schweter (plur)",
            "languages": ["eu"],
            "trained_on": "72.7 million tokens of Wikipedia, OPUS and Leipzig",
            "notes": "on a private host",
        },
        ["basque"],
    ),
    "ta-plur": (
        "ta-plur",
        "contributed",
        {
            "title": "Tamil ELMo, by Stefan Schweter (plur)",
            "languages": ["ta"],
            "trained_on": "21.6 million tokens",
            "notes": "on a private host",
        },
        ["tamil"],
    ),
    "bioelmo": (
        "bioelmo",
        "contributed",
        {
            "title": "BioELMo: English ELMo of PubMed abstracts (Jin et al., 2019); perplexity 31.37",
            "languages": ["en"],
            "trained_on": "10 million PubMed abstracts, 2.46 billion tokens",
            "notes": "on Google Drive, where a program gets a page instead of a file",
        },
        [],
    ),
    "bioelmo-lm": (
        "bioelmo-lm",
        "bilm-tf",
        {
            "title": "bioelmo with its softmax of a million words",
            "trained_on": "10 million PubMed abstracts, 2.46 billion tokens",
            "words": "",
            "notes": "on Google Drive, where a program gets a page instead of a file",
        },
        [],
    ),
    "clinical-mimic": (
        "clinical-mimic",
        "contributed",
        {
            "title": "English ELMo of clinical notes (Zhu et al., 2018)",
            "languages": ["en"],
            "container": "HDF5 pair, tar.gz",
            "trained_on": "MIMIC-III and clinical articles of Wikipedia",
        },
        ["clinical"],
    ),
    "deeppavlov-ru-wiki": (
        "deeppavlov-ru-wiki",
        "tf-hub",
        {
            "title": "Russian ELMo of Wikipedia, by DeepPavlov; perplexity 43.69",
            "languages": ["ru"],
            "licence": "Apache-2.0 (of its repository)",
            "trained_on": "Russian Wikipedia, 386 million tokens",
        },
        [],
    ),
    "deeppavlov-ru-news": (
        "deeppavlov-ru-news",
        "tf-hub",
        {
            "title": "Russian ELMo of news, by DeepPavlov; perplexity 49.88",
            "languages": ["ru"],
            "licence": "Apache-2.0 (of its repository)",
            "trained_on": "Russian WMT news, 946 million tokens",
        },
        [],
    ),
    "deeppavlov-ru-twitter": (
        "deeppavlov-ru-twitter",
        "tf-hub",
        {
            "title": "Russian ELMo of Twitter, by DeepPavlov; perplexity 94.15",
            "languages": ["ru"],
            "licence": "Apache-2.0 (of its repository)",
            "trained_on": "Russian Twitter, 810 million tokens",
        },
        [],
    ),
    "nlpl/195": (
        "nlpl:195",
        "nlpl",
        {
            "title": "Russian ELMo, by RusVectores",
            "languages": ["ru"],
            "trained_on": "Russian National Corpus and Wikipedia, December 2018",
            "words": "tokens",
        },
        [],
    ),
    "nlpl/196": (
        "nlpl:196",
        "nlpl",
        {
            "title": "Russian ELMo of lemmas, by RusVectores",
            "languages": ["ru"],
            "trained_on": "Russian National Corpus and Wikipedia, December 2018",
            "words": "lemmas: give it lemmas, not words",
        },
        [],
    ),
    "nlpl/199": (
        "nlpl:199",
        "nlpl",
        {
            "title": "Russian ELMo of lemmas, Taiga, by RusVectores",
            "languages": ["ru"],
            "trained_on": "Taiga, December 2019",
            "words": "lemmas: give it lemmas, not words",
        },
        [],
    ),
    "nlpl/201": ("nlpl:201", "nlpl", {"title": "German ELMo of SemEval-2020 task 1", "languages": ["de"]}, []),
    "nlpl/202": ("nlpl:202", "nlpl", {"title": "Swedish ELMo of SemEval-2020 task 1", "languages": ["sv"]}, []),
    "nlpl/203": ("nlpl:203", "nlpl", {"title": "Latin ELMo of SemEval-2020 task 1", "languages": ["la"]}, []),
    "nlpl/209": ("nlpl:209", "nlpl", {"title": "English ELMo of SemEval-2020 task 1", "languages": ["en"]}, []),
    "nlpl/210": (
        "nlpl:210",
        "norlm",
        {
            "title": "Norwegian ELMo of lemmas (NorLM)",
            "trained_on": "Norwegian Wikipedia, September 2020, 160 million words",
            "words": "lemmas of UDPipe: give it lemmas, not words",
        },
        [],
    ),
    "nlpl/211": (
        "nlpl:211",
        "norlm",
        {
            "title": "Norwegian ELMo of Wikipedia (NorLM)",
            "trained_on": "Norwegian Wikipedia, September 2020, 160 million words",
            "words": "UDPipe",
        },
        [],
    ),
    "nlpl/217": (
        "nlpl:217",
        "norlm",
        {
            "title": "NorELMo30: Norwegian ELMo (NorLM)",
            "trained_on": "Wikipedia and Norsk Aviskorpus, about 2 billion tokens",
            "words": "UDPipe",
        },
        ["norelmo30"],
    ),
    "nlpl/218": (
        "nlpl:218",
        "norlm",
        {
            "title": "NorELMo100: Norwegian ELMo (NorLM)",
            "trained_on": "Wikipedia and Norsk Aviskorpus, about 2 billion tokens",
            "words": "UDPipe",
        },
        ["norelmo100"],
    ),
    "nlpl/219": (
        "nlpl:219",
        "nlpl",
        {
            "title": "said to be an English ELMo",
            "languages": ["en"],
            "notes": "one program recommends it; nobody says what it is",
        },
        [],
    ),
    "manylangs/zhs": (
        "manylangs:zhs",
        "manylangs",
        {
            "title": "simplified Chinese, ELMoForManyLangs",
            "container": "ManyLangs, tar.bz2",
            "languages": ["zh"],
            "licence": "",
            "trained_on": "the Xinhua part of Chinese Gigaword 5",
            "words": "segmented words",
            "dead": True,
            "notes": "its host has not answered since 2018, and no mirror is known",
        },
        [],
    ),
    "transformer-elmo": (
        "transformer-elmo",
        "contributed",
        {
            "title": "Transformer ELMo of AllenNLP",
            "languages": ["en"],
            "container": "AllenNLP archive",
            "state": "",
            "refused": "it is a Transformer, not the LSTM network of ELMo",
        },
        [],
    ),
    "hf/test-elmo-tiny": (
        "test-elmo-tiny",
        "contributed",
        {
            "title": "the tiny model of bilm-tf's own tests",
            "languages": ["en"],
            "state": "",
            "megabytes": 1,
            "hub": "lysandre/test-elmo-tiny",
        },
        [],
    ),
    "hf/bidaf-elmo": (
        "bidaf-elmo",
        "contributed",
        {
            "title": "the ELMo in AllenNLP's reading model BiDAF",
            "languages": ["en"],
            "container": "AllenNLP archive",
            "megabytes": 450,
            "hub": "allenai/bidaf-elmo",
            "words": WORDS_1B,
        },
        [],
    ),
}

#: Rows whose files do not follow from the columns of their addresses.
TF_HUB = "https://storage.googleapis.com/tfhub-modules/google/elmo/{}.tar.gz"
SOURCES: dict[str, list[dict[str, str]]] = {
    "seqvec": [
        {
            "options.json": "http://data.bioembeddings.com/public/embeddings/embedding_models/seqvec/options.json",
            "weights.hdf5": "http://data.bioembeddings.com/public/embeddings/embedding_models/seqvec/weights.hdf5",
        },
        {"seqvec.zip": "https://lbs.cent.uw.edu.pl/static/files/seqvec.zip"},
        {"seqvec.zip": "https://web.archive.org/web/20220324054637/https://rostlab.org/~deepppi/seqvec.zip"},
    ],
    **{
        f"tfhub-elmo-{version}": [
            {"module.tar.gz": f"https://tfhub.dev/google/elmo/{version}?tf-hub-format=compressed"},
            {"module.tar.gz": TF_HUB.format(version)},
        ]
        for version in (1, 2, 3)
    },
    "de-tsystems-lm": [
        {
            f"bilm-output-result.tgz.part-{part:02d}": (
                "https://github.com/t-systems-on-site-services-gmbh/german-elmo-model/releases/download/files_1/"
                f"bilm-output-result.tgz.part-{part:02d}"
            )
            for part in range(4)
        }
    ],
    "transformer-elmo": [],
}

#: By hand: pages where a browser gets the files.
BY_HAND = {"bioelmo": "Andy-jqa/bioelmo", "bioelmo-lm": "Andy-jqa/bioelmo"}


def main() -> None:
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = {row["name"]: row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)}
    OUT.write_text(known_releases(rows), encoding="utf-8")
    print(f"{OUT}: {OUT.read_text(encoding='utf-8').count('[[release]]')} of {len(rows)} rows")


def known_releases(rows: dict[str, Row]) -> str:
    """The file, of all rows that are shipped."""
    reviewed = dict(REVIEWED)
    for name, row in rows.items():
        if match := re.fullmatch(r"(manylangs|embeddia)/(\w+)", name):
            reviewed.setdefault(name, _family_member(row, *match.groups()))
    missing = [name for name in rows if name not in reviewed and _reason(name) is None]
    if missing:
        raise SystemExit(f"the table has rows that were not reviewed: {', '.join(missing)}")
    parts = [HEAD, *(_table(f"family.{name}", fields) for name, fields in FAMILIES.items())]
    parts += [_release(rows[name], *told) for name, told in reviewed.items() if name in rows]
    return "\n".join(parts)


HEAD = """\
# The releases of ELMo in the world, by name. Written by benchmarks/make_releases.py: change that, not this.
# No address was tried when the table behind it was collected. What `family` names is taken from [family.NAME].
"""


def _reason(name: str) -> str | None:
    return LEFT_OUT.get(name) or LEFT_OUT.get(name.partition("/")[0])


def _family_member(row: Row, family: str, language: str) -> tuple[str, str, Fields, list[str]]:
    title = row["what"].rpartition(", ")[2]
    fields: Fields = {"title": f"{title}, {'ELMoForManyLangs' if family == 'manylangs' else 'EMBEDDIA'}"}
    fields["languages"] = [language]
    if family == "embeddia" and language == "sl":
        fields["notes"] = ""
    aliases = []
    if match := re.search(r"/repository/(\d+)/(\d+)\.zip", row["weights_url"]):
        aliases = [f"nlpl:{match[2]}", f"{match[1]}/{match[2]}"]
    return f"{family}:{language}", family, fields, aliases


def _release(row: Row, name: str, family: str, fields: Fields, aliases: list[str]) -> str:
    if ":" in name:
        aliases = [name.replace(":", "/"), *aliases]
    shown: Fields = {"name": name, "family": family, "aliases": aliases, **fields}
    if "trained_on" not in fields and "trained_on" not in FAMILIES[family] and _is_stated(row["training_data"]):
        shown["trained_on"] = row["training_data"]
    shown["seen_in"] = "" if "seen_in" in FAMILIES[family] else _seen_in(row["source"])
    if row["name"] in BY_HAND:
        shown["by_hand"] = f"https://github.com/{BY_HAND[row['name']]}"
    if checksums := _checksums(row):
        shown["checksums"] = checksums
    text = _table("release", {key: value for key, value in shown.items() if value != [] and value != ""}, kept=fields)
    sources = [] if row["name"] in BY_HAND or "hub" in fields else _sources(row)
    return "\n".join([text, *map(_source, sources)])


def _seen_in(source: str) -> str:
    """The public pages and repositories that a row comes from, without how they were found."""
    parts = [part.strip() for part in re.split(r"; | and (?=#)", source)]
    return "; ".join(part for part in parts if re.match(r"[\w.-]+[./#][\w.-]+", part) and "find_string" not in part)


def _is_stated(text: str) -> bool:
    return bool(text) and not text.startswith(("not stated", "as "))


def _sources(row: Row) -> list[dict[str, str]]:
    """The places where all files of a release lie, in the order in which they are tried."""
    if row["name"] in SOURCES:
        return SOURCES[row["name"]]
    weights, options = row["weights_url"], row["options_url"]
    if "tf_checkpoint" in weights:
        data = weights.partition(" ")[0]
        prefix = data.removesuffix(".data-00000-of-00001")
        name = prefix.rpartition("/")[2]
        return [
            {
                "options.json": options,
                "vocab.txt": f"{S3}/vocab-2016-09-10.txt",
                f"{name}.index": f"{prefix}.index",
                f"{name}.data-00000-of-00001": data,
            }
        ]
    if not options:
        return [{weights.rpartition("/")[2]: weights}]
    pair = {"options.json": options, "weights.hdf5": weights}
    sources = [pair]
    if row["name"] in ("original", "original-5.5b", "medium", "small"):
        sources.append({name: url.replace(S3, S3_VIRTUAL_HOST) for name, url in pair.items()})
    if row["name"] == "original":
        hub = "https://huggingface.co/lysandre/elmo/resolve/main"
        sources.append({name: f"{hub}/{name}" for name in pair})
    if row["name"] == "pt-wikipedia":
        older = f"{S3}/contributed/pt"
        names = {"options.json": "elmo_pt_options.json", "weights.hdf5": "elmo_pt_weights.hdf5"}
        sources.append({name: f"{older}/{there}" for name, there in names.items()})
    return sources


def _checksums(row: Row) -> dict[str, str]:
    """SHA-256 where it was published, else SHA-1: MD5 adds nothing to it."""
    text = row["checksum"]
    if row["name"] == "de-tsystems":
        options, weights = re.findall(r"SHA1 ([0-9a-f]{40})", text)
        return {"options.json": f"sha1:{options}", "weights.hdf5": f"sha1:{weights}"}
    if row["name"] == "de-tsystems-lm":
        return {"bilm-output-result.tgz": f"sha1:{re.findall(r'SHA1 ([0-9a-f]{40})', text)[0]}"}
    if row["name"] == "hf/bidaf-elmo":
        return {"weights.th": f"sha256:{re.findall(r'sha256 ([0-9a-f]{64})', text)[0]}"}
    return {}


def _table(title: str, fields: Fields, kept: Fields | None = None) -> str:
    """One table of TOML; an empty text in ``kept`` says that the family's value does not hold."""
    brackets = f"[[{title}]]" if title == "release" else f"[{title}]"
    fields = {**fields, **{key: value for key, value in (kept or {}).items() if value == ""}}
    order = ["name", "family", "aliases", "title", *sorted(set(fields) - {"name", "family", "aliases", "title"})]
    lines = [f"{key} = {_value(fields[key])}" for key in order if key in fields]
    return "\n".join([brackets, *lines]) + "\n"


def _source(files: dict[str, str]) -> str:
    lines = [f"{_value(name)} = {_value(url)}" for name, url in files.items()]
    return "\n".join(["[[release.sources]]", *lines]) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_value(key)} = {_value(one)}" for key, one in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)  # strings, numbers and lists are written in TOML as in JSON


if __name__ == "__main__":
    main()
