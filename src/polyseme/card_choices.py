"""What a model's card says of how it reads: the language of its text, where a sentence starts, how layers are mixed."""

from __future__ import annotations

from typing import Literal

from polyseme.formats.model import StoredModel
from polyseme.mixing import Mix

State = Literal["reset", "warm", "carry"]

#: What a model reads once at load with ``state="warm"``: plain prose, in words that every model can spell.
WARM_TEXT = (
    "It was early in the morning . The streets were still empty , and a light rain had begun to fall . "
    "She closed the door behind her , looked at the sky and walked towards the station . "
    '" There is time enough " , he had said , " for everything that matters . " '
    "In 1954 , some 300 people lived here ; today there are more than 12,000 ."
)


def card_language(stored: StoredModel) -> str:
    """How the model's card says that text is split; rules for every script where it says nothing."""
    languages = stored.card.get("languages") or ["any"]
    return str(stored.card.get("tokenization") or languages[0])


def card_state(stored: StoredModel) -> State:
    """Where the model's card says that a sentence starts; at the zero state where it says nothing."""
    return "warm" if stored.card.get("state") in ("warm", "carry") else "reset"


def warm_text(stored: StoredModel) -> str:
    """What the model reads before a sentence that starts warm."""
    return str(stored.card.get("warm_text") or WARM_TEXT)


def card_mix(stored: StoredModel) -> Mix:
    """How the model's card says that layers are mixed; their mean where it says nothing."""
    return "sum" if stored.card.get("mix") == "sum" else None
