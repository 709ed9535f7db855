"""A few lines of every set that `polyseme reproduce` reads, in the places where it looks for them."""

from __future__ import annotations

from pathlib import Path

from helpers.toy_data import write_documents, write_pairs, write_roles, write_squad
from helpers.toy_names import write_names
from polyseme.reproduce.budgets import ReportBudget

#: Networks of a few units, and everything else that small: all parts in a minute.
TINY = ReportBudget(
    name="quick",
    about="a few lines",
    preset="cpu",
    seeds={"ner": 2},
    seconds=dict.fromkeys(("squad", "snli", "srl", "coref", "ner", "sst"), 1.0),
    shares=(0.5, 1.0),
    changes={
        "ner": {"hidden": 8, "characters": 4, "epochs": 2, "batch": 4, "rate": 0.02},
        "sst": {"hidden": 6, "epochs": 1},
        "snli": {"hidden": 6, "characters": 4, "epochs": 1},
        "srl": {"hidden": 6, "depth": 2, "predicate_dim": 4, "detector": 4, "characters": 4, "epochs": 1},
        "squad": {"hidden": 6, "characters": 4, "epochs": 1, "paragraphs": 1.0},
        "coref": {"hidden": 6, "scorer": 6, "characters": 4, "epochs": 1},
    },
    probe_steps=40,
    sense_sets=("semeval2007",),
)
TEXT = """\
Here is your birthday present. The cat sat on a present. The bank is here. The cat sat on the bank.

Live in the present. Your cat is on the bank. The play is a present. Here is a play.
"""
TAGS = {"the": ("DET", "DT"), "a": ("DET", "DT"), "cat": ("NOUN", "NN"), "bank": ("NOUN", "NN"), "sat": ("VERB", "VBD")}
SENTENCES = ("the cat sat", "a bank sat", "the bank a cat", "sat the cat")
STATIC = "\n".join(
    f"{word} {' '.join(f'{(3 * number + place) % 7 - 3}.5' for place in range(4))}"
    for number, word in enumerate(("the", "cat", "sat", "bank", "present", "play", "is", "here", "birthday", "your"))
)
TREES = ("(3 (2 It) (4 (2 is) (4 good)))", "(1 (2 It) (0 (2 is) (0 bad)))", "(2 (2 It) (2 (2 is) (2 here)))")
SENSES = {
    "semcor": [("the bank here", "bank%1:17:01::"), ("bank a cat", "bank%1:14:00::")],
    "semeval2007": [("on the bank", "bank%1:14:00::"), ("your bank is", "bank%1:17:01::")],
}
INDEX = "bank%1:14:00:: 08420278 2 20\nbank%1:17:01:: 09213565 1 25\n"


def write_paper_data(folder: Path) -> Path:
    """Everything but the Korean and Chinese treebanks; vectors.txt are static vectors."""
    for name in ("ner", "squad", "snli", "srl", "coref/ontogum", "sst", "pos/en_ewt", "wsd", "corpora/en"):
        (folder / name).mkdir(parents=True)
    names = write_names(folder / "ner" / "uner-ewt")
    (names / "test.txt").write_text("Eve\tB-PER\nleft\tO\nRome\tB-LOC\n", encoding="utf-8")
    for split, size in (("train", 3), ("dev", 1)):
        write_squad(folder / "squad" / f"{split}.json", 4 * size, seed=size)
        write_pairs(folder / "snli" / f"{split}.tsv", size)
        write_roles(folder / "srl" / f"{split}.props", size)
        write_documents(folder / "coref" / "ontogum" / f"{split}.conll", size, seed=size)
        (folder / "sst" / f"{split}.txt").write_text("\n".join(TREES * size), encoding="utf-8")
    for split, sentences in (("train", SENTENCES), ("dev", SENTENCES[:2]), ("test", SENTENCES[2:])):
        (folder / "pos" / "en_ewt" / f"x-{split}.conllu").write_text(_treebank(sentences), encoding="utf-8")
    for name, rows in SENSES.items():
        _write_senses(folder / "wsd", name, rows)
    (folder / "wsd" / "index.sense").write_text(INDEX, encoding="utf-8")
    (folder / "corpora" / "en" / "enwiki-heldout.txt").write_text(TEXT, encoding="utf-8")
    (folder / "vectors.txt").write_text(STATIC + "\n", encoding="utf-8")
    return folder


def _treebank(sentences: tuple[str, ...]) -> str:
    blocks = (
        "".join(
            f"{number}\t{word}\t_\t{TAGS[word][0]}\t{TAGS[word][1]}\t_\t_\t_\t_\t_\n"
            for number, word in enumerate(sentence.split(), start=1)
        )
        for sentence in sentences
    )
    return "\n".join(blocks) + "\n"


def _write_senses(folder: Path, name: str, rows: list[tuple[str, str]]) -> None:
    sentences, keys = [], []
    for number, (sentence, key) in enumerate(rows):
        identity = f"d0.s{number}.t0"
        words = (
            f'<instance id="{identity}" lemma="bank" pos="NOUN">bank</instance>'
            if word == "bank"
            else f"<wf>{word}</wf>"
            for word in sentence.split()
        )
        sentences.append(f"<sentence>{''.join(words)}</sentence>")
        keys.append(f"{identity} {key}")
    xml = f"<corpus><text>{''.join(sentences)}</text></corpus>"
    (folder / f"{name}.data.xml").write_text(xml, encoding="utf-8")
    (folder / f"{name}.gold.key.txt").write_text("\n".join(keys) + "\n", encoding="utf-8")
