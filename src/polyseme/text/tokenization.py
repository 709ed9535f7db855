"""Text → sentences → tokens, with the place of every token in the text.

    split_text("Mr. Bush didn't go. He rang.")
    # [Sentence(tokens=['Mr.', 'Bush', 'did', "n't", 'go', '.'], offsets=[(0, 3), (4, 8), …]), Sentence(…)]

A token is exactly ``text[start:end]`` and holds no whitespace; every other character is in one token. The words are
those of the Universal Dependencies treebanks, Korean ones parted into morphemes; docs/tokenization.md says how closely.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from polyseme.text import any_language, chinese, english, eojeol, korean
from polyseme.text.composed import compose, is_composed
from polyseme.text.linear_tagger import cut
from polyseme.text.own_tokenizer import Language, added_tokenizer, split_with
from polyseme.text.sentences import split_sentences

Span = tuple[int, int]

#: Names that no package can take.
BUILT_IN = frozenset({"any", "en", "ko", "ko-eojeol", "protein", "whitespace", "zh"})

#: What a token of a language is, where it is smaller than a word of the treebanks; a model's card notes it.
UNITS = {"ko": "morpheme"}
#: How the words of the treebanks are found instead.
_WORDS = {"ko": "ko-eojeol"}

_LINE = re.compile(r"[^\r\n]+")
_CHUNK = re.compile(r"\S+")
_RESIDUE = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Sentence:
    """The tokens of one sentence and where each stands in the text: ``text[a:b]`` is the token."""

    tokens: list[str]
    offsets: list[Span]


def language_code(lang: str) -> str:
    """The language of a text that is split so: "ko" for "ko-eojeol"."""
    return lang.removesuffix("-eojeol")


def word_language(lang: str) -> str:
    """How text becomes the words that treebanks and tasks have, where ``lang`` gives smaller units."""
    return _WORDS.get(lang, lang)


def split_text(text: str, lang: Language = "en") -> list[Sentence]:
    """Split a text into sentences and tokens; a line end always ends a sentence.

    ``lang`` is "en", "ko" (morphemes), "ko-eojeol" (what stands between spaces) or "zh"; any other language gets rules
    for all scripts; "whitespace" is for text that is split already: one sentence a line, a space between tokens;
    "protein" for sequences: one a line, a token a residue.
    A function of your own may stand in its place, or the name of one that a package adds: see ``own_tokenizer``.
    """
    if not isinstance(lang, str):
        return split_with(lang, text)
    if lang not in BUILT_IN and (tokenizer := added_tokenizer(lang)) is not None:
        return split_with(tokenizer, text)
    if not is_composed(text):
        return _split_composed(text, lang)
    split_line = _line_splitter(text, lang)
    groups = (spans for line in _LINE.finditer(text) for spans in split_line(*line.span()))
    return [Sentence([text[a:b] for a, b in spans], spans) for spans in groups]


def _split_composed(text: str, lang: str) -> list[Sentence]:
    """The words of the composed text, where they stand in the text as it is."""
    whole, starts = compose(text)
    spans = [[(starts[a], starts[b]) for a, b in sentence.offsets] for sentence in split_text(whole, lang)]
    kept = [[(a, b) for a, b in sentence if a < b] for sentence in spans]
    return [Sentence([text[a:b] for a, b in sentence], sentence) for sentence in kept if sentence]


def _line_splitter(text: str, lang: str) -> Callable[[int, int], list[list[Span]]]:
    """A function that splits one line of the text, given by its start and end, into sentences of words."""
    if lang == "en":
        return lambda start, end: split_sentences(text, english.find_words(text, start, end))
    if lang == "ko-eojeol":
        return lambda start, end: eojeol.find_sentences(text, start, end)
    if lang == "ko":
        morpheme_ends = korean.find_morpheme_ends(text)
        return lambda start, end: [
            [morpheme for span in spans for morpheme in cut(span, morpheme_ends)]
            for spans in eojeol.find_sentences(text, start, end)
        ]
    if lang == "zh":
        word_ends = chinese.find_word_ends(text)
        return lambda start, end: split_sentences(text, chinese.find_words(text, start, end, word_ends))
    if lang == "protein":
        return lambda start, end: [spans] if (spans := [m.span() for m in _RESIDUE.finditer(text, start, end)]) else []
    if lang == "whitespace":
        return lambda start, end: [spans] if (spans := [m.span() for m in _CHUNK.finditer(text, start, end)]) else []
    return lambda start, end: split_sentences(text, any_language.find_words(text, start, end))
