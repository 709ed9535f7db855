"""English words as in the UD English treebank: do|n't, Bush|'s, well|-|known, U.S., 7:30|pm, :-).

One regular expression; at every place, the first alternative that matches wins. Repetitions are possessive or bounded,
so that time is linear on any text.
"""

from __future__ import annotations

import re

from polyseme.text.any_language import LETTERS, SYMBOL, UNSPACED_WORD

Span = tuple[int, int]

# Written with a point that never ends a sentence.
_TITLES = (
    "adm amb attn brig capt cf cit cmdr col cpl dept dr eg esp fig figs fr ft gen gov hon ibid lt maj messrs mme "
    "mr mrs ms mt op pp prof rep reps rev rt sen sens sgt sp spp sr st ste supt viz vol vols vs"
)
# Written with a point, which is taken as the end of a sentence if one seems to end there.
_SHORTENED = (
    "al approx apr aug ave blvd bros ca calif co conf conn corp dec dist eds esq est etc ext feb fla fri inc jan jr "
    "jul lb lbs ltd mins misc nov oct oz para ph pvt rd sat sec sept sq tel tenn tex thur thurs tue tues va wed yr yrs"
)
_STARTERS = (
    "A|After|All|Also|Although|An|And|As|At|But|By|For|He|Her|His|However|I|If|In|It|Its|My|On|Our|She|Since|So|That"
    "|The|Their|Then|There|These|They|This|Those|To|Under|We|What|When|While|With|You|Your"
)
_LAST_POINT = rf"""(?=\.["'”’)\]]*+\s*+(?:\Z|[\r\n]|(?<=\s)["'“‘(]?(?:{_STARTERS})\b))"""

_NOT = "ai are ca could dare did do does had has have is may might must need ought sha should was were wo would"
_PREFIXES = (
    "anti arch co counter cross e ex intra micro mid mini mis multi neo non over post pre pro psycho quasi re semi "
    "socio sub super ultra un"
)
_UNITS = "am|AM|pm|PM|k|K|m|M|mm|MM|b|B|bn|ft|cm|km|kg|lbs?|oz|[kKMGT]?Hz|[kKMG][bB]|mins?|minutes|hrs?|years?|days?|x"
_DOMAINS = r"com|org|net|gov|edu|mil|info|biz|(?:co|ac|org|gov)\.[a-z][a-z]|uk|us|ca|de|fr|jp|ru|au|eu|io|tv|ch|nl|nz"
_FILES = "docx?|DOC|xlsx?|XLS|pptx?|pdf|PDF|txt|html?|jpe?g|png|gif|zip|exe|csv|xml|json|mp3|mp4|url|php|aspx?"
_ADDRESS = r"""[^\s<>"“”]*[^\s<>"“”.,;:!?'’)\]}…*]"""
_APOSTROPHE = "['’`´]"
_CLITIC = r"(?:[sSmMdD]|re|RE|ve|VE|ll|LL)\b"


def _cased(words: str) -> str:
    """The words in lower case, capitalised and in capitals, as alternatives."""
    forms = {form for word in words.split() for form in (word, word.capitalize(), word.upper())}
    return "|".join(sorted(forms))


