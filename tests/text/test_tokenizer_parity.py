"""The tokenizer against the reference engine's, observed from outside.

The reference does not show its tokens. But a text remembered in an empty database
leaves as many terms as it has distinct tokens, and a recall of one word finds the
text exactly if the word is among them.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import plugmem
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plugmem_core.text import tokenize


@contextmanager
def reference_remembering(text: str) -> Iterator[plugmem.Plugmem]:
    with (
        tempfile.TemporaryDirectory() as directory,
        plugmem.Plugmem.open(f"{directory}/memory") as memory,
    ):
        memory.remember(text)
        yield memory


def distinct_tokens_of_reference(text: str) -> int:
    with reference_remembering(text) as memory:
        return memory.stats().terms


def reference_has_exactly(text: str, tokens: set[str]) -> bool:
    with reference_remembering(text) as memory:
        found = {token for token in tokens if memory.recall(token).facts}
        return found == tokens and memory.stats().terms == len(tokens)


HAND_MADE = [
    "Ann moved to Berlin in March 2024; she works at Acme Corp. (billing, v1.2.3).",
    "don't 'tis rock'n'roll o''k it's_ a_'b x'_y",
    "foo_ _bar __baz__ a_b a__b a_.b a._b _1.2 1_2 1_a a_1",
    "1,2 3.a a.3 a,b a.b 3a.b a3.4 a1.b 1'2 1'a a'1 1..2 a,,b 1,2,3 10.000,50",
    "see docs.rs/plugmem or a@b.com https://x.io/a?b=c&d=e#f 10:30 a:b a;b 1:2 1;2",
    "C++ C# .NET A.B.C. U.S.A. e.g. user_id=42;name='bob' {json: [1.5, null]}",
    "tab\tnew\nline\r\nform\x0cfeed bell\x07bell delete\x7fdelete",
    "“Curly quotes” — it’s ‘quoted’… don’t l’homme d’été n°5 §3 €10 50% ±2",
    "café naïve Zürich piñata Ångström Ørsted Łódź ĳ œuvre straße STRAẞE İstanbul ısı",
    "Việt Nam: Nguyễn Đình Chiểu đã sống ở Bến Tre",
    "Ёлка мёд йод Й Її Ўз Ђорђе проект-план «кавычки» №7",
    "Σίσυφος ΟΔΟΣ ΑΣ.Β Ωμέγα ᾳ ἀρχή",
    "Ǆ ǆ ﬁle ﬀ ſ ŉ ＦＵＬＬ１２，５ ½ ² ① Ⅷ ㎏ ㍿ x²y CO₂ ™ ℃ № \u212a \u2126",
    "𝐁𝐨𝐥𝐝 𝟏𝟐.𝟓 ⓐⓑ 🄰 ﷺ ﻻ",
    "مرحبا بالعالم: المكتبة العربية الكبيرة، ٣٫٥ و ١٢٣٫٤",
    "שלום עולם ב׳ צה״ל א'ב א\"ב",
    "नमस्ते दुनिया क्ष ज्ञान १२.५ हिन्दी।",
    "தமிழ் বাংলা ગુજરાતી ಕನ್ನಡ മലയാളം සිංහල ਪੰਜਾਬੀ తెలుగు",
    "ქართული ᲡᲐᲥᲐᲠᲗᲕᲔᲚᲝ Հայերեն ԵՒ አማርኛ ᏣᎳᎩ",
    "안녕하세요 세계 한국어처리기술 ㅋㅋㅋ 2024년 3월",
    "私は東京都に住んでいます。データベース管理システム、コンピューターサイエンス！",
    "東京タワー 東京tower大阪 水 ok 水1火 3カ月 USBメモリ ｶﾞｲﾄﾞ すーぱー すゞ 〆切 二〇二四",
    "东京都是日本的首都，人口约1,400万。",
    "བོད་སྐད་ཡིན། བོད་ལྗོངས།",
    "rust🦀lang 👍🏽ok 👨‍👩‍👧 1️⃣ 🇩🇪",
    "co\u00adoperate ab\u200dcd می\u200cخواهم ab\u200bcd ab\u2060cd \ufeffbom",
    "ทุกสองสัปดาห์ ไทยabc ไทย123 ๑๒.๓ ฉันชอบกินข้าวผัดกับไข่ดาว",
    "ພາສາລາວ ខ្ញុំ ភ្នំពេញ",
    "a" * 100 + " " + "ж" * 33 + " " + "x" * 63 + ".y",
]


@pytest.mark.parametrize("text", HAND_MADE)
def test_reference_has_the_same_tokens(text: str) -> None:
    assert reference_has_exactly(text, set(tokenize(text)))


@pytest.mark.parametrize(
    ("text", "words"),
    [("ພາສາລາວເປັນພາສາທາງການຂອງປະເທດລາວ", 6), ("ကျွန်တော်ရန်ကုန်မြို့မှာနေပါတယ်", 8)],
)
def test_reference_has_as_many_words_in_a_sentence_without_spaces(text: str, words: int) -> None:
    # It segments a word alone otherwise than in a sentence, so it cannot be asked for one.
    assert len(set(tokenize(text))) == words
    assert distinct_tokens_of_reference(text) == words


# Without the characters of KEPT_DIFFERENCES.
PARTS = (
    *"abXYZ019_.,'’-/:; \t\n@#“—…🦀éßøÅıİſﬁабЁёйЩαβΆᾳ٣४²½한국ㅎالمةאבגԱբᏣ𝐀𝟘ʼ東京水火すしがっ",
    *("don't", "node.js", "1,000.5", "snake_case", "東京都", "安全", "नमस्ते", "المكتبة", "Проект"),
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=40).map("".join))
def test_reference_has_the_same_tokens_in_generated_text(text: str) -> None:
    assert reference_has_exactly(text, set(tokenize(text)))


KEPT_DIFFERENCES = [
    pytest.param("人々", "人々", "人 々", id="the iteration mark repeats a character, so it pairs"),
    pytest.param("葛\U000e0100城", "葛城", "葛 城", id="invisible characters do not part a run"),
    pytest.param("京\u00ad都", "京都", "京 都", id="neither does a hyphen that is not shown"),
    pytest.param("テスト_1", "テスト 1", "テスト_1", id="Katakana words are found in identifiers"),
    pytest.param("ꦱꦫꦗ", "ꦱꦫ ꦫꦗ", "ꦱꦫꦗ", id="words inside unspaced scripts are found"),
    pytest.param("ꆈꌠꁱ", "ꆈꌠ ꌠꁱ", "ꆈꌠꁱ", id="Yi, likewise"),
    pytest.param("፲፪", "፲፪", "፲ ፪", id="numbers in non-decimal digits are one word"),
    pytest.param("🅐", "", "🅐", id="letters in filled circles are symbols"),
    pytest.param("\u064b", "", "\u064b", id="a mark without a letter is no word"),
    pytest.param("я\u0301.б", "я\u0301.б", "я\u0301 б", id="an accent does not part a joiner"),
    pytest.param("คำถาม", "คําถาม", "คํา ถาม", id="ICU knows Thai AM as it is spelled"),
    pytest.param(
        "ประเทศไทย", "ประเทศไทย", "ประเทศ ไทย", id="dictionary and neural segmentation differ"
    ),
]


@pytest.mark.parametrize(("text", "ours", "theirs"), KEPT_DIFFERENCES)
def test_difference_is_the_one_that_was_chosen(text: str, ours: str, theirs: str) -> None:
    assert tokenize(text) == ours.split()
    assert reference_has_exactly(text, set(theirs.split()))
