import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from icu4py.breakers import WordBreaker
from strategies import texts

from plugmem_core.kernels import tokenize_ascii
from plugmem_core.text import is_unigram, tokenize
from plugmem_core.text import tokenizer as module

OBSERVED = [
    ("Hello, World!", "hello world"),
    ("don't stop O'Clock", "don't stop o'clock"),
    ("DON’T", "don’t"),
    ("'quoted' it's o''k", "quoted it's o k"),
    ("don't 'tis rock'n'roll", "don't tis rock'n'roll"),
    ("gpt-4o издание 2026", "gpt 4o издание 2026"),
    ("snake_case_id CamelCase", "snake_case_id camelcase"),
    ("foo_ _bar __baz__ a_b", "foo bar baz a_b"),
    ("pi=3.14, v1.2.3 1,000 10.000,50", "pi 3.14 v1.2.3 1,000 10.000,50"),
    ("1,2 3.a a.3 a,b a.b", "1,2 3 a a 3 a b a.b"),
    ("3.5% $10 #tag @user", "3.5 10 tag user"),
    ("10:30 2024-01-02T10:00:00Z", "10 30 2024 01 02t10 00 00z"),
    ("e-mail well-known", "e mail well known"),
    (
        "see docs.rs/plugmem or a@b.com https://x.io/a?b=c",
        "see docs.rs plugmem or a b.com https x.io a b c",
    ),
    ("C++ C# .NET node.js", "c c net node.js"),
    ("A.B.C. U.S.A. e.g.", "a.b.c u.s.a e.g"),
    ("user_id=42;name='bob'", "user_id 42 name bob"),
    ("café naïve Zürich piñata", "cafe naive zurich pinata"),
    ("Ångström Ørsted Łódź ĳ œuvre", "angstrom ørsted łodz ij œuvre"),
    ("İstanbul STRAẞE straße", "istanbul straße straße"),
    ("Ёлка мёд йод", "елка мед йод"),
    ("东京都", "东京 京都"),
    ("東京タワー", "東京 タワー"),
    ("東京tower大阪", "東京 tower 大阪"),
    ("水 ok", "水 ok"),
    ("すしが好き", "すし しが が好 好き"),
    ("日本語のテスト 漢字かな交じり文", "日本 本語 語の テスト 漢字 字か かな な交 交じ じり り文"),
    ("안녕하세요 세계", "안녕하세요 세계"),
    ("トーキョー", "トーキョー"),
    ("ทุกสองสัปดาห์", "ทุก สอง สัปดาห์"),
    ("المكتبة العربية", "المكتبة العربية"),
    ("नमस्ते दुनिया", "नमस्ते दुनिया"),
    ("ﷺ", "صلى الله عليه وسلم"),
    ("½ ² ①", "1 2 2 1"),
    ("ＦＵＬＬ　ｗｉｄｔｈ４２ ﬁle", "full width42 file"),
    ("rust🦀lang 👍🏽ok", "rust lang ok"),
    ("co\u00adoperate ab\u200dcd", "cooperate abcd"),
    ("\u212a \u2126", "k ω"),  # the signs for kelvin and ohm
    ("running runs run", "running runs run"),
]


@pytest.mark.parametrize(("text", "tokens"), OBSERVED)
def test_text_gives_the_tokens_observed_of_the_reference(text: str, tokens: str) -> None:
    assert tokenize(text) == tokens.split()


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("a" * 100, "a" * 64),
        ("ж" * 33, "ж" * 32),
        ("東" + "\u0301" + "ж" * 40, "ж" * 32),
        ("a" * 63 + ".bc", "a" * 63),
        ("ж" * 31 + "a.b", "ж" * 31 + "a"),
        ("é" * 100, "e" * 64),
    ],
)
def test_long_token_keeps_64_bytes_of_whole_characters_and_no_last_joiner(
    text: str, token: str
) -> None:
    assert tokenize(text)[-1] == token


def test_control_characters_separate_words() -> None:
    assert tokenize("a\0b\x01c\x7fd\re\nf") == ["a", "b", "c", "d", "e", "f"]
    assert tokenize("а\0б\x85в\u2028г") == ["а", "б", "в", "г"]


@pytest.mark.parametrize("text", ["", " ", "…", "_", "''", ".,.", "🦀", "\u0301", "\u200b", "ा"])
def test_text_without_letters_and_digits_has_no_tokens(text: str) -> None:
    assert tokenize(text) == []


@settings(deadline=None)
@given(texts(max_size=200))
def test_token_tokenised_again_is_itself(text: str) -> None:
    for token in tokenize(text):
        assert tokenize(token) == [token]
        assert 1 <= len(token.encode()) <= 64


