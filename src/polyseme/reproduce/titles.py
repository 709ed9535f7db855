"""What tasks, languages and layers are called: the same words in tables, notes and pictures."""

from __future__ import annotations

TITLES = {"squad": "SQuAD", "snli": "SNLI", "srl": "SRL", "coref": "Coref", "ner": "NER", "sst": "SST-5"}
#: What a task is trained on, one by one.
EXAMPLES = {
    "squad": "questions",
    "snli": "pairs",
    "srl": "sentences",
    "coref": "pieces of documents",
    "ner": "sentences",
    "sst": "phrases",
}
LANGUAGES = {"en": "English", "ko": "Korean", "zh": "Chinese"}


def layer_title(number: int) -> str:
    """ "token layer", "layer 1", "layer 2", …"""
    return f"layer {number}" if number else "token layer"
