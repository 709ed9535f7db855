"""The card as people read it: short fields as a list, fields with fields of their own as sections."""

from __future__ import annotations

import json
from dataclasses import replace

from helpers.small_models import small_model
from polyseme.formats.card import card_text

CARD = {
    "name": "old-norse",
    "description": "Sagas.",
    "languages": ["non"],
    "licence": "CC0-1.0",
    "training": {
        "tokens_seen": 12_005_353,
        "held_out": {"forward": 182.369, "backward": 181.2},
        "recipe": {"a": {"b": 1}},
    },
    "sources": [{"text": "saga", "licence": "public domain"}, {"text": "edda", "from": "a manuscript"}],
}


def test_a_card_has_sections() -> None:
    head, _, rest = card_text(replace(small_model(), card=CARD)).partition("# old-norse\n")
    assert 'license: "cc0-1.0"' in head
    assert "\nSagas.\n" in rest
    assert "- languages: non\n- licence: CC0-1.0\n" in rest
    assert "## Training\n\n- tokens seen: 12,005,353\n- held out: forward 182.4, backward 181.2\n" in rest
    assert (
        "| Text | Licence | From |\n| --- | --- | --- |\n| saga | public domain |  |\n| edda |  | a manuscript |\n"
        in rest
    )


def test_what_has_levels_stands_there_as_json() -> None:
    text = card_text(replace(small_model(), card=CARD))
    block = text.partition("Recipe:\n\n```json\n")[2].partition("\n```")[0]
    assert json.loads(block) == {"a": {"b": 1}}


def test_an_empty_card_names_the_network() -> None:
    text = card_text(replace(small_model(), card={}))
    assert "# A biLM\n" in text
    assert "A bidirectional language model for contextual word vectors, " in text
    assert "##" not in text.replace("# A biLM", "")