joiner_rich = st.text(st.sampled_from("abZ09_.,'-:; \n\0\x7f"), max_size=200)
ascii_texts = st.one_of(joiner_rich, st.text(st.characters(codec="ascii"), max_size=200))


@settings(max_examples=1000, deadline=None)
@given(ascii_texts)
def test_kernel_agrees_with_the_general_path_on_ascii(text: str) -> None:
    assert tokenize_ascii(text) == module._split(module._fold(text))


@settings(max_examples=500, deadline=None)
@given(st.text(st.sampled_from("abжщσδجकध09٣٤.,' "), max_size=60))
def test_words_of_spaced_scripts_are_those_of_uax_29(text: str) -> None:
    # ICU implements UAX #29; only an apostrophe between digits is told apart here.
    segments = [s for s in WordBreaker(text, "en") if any(c.isalnum() for c in s)]
    expected = [word for s in segments for word in re.split(r"(?<=\d)'(?=\d)", s)]
    assert tokenize(text) == expected


def found(query: str, text: str) -> bool:
    """Whether each token of the query is in the text, the way the lexical index looks."""
    terms = tokenize(text)
    return all(
        any(token in term for term in terms) if is_unigram(token) else token in terms
        for token in tokenize(query)
    )


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("東京", "私は東京都に住んでいます"),
        ("京", "東京都"),
        ("都", "東京都"),
        ("水", "彼は水を飲む"),
        ("佐々木", "昨日佐々木さんに会った"),
        ("タワー", "東京タワーに行く"),
        ("データ", "データ 分析"),
        ("ภาษา", "เขาเรียนภาษาอังกฤษ"),
        ("ทำงาน", "เขาทำงานที่เชียงใหม่"),
        ("ພາສາ", "ພາສາລາວເປັນພາສາທາງການ"),
        ("세계", "안녕하세요 세계"),
        ("སྐད", "བོད་སྐད་ཡིན"),
        ("ꦱꦫ", "ꦲꦏ꧀ꦱꦫꦗꦮ"),  # Javanese
        ("ꦏ꧀ꦱꦫ", "ꦲꦏ꧀ꦱꦫꦗꦮ"),
        ("ꦗ", "ꦲꦏ꧀ꦱꦫꦗꦮ"),
        ("ᬅᬓ᭄ᬱᬭ", "ᬅᬓ᭄ᬱᬭᬩᬮᬶ"),  # Balinese
        ("ᨾᩮᩬᩥᨦ", "ᨲᩫ᩠ᩅᨾᩮᩬᩥᨦ"),  # Tai Tham
        ("ᦟᦲᧉ", "ᦎᦷᦟᦲᧉᦟᦲᧉ"),  # New Tai Lue
        ("ꁱꂷ", "ꆈꌠꁱꂷ"),  # Yi
    ],
)
def test_word_inside_text_without_spaces_is_found(query: str, text: str) -> None:
    assert found(query, text)
    assert tokenize(query)


def test_neighbouring_characters_pair_only_within_a_run() -> None:
    assert tokenize("東京、大阪 水1火 水a火") == ["東京", "大阪", "水", "1", "火", "水", "a", "火"]


def test_invisible_characters_do_not_part_a_run() -> None:
    assert tokenize("葛\U000e0100城") == tokenize("葛城") == ["葛城"]


def test_zero_width_space_separates() -> None:
    assert tokenize("ab\u200bcd жз\u200bик") == ["ab", "cd", "жз", "ик"]


@pytest.mark.parametrize("token", ["水", "す", "々", "ꦏ꧀", "ꆈ"])
def test_single_character_of_a_script_indexed_in_pairs_is_a_unigram(token: str) -> None:
    assert is_unigram(token)


@pytest.mark.parametrize("token", ["a", "ж", "東京", "ꦱꦫ", "タ", "ก", "한", "1", ""])
def test_other_tokens_are_no_unigrams(token: str) -> None:
    assert not is_unigram(token)


def icu_is_loaded_by(text: str) -> bool:
    program = (
        "import sys; from plugmem_core.text import tokenize; "
        f"tokenize({text!r}); sys.exit('icu4py' in sys.modules)"
    )
    return subprocess.run([sys.executable, "-c", program], check=False).returncode == 1


def test_icu_is_loaded_only_for_scripts_that_need_a_dictionary() -> None:
    assert not icu_is_loaded_by("plain café мёд 東京タワー 안녕 नमस्ते ꦱꦫ")
    assert icu_is_loaded_by("ภาษาไทย")
