"""The figures of the paper (Peters et al., 2018), to compare with ours; names of tasks, languages and layers."""

from __future__ import annotations

from dataclasses import dataclass

SETS = "The paper has SQuAD v1.1, all of SNLI, OntoNotes 5 (SRL, coreference), CoNLL-2003 (NER) and SST-5."
#: Training examples of the data sets released in their original form: questions, and labelled pairs.
TRAINED_ON = {"squad": 87_599, "snli": 549_367}
TITLES = {"squad": "SQuAD", "snli": "SNLI", "srl": "SRL", "coref": "Coref", "ner": "NER", "sst": "SST-5"}
#: What the training examples of a task are called.
EXAMPLES = {
    "squad": "questions",
    "snli": "pairs",
    "srl": "sentences",
    "coref": "pieces of documents",
    "ner": "sentences",
    "sst": "phrases",
}
LANGUAGES = {"en": "English", "ko": "Korean", "zh": "Chinese"}


@dataclass(frozen=True, slots=True)
class Gain:
    """A row of Table 1, in percent; ``spread`` is its ±."""

    previous: float
    previous_spread: float | None
    baseline: float
    elmo: float
    spread: float | None
    absolute: float
    relative: float  #: reduction of the baseline's error


TABLE_1 = {
    "squad": Gain(84.4, None, 81.1, 85.8, None, 4.7, 24.9),
    "snli": Gain(88.6, None, 88.0, 88.7, 0.17, 0.7, 5.8),
    "srl": Gain(81.7, None, 81.4, 84.6, None, 3.2, 17.2),
    "coref": Gain(67.2, None, 67.2, 70.4, None, 3.2, 9.8),
    "ner": Gain(91.93, 0.19, 90.15, 92.22, 0.10, 2.06, 21.0),
    "sst": Gain(53.7, None, 51.4, 54.7, 0.5, 3.3, 6.8),
}
#: Baseline, last layer only, all layers with λ = 1, all layers with λ = 0.001.
TABLE_2 = {"squad": (80.8, 84.7, 85.0, 85.2), "snli": (88.1, 89.1, 89.3, 89.5), "srl": (81.6, 84.1, 84.6, 84.8)}
#: Input only, input and output, output only.
TABLE_3 = {"squad": (85.1, 85.6, 84.8), "snli": (88.9, 89.5, 88.7), "srl": (84.7, 84.3, 80.9)}

#: Table 4: the neighbours of "play" in GloVe, and what the biLM finds, in our words.
GLOVE_PLAY = ("playing", "game", "games", "played", "players", "plays", "player", "Play", "football", "multiplayer")
BILM_PLAY = (
    ("a spectacular play on a grounder", "a player commended for his all-round excellent play"),
    ("a Broadway play", "actors with roles in a successful play"),
)

#: Table 5, F1 on all words; Table 6, accuracy.
SENSES = {
    "first sense in WordNet": 65.9,
    "Raganato et al.": 69.9,
    "Iacobacci et al.": 70.1,
    "CoVe, layer 1": 59.4,
    "CoVe, layer 2": 64.7,
    "biLM, layer 1": 67.4,
    "biLM, layer 2": 69.0,
}
TAGS = {
    "Collobert et al.": 97.3,
    "Ma and Hovy": 97.6,
    "Ling et al.": 97.8,
    "CoVe, layer 1": 93.3,
    "CoVe, layer 2": 92.8,
    "biLM, layer 1": 97.3,
    "biLM, layer 2": 96.8,
}
#: Perplexity of the paper's biLM on the 1 Billion Word Benchmark, average of both directions.
PERPLEXITY = 39.7


def layer_title(number: int) -> str:
    """ "token layer", "layer 1", "layer 2", …"""
    return f"layer {number}" if number else "token layer"
