"""Hypothesis strategies shared by the tests: valid inputs of the public interface."""

from hypothesis import strategies as st

_WORDS = (
    "memory", "Berlin", "don't", "node.js", "3.14", "snake_case", "1,000", "İstanbul", "café",
    "Ёлка", "мёд", "Ωmega", "المكتبة", "नमस्ते", "안녕하세요", "東京都", "すしが好き", "タワー",
    "ทุกสองสัปดาห์", "ภาษาไทย", "ꦲꦏ꧀ꦱꦫꦗꦮ", "བོད་སྐད", "½", "🦀",
)  # fmt: skip
_GAPS = ("", " ", ", ", ". ", "-", "_", "'", "’", ":", "\n", "\u200b", "\u00ad", "…")

_CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")


def texts(*, max_size: int = 80) -> st.SearchStrategy[str]:
    """Any text that can be stored: no NUL, no lone surrogate; it may be blank or empty.

    A third is ASCII, a third any characters, and a third words of many scripts.
    """
    return st.one_of(
        st.text(st.characters(codec="ascii", exclude_characters="\0"), max_size=max_size),
        st.text(_CHARACTERS, max_size=max_size),
        st.lists(st.sampled_from(_WORDS + _GAPS), max_size=max_size // 8).map("".join),
    )


def names() -> st.SearchStrategy[str]:
    """Names an entity can have: like `texts`, and some letter is certain to be in it."""
    return st.tuples(texts(max_size=24), st.sampled_from(_WORDS[:-1])).map("".join)


def labels() -> st.SearchStrategy[str]:
    """Labels of namespaces, most of them made to be confused with others.

    They are prefixes of each other, differ in case or normal form only, and are full of
    what patterns, paths, quotes and JSON treat as special.
    """
    hostile = ["%", "_", ".", ":", "\\", "'", '"', "/", "*", ",", "[", "]", "a.b", "a:b", "a%"]
    alike = ["a", "A", "aa", "a ", "а", "é", "e\u0301", "ﬁ", "fi", "a_", "a\\", "a','b", '"],["a']
    return st.one_of(
        st.sampled_from(hostile + alike),
        st.text(st.sampled_from("aAb%_.:\\'\"[],"), min_size=1, max_size=4),
    )


def namespaces(*, max_depth: int = 3) -> st.SearchStrategy[tuple[str, ...]]:
    """Namespaces of up to `max_depth` labels, the root among them."""
    return st.lists(labels(), max_size=max_depth).map(tuple)
