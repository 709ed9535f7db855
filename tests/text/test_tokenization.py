"""Text → sentences → tokens: what each language's words look like, by example."""

from __future__ import annotations

import pytest

from polyseme.text.tokenization import Sentence, split_text


def words(text: str, lang: str) -> str:
    """The tokens with spaces between them and bars between sentences."""
    return " | ".join(" ".join(sentence.tokens) for sentence in split_text(text, lang))


def test_a_sentence_knows_its_tokens_and_where_they_stand() -> None:
    assert split_text("Mr. Bush didn't go.\nWhy?") == [
        Sentence(["Mr.", "Bush", "did", "n't", "go", "."], [(0, 3), (4, 8), (9, 12), (12, 15), (16, 18), (18, 19)]),
        Sentence(["Why", "?"], [(20, 23), (23, 24)]),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I don't, you can't, we cannot.", "I do n't , you ca n't , we can not ."),
        ("It's Bush's; they're John’s", "It 's Bush 's ; they 're John ’s"),
        ("dont gonna Im", "do nt gon na I m"),
        ("O'Connell's Shi'ite friend", "O'Connell 's Shi'ite friend"),
        ("a well-known non-commercial e-mail", "a well - known non-commercial e-mail"),
        ("Dr. Smith et al. met J. Doe of the U.S. Army", "Dr. Smith et al. met J. Doe of the U.S. Army"),
        ("at 7:30pm, 10am on 11/28/2000", "at 7:30 pm , 10 am on 11/28/2000"),
        ("$1,200.50 or 3.5% of the 1970s, 20th", "$ 1,200.50 or 3.5 % of the 1970s , 20th"),
        ("Call 713-853-3989 (now!)", "Call 713-853-3989 ( now ! )"),
        ("see http://www.un.org/ha/?a=1, or me@un.org.", "see http://www.un.org/ha/?a=1 , or me@un.org ."),
        ("open plan.doc at galleryfurniture.com", "open plan.doc at galleryfurniture.com"),
        ("well... no -- :-) <3 !!!", "well ... no -- :-) <3 !!!"),
        ('"PG&E and/or AT&T"', '" PG&E and / or AT&T "'),
        ("E. coli and C. elegans", "E. coli and C. elegans"),
        ("naïve café cafe\u0301", "naïve café cafe\u0301"),
        ("do n't Bush 's ( split already )", "do n't Bush 's ( split already )"),
    ],
)
def test_english_words_are_those_of_the_treebank(text: str, expected: str) -> None:
    assert words(text, "en") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He came. She left! Why? Who knows.", "He came . | She left ! | Why ? | Who knows ."),
        ("Mr. Smith met Dr. Jones on Jan. 5.", "Mr. Smith met Dr. Jones on Jan. 5 ."),
        ("He lives in the U.S. She does not.", "He lives in the U.S . | She does not ."),
        ("The U.S. Army came.", "The U.S. Army came ."),
        ("Apples, pears, etc. They sell all.", "Apples , pears , etc . | They sell all ."),
        ('"What?" he asked. "Nothing."', '" What ? " he asked . | " Nothing . "'),
        ("(It rained.) We stayed.", "( It rained . ) | We stayed ."),
        ("Well... maybe. Or . . . not.", "Well ... maybe . | Or . . . not ."),
        ("1. Introduction", "1 . Introduction"),
        ("it works. try it.", "it works . | try it ."),
        ("Great! :-) Thanks.", "Great ! :-) | Thanks ."),
        ("one line\nanother\r\n\r\nthird", "one line | another | third"),
    ],
)
def test_english_sentences_end_where_a_reader_would_end_them(text: str, expected: str) -> None:
    assert words(text, "en") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("잡스는 350달러만을 주었다.", "잡스는 350달러만을 주었다 ."),
        ("'지-보이스'는 2,700만 원(약 3.3%)을", "' 지-보이스 ' 는 2,700만 원 ( 약 3.3 % ) 을"),
        ("24~26cm의 AK-47, www.canon-bs.co.kr", "24~26cm의 AK-47 , www.canon-bs.co.kr"),
        ("강원ㆍ경북지역", "강원 ㆍ 경북지역"),
        ("갔다. 왔다! 그래?", "갔다 . | 왔다 ! | 그래 ?"),
        ("정말 맛있어요 또 올게요~ 감사합니다 ^^ 최고", "정말 맛있어요 | 또 올게요 ~ | 감사합니다 ^^ | 최고"),
        ("감사합니다, 여러분", "감사합니다 , 여러분"),
    ],
)
def test_korean_words_stand_between_spaces_and_polite_endings_end_sentences(text: str, expected: str) -> None:
    assert words(text, "ko-eojeol") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("他說：「你好！」然後走了。", "他 說 ： 「 你好 ！ 」 | 然後 走 了 。"),
        ("他说：“你好！”然后走了。", "他 说 ： “ 你好 ！ ” | 然后 走 了 。"),
        ("我们在北京大学学习。", "我们 在 北京 大学 学习 。"),
        ("我們在北京大學學習。", "我們 在 北京 大學 學習 。"),
        ("瓦德·丹路殊（Walter Damrosch）", "瓦德 · 丹路殊 （ Walter Damrosch ）"),
        ("1928年12月31日", "1928 年 12 月 31 日"),
        ("60%的人用iPhone", "60% 的 人 用 iPhone"),
        ("网址http://un.org/ha，邮箱abc@un.org。", "网址 http://un.org/ha ， 邮箱 abc@un.org 。"),
        ("東京タワー", "東京 タワー"),
    ],
)
def test_chinese_words_are_found_in_both_scripts(text: str, expected: str) -> None:
    assert words(text, "zh") == expected


