"""One way to write a character: "é" is one code point and not "e" with an accent (Unicode's form NFC).

Models have learned composed text, and decomposed Hangul is to them another script. So ids are those of the composed
token, and text is split as if it were composed; tokens and offsets stay those of the text as it was given.
"""

from __future__ import annotations

from unicodedata import combining, decomposition, is_normalized, normalize

#: Full-width and half-width forms, and what they are forms of.
_NARROW_AND_WIDE = {
    code: normalize("NFKC", chr(code))
    for code in range(0xFF01, 0xFFEF)
    if decomposition(chr(code)).startswith(("<wide>", "<narrow>"))
}


def is_composed(text: str) -> bool:
    return text.isascii() or is_normalized("NFC", text)


def composed(token: str, *, fold_width: bool = False) -> str:
    """A token in the form that models know; with ``fold_width``, "１２" is "12" too."""
    if token.isascii():
        return token
    if fold_width:
        token = token.translate(_NARROW_AND_WIDE)
    return normalize("NFC", token)


def compose(text: str) -> tuple[str, list[int]]:
    """The text composed, and for every character of that, and its end, where it begins in the text as it is."""
    parts, starts = list[str](), list[int]()
    begin = 0
    for end in range(1, len(text) + 1):
        if end < len(text) and _joins(text[begin:end], text[end]):
            continue
        part = normalize("NFC", text[begin:end])
        parts.append(part)
        starts += [min(begin + number, end) for number in range(len(part))]
        begin = end
    return "".join(parts), [*starts, len(text)]


def _joins(before: str, character: str) -> bool:
    """Whether a character is part of the one before: a mark, or a letter of the same Hangul syllable."""
    if combining(character):
        return True
    if character.isascii():
        return False
    return normalize("NFC", before + character) != normalize("NFC", before) + normalize("NFC", character)