TOKEN = re.compile(
    rf"""
    (?=\S)(?:                                                                         # quickly past spaces
    [A-Za-z]++(?=[\s,;?!")]|\Z) | [A-Za-z]{{7,}}+(?=\.(?:\s|\Z))                      # most words: the short way
  | (?:https?|ftp)://{_ADDRESS} | [Ww]ww\.{_ADDRESS}                                  # http://www.un.org/ha/
  | (?:mailto:)?[\w.+%-]{{1,64}}+@[\w.-]*\w
  | (?:[\w-]{{1,63}}+\.){{1,5}}(?:{_DOMAINS})\b(?:/{_ADDRESS})?
  | [a-z]{{2,63}}(?:\.[a-z][a-z-]{{0,62}}){{2,8}}\b | \w[\w\#~-]{{0,63}}+\.(?:{_FILES})\b  # os.path.join, plan.doc
  | (?:{_cased(_NOT)})(?=[nN]{_APOSTROPHE}[tT]\b) | (?<=\w)[nN]{_APOSTROPHE}[tT]\b    # do|n't
  | (?<=[\w.]){_APOSTROPHE}{_CLITIC} | (?<!\S){_APOSTROPHE}{_CLITIC}(?!\S)            # Bush|'s
  | (?:{_cased(_TITLES)})\.(?!\w) | No\.(?=\s?\d)                                     # Dr.
  | [eE]tc(?=\.\s[A-Z]) | (?:{_cased(_SHORTENED)})(?:{_LAST_POINT}|\.(?!\w))          # etc.
  | (?:[A-Za-z]\.){{1,8}}[A-Za-z]{_LAST_POINT}                                        # in the U.S|.
  | (?:[A-Za-z]\.){{1,8}}[A-Za-z](?![\w.]) | (?:[A-Za-z]\.){{2,8}}                    # a.k.a, U.S.
  | [A-HJ-Z]\.(?=\s?[A-Za-z])(?!\s(?:{_STARTERS})\b) | [cpv]\.(?=\s[\da-z])           # J. Smith, C. elegans
  | (?:Ph|LL|[BMD])\.(?:Sc|Ed|Phil|Litt|[DABMS])(?:{_LAST_POINT}|\.(?!\w))            # Ph.D.
  | [:;=][-^']?[)(DPpO/|\]\[]++(?!\w) | [(][:;=] | >:\( | <3 | \^_+\^ | -_+-          # :-)
  | \d-\d{{3}}-\d{{3}}-\d{{4}}\b | \d{{3}}[-./]\d{{3}}[-.]\d{{4}}\b | \d{{3}}-\d{{4}}\b  # telephone numbers
  | (?<!\S)\+\d+ | (?<!\S)['’]\d\ds?\b                                                # +44, '72
  | \d{{1,4}}[/-]\d{{1,2}}[/-]\d{{2,4}}\b | (?:\d{{1,2}}/\d\d|1[012]/\d)\b(?!/)       # 11/28/2000, 9/11
  | \d{{1,2}}(?::\d\d){{1,2}}(?!\d)                                                   # 7:30
  | \d++(?:st|nd|rd|th|TH|['’]?s)\b                                                   # 20th, 1970s
  | \d{{1,3}}(?:,\d{{3}})+(?:\.\d++)? | \d++(?:\.\d++)+ | (?<!\w)\.\d++             # 200,000.50
  | \d++(?=(?:{_UNITS})\b)                                                            # 10|am
  | (?<![\w-])(?:{_cased(_PREFIXES)})-{LETTERS}                                       # non-commercial
  | {UNSPACED_WORD}
  | [A-Z]{{1,3}}&[A-Z]\b | w/o(?:ut)?\b | b/c\b | (?:US|U|HK|NZ)\$                    # PG&E
  | {LETTERS}(?:{_APOSTROPHE}(?!{_CLITIC}){LETTERS})*
  | \.{{2,}}+ | [!?]++ | ([-=*+~\#$])\1+[-=*+~\#]*+ | '' | ’’ | ‘’ | `` | << | >>    # ..., !!!, ----
  | {SYMBOL})
    """,
    re.VERBOSE,
)

# Written as one word, but two words in the treebank.
_PAIRS = (
    "can-not gon-na wan-na got-ta out-ta ai-nt are-nt ca-nt could-nt did-nt do-nt does-nt had-nt has-nt have-nt "
    "is-nt should-nt was-nt were-nt wo-nt would-nt i-m i-ve you-re you-ve you-ll they-re they-ve they-ll it-ll that-s "
    "there-s what-s here-s he-s she-s"
)


def _where_second_begins() -> dict[str, int]:
    heads = {pair.replace("-", ""): pair.index("-") for pair in _PAIRS.split()}
    cased = {form: at for word, at in heads.items() for form in (word, word.capitalize(), word.upper())}
    return {form: at for form, at in cased.items() if form not in ("IM", "IVE", "HES")}  # names and the like


CONTRACTED = _where_second_begins()


def find_words(text: str, start: int, end: int) -> list[Span]:
    """The words of ``text[start:end]``, a line, as spans of ``text``."""
    spans = [match.span() for match in TOKEN.finditer(text, start, end)]
    if CONTRACTED.keys().isdisjoint([text[a:b] for a, b in spans]):
        return spans
    halves: list[Span] = []
    for a, b in spans:
        if head := CONTRACTED.get(text[a:b]):
            halves += (a, a + head), (a + head, b)
        else:
            halves.append((a, b))
    return halves