def test_chinese_lines_do_not_see_each_other() -> None:
    lines = ["中国人民", "银行行长", "在大学堂里", "1990年代后"]
    alone = [words(line, "zh") for line in lines]
    assert words("\n".join(lines), "zh") == " | ".join(alone)
    assert words("\r\n".join(reversed(lines)), "zh") == " | ".join(reversed(alone))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("L'été, c'est là-bas !", "L'été , c'est là-bas !"),
        ("П'ять. Кто-то пришёл, т.е. он.", "П'ять . | Кто-то пришёл , т.е. он ."),
        ("नमस्ते दुनिया। कैसे हो?", "नमस्ते दुनिया । | कैसे हो ?"),
        ("سلام دنیا؟ می‌خواهم ۳٫۵", "سلام دنیا ؟ | می‌خواهم ۳ ٫ ۵"),
        ("Am 3. Mai kam Dr. Faust mit J. W. Goethe.", "Am 3. Mai kam Dr. Faust mit J. W. Goethe ."),
        ("ไทย", "ไท ย"),
        ("漢字とカタカナ。次", "漢 字 と カタカナ 。 | 次"),
        ("3,14 12:30 U.S.A. x@y.org", "3,14 12:30 U.S.A. x@y.org"),
        ("👍🏽👨‍👩‍👧🇰🇷!", "👍🏽 👨‍👩‍👧 🇰🇷 !"),
    ],
)
def test_other_languages_get_rules_for_their_scripts(text: str, expected: str) -> None:
    assert words(text, "xx") == expected


def test_whitespace_takes_the_tokens_as_they_are() -> None:
    assert words("He did n't go . Why ?\n\n  don't\u3000split\t(this) \n", "whitespace") == (
        "He did n't go . Why ? | don't split (this)"
    )


@pytest.mark.parametrize("lang", ["en", "ko", "ko-eojeol", "zh", "xx", "whitespace"])
@pytest.mark.parametrize("text", ["", " ", "\n", "\r\n \t\u3000\n"])
def test_nothing_gives_no_sentence(text: str, lang: str) -> None:
    assert split_text(text, lang) == []
