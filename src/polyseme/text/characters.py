"""Tokens become rows of character ids, in the two schemes of the released models.

Byte scheme (bilm-tf, AllenNLP, SeqVec, NLPL)       Unicode scheme (ELMoForManyLangs)
    a token is its UTF-8 bytes                          a token is its code points
    begin  b1 … bk  end  pad …                          end  c1 … ck  begin  pad …      (swapped: trained like this)

Ids start at 1: row 0 of a model's character table is the zero vector for positions without a token.

Characters are composed: "é" is one code point and not "e" with an accent (Unicode's form NFC). Models have learned
composed text, and to them decomposed Hangul is another script. So ids are those of the composed token, and text is
split as if it were composed; tokens and offsets are still those of the given text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from unicodedata import combining, decomposition, is_normalized, normalize

from polyseme.errors import ConfigError

#: Full-width and half-width forms → the ordinary characters.
_NARROW_AND_WIDE = {
    code: normalize("NFKC", chr(code))
    for code in range(0xFF01, 0xFFEF)
    if decomposition(chr(code)).startswith(("<wide>", "<narrow>"))
}
#: Raw ids of the byte scheme; the model sees them plus one.
SENTENCE_BEGIN, SENTENCE_END, WORD_BEGIN, WORD_END, PADDING = 256, 257, 258, 259, 260
BYTE_ALPHABET = 261


def is_composed(text: str) -> bool:
    return text.isascii() or is_normalized("NFC", text)


def composed(token: str, *, fold_width: bool = False) -> str:
    """A token in the form that models know; with ``fold_width``, "１２" also becomes "12"."""
    if token.isascii():
        return token
    if fold_width:
        token = token.translate(_NARROW_AND_WIDE)
    return normalize("NFC", token)


def compose(text: str) -> tuple[str, list[int]]:
    """The composed text, and for each of its characters, and its end, the position in the original text."""
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
    """Whether a character belongs to the previous one: a mark, or a letter of the same Hangul syllable."""
    if combining(character):
        return True
    if character.isascii():
        return False
    return normalize("NFC", before + character) != normalize("NFC", before) + normalize("NFC", character)


@dataclass(frozen=True, slots=True)
class ByteScheme:
    """The original's scheme. ``specials`` are tokens with a single raw id instead of their bytes.

    >>> ByteScheme(max_characters=6).row("a")
    [259, 98, 260, 261, 261, 261]
    """

    SCHEME = "bytes"

    max_characters: int = 50
    specials: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _refuse_short(self.max_characters)
        for token, raw in self.specials.items():
            if not 0 <= raw < BYTE_ALPHABET:
                raise ConfigError(f"the special token {token!r} has id {raw}, but ids are 0 to {BYTE_ALPHABET - 1}")

    @property
    def alphabet(self) -> int:
        return BYTE_ALPHABET

    @property
    def padding(self) -> int:
        """The id that fills a row after the end of its token."""
        return PADDING + 1

    def row(self, token: str) -> list[int]:
        """``max_characters`` ids; a long token loses its last bytes, even in the middle of a character."""
        special = self.specials.get(token)
        if special is not None:
            return self._spell([special])
        # "ignore" drops lone surrogates, which have no UTF-8 form.
        return self._spell(token.encode("utf-8", "ignore")[: self.max_characters - 2])

    def begin_row(self) -> list[int]:
        """The row for the beginning of a sentence."""
        return self._spell([SENTENCE_BEGIN])

    def end_row(self) -> list[int]:
        """The row for the end of a sentence."""
        return self._spell([SENTENCE_END])

    def _spell(self, raw: bytes | list[int]) -> list[int]:
        ids = [WORD_BEGIN + 1, *(b + 1 for b in raw), WORD_END + 1]
        return ids + [PADDING + 1] * (self.max_characters - len(ids))


@dataclass(frozen=True, slots=True)
class UnicodeScheme:
    """ELMoForManyLangs' scheme: ``ids`` is its character dictionary, with the six specials of ``SPECIALS``.

    A token begins with the id of ``<eow>`` and ends with that of ``<bow>``.
    """

    SCHEME = "unicode"

    ids: Mapping[str, int]
    max_characters: int = 50

    SPECIALS = ("<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>")

    def __post_init__(self) -> None:
        _refuse_short(self.max_characters)
        for name in self.SPECIALS:
            if name not in self.ids:
                raise ConfigError(f"the character dictionary has no entry {name!r}, which its scheme needs")

    @property
    def alphabet(self) -> int:
        return max(self.ids.values()) + 1

    @property
    def padding(self) -> int:
        """The id that fills a row after the end of its token."""
        return self.ids["<pad>"] + 1

    def row(self, token: str) -> list[int]:
        """``max_characters`` ids; a long token loses its last code points."""
        if token in ("<bos>", "<eos>"):
            return self._spell([self.ids[token]])
        unknown = self.ids["<oov>"]
        return self._spell([self.ids.get(c, unknown) for c in token[: self.max_characters - 2]])

    def begin_row(self) -> list[int]:
        return self.row("<bos>")

    def end_row(self) -> list[int]:
        return self.row("<eos>")

    def _spell(self, raw: list[int]) -> list[int]:
        ids = [self.ids["<eow>"], *raw, self.ids["<bow>"]]
        ids += [self.ids["<pad>"]] * (self.max_characters - len(ids))
        return [i + 1 for i in ids]


Characters = ByteScheme | UnicodeScheme


def _refuse_short(max_characters: int) -> None:
    if max_characters < 3:
        raise ConfigError(
            f"max_characters is {max_characters}, but a token needs begin, one character and end: at least 3"
        )
