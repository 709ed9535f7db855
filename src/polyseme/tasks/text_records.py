"""What was predicted of a text, as one record: its sentences, each with its tokens, their places and the answers.

    {"text": "Ada left. Bob slept.",
     "sentences": [{"tokens": ["Ada", "left", "."], "offsets": [[0, 3], [4, 8], [8, 9]],
                    "entities": [{"label": "PER", "start": 0, "end": 1, "start_char": 0, "end_char": 3, …}]},
                   …]}

``start`` and ``end`` count the tokens of the sentence, ``start_char`` and ``end_char`` the characters of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polyseme.text.tokenization import Sentence


def text_record(text: str, sentences: Sequence[Sentence], records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The records of a text's sentences → one."""
    placed = [
        {"tokens": list(sentence.tokens), "offsets": [list(span) for span in sentence.offsets]}
        | _placed(record, text, sentence)
        for sentence, record in zip(sentences, records, strict=True)
    ]
    return {"text": text, "sentences": placed}


def _placed(value: Any, text: str, sentence: Sentence) -> Any:
    """The same with characters beside tokens, wherever something has a start and an end."""
    if isinstance(value, list):
        return [_placed(one, text, sentence) for one in value]
    if not isinstance(value, dict):
        return value
    found = {name: _placed(one, text, sentence) for name, one in value.items()}
    if isinstance(start := value.get("start"), int) and isinstance(end := value.get("end"), int) and start < end:
        first, last = sentence.offsets[start][0], sentence.offsets[end - 1][1]
        found |= {"text": text[first:last], "start_char": first, "end_char": last}
    return found
