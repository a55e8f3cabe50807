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
