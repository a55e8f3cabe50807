"""What is packed first: what is critical, urgent, cached and relevant, in the order given."""

from typing import Any

import pytest

from context.asking import compiled, image, png


def text(word: str, **fields: Any) -> dict[str, Any]:
    """A fragment of one word of up to three letters: 1 token, and 1 to join it."""
    return {"content": word} | fields


def verbatim(word: str, **fields: Any) -> dict[str, Any]:
    return text(word, metadata={"verbatim": True}, **fields)


def cached(word: str, **fields: Any) -> dict[str, Any]:
    return text(word, metadata={"cache": True}, **fields)


def packed_first(*fragments: dict[str, Any], query: str = "") -> list[str]:
    """The words in the order in which growing budgets let them in."""
    order: list[str] = []
    for budget in range(2, 2 * len(fragments) + 1, 2):
        content = compiled(*fragments, budget=budget, query=query).content
        order += [word for word in content.split("\n\n") if word not in order]
    return order


@pytest.mark.parametrize(
    ("fragments", "expected"),
    [
        ([text("a", priority=255), verbatim("b")], ["b", "a"]),
        ([text("a"), text("b", priority=1), text("c", priority=2)], ["c", "b", "a"]),
        ([verbatim("a"), cached("b"), verbatim("c", priority=1)], ["c", "b", "a"]),
        ([text("a"), text("oil"), text("b")], ["oil", "a", "b"]),
        ([text("oil"), text("b", priority=1)], ["b", "oil"]),
        ([cached("a"), cached("oil")], ["a", "oil"]),
        ([verbatim("a"), verbatim("oil")], ["oil", "a"]),
        ([text("a"), text("b"), text("c")], ["a", "b", "c"]),
    ],
)
def test_fragments_are_packed_in_order(
    fragments: list[dict[str, Any]], expected: list[str]
) -> None:
    assert packed_first(*fragments, query="oil") == expected


def test_the_text_keeps_the_order_of_the_fragments_behind_the_prefix() -> None:
    result = compiled(text("a"), verbatim("b"), cached("c"), text("d", priority=9), cached("e"))
    assert result.content == "c\n\ne\n\na\n\nb\n\nd"
    prefix, body = result.sections
    assert (prefix.kind, prefix.content) == ("cache", "c\n\ne")
    assert (body.kind, body.content) == ("body", "a\n\nb\n\nd")
    ids = [one.fragment_id for one in result.decisions]
    assert prefix.fragment_ids == (ids[2], ids[4])
    assert body.fragment_ids == (ids[0], ids[1], ids[3])


def test_the_prefix_does_not_depend_on_the_query() -> None:
    fragments = [cached(f"{word} " * 9 + word) for word in ("oil", "pump", "valve")]
    for budget in range(10, 80):
        prefixes = {
            compiled(*fragments, budget=budget, query=query).sections[0].content
            for query in ("", "oil", "pump", "valve pump")
        }
        assert len(prefixes) == 1


def test_the_prefix_does_not_depend_on_what_is_packed_before_it() -> None:
    # 10 + 1 and 8 + 1 tokens go before the prefix, of which only one fits beside it.
    urgent = [verbatim("pump " * 5, priority=9), verbatim("valve " * 4, priority=9)]
    prefixes = {
        compiled(*urgent, cached("oil " * 4), budget=14, query=query).sections[0].content
        for query in ("pump", "valve")
    }
    assert len(prefixes) == 1


def test_a_small_fragment_fits_where_a_large_one_did_not() -> None:
    result = compiled("word " * 10, "a", budget=5)
    assert result.content == "a"


def test_a_budget_is_used_to_its_last_token() -> None:
    assert compiled("a", "b", "c", budget=6).content == "a\n\nb\n\nc"
    assert compiled("a", "b", "c", budget=5).content == "a\n\nb"


def test_the_reserve_is_kept_free() -> None:
    assert compiled("a", "b", "c", budget=9, response_reserve_tokens=4).content == "a\n\nb"


def test_an_image_is_emitted_whole_or_not() -> None:
    wide = image(png(750, 10), "oil")  # 10, 1 for the caption, 1 to join it
    assert compiled(wide, budget=12).content == "oil"
    left = compiled(wide, budget=11)
    assert (left.content, left.retrieval_handles[0].estimated_tokens) == ("", 11)


def test_an_image_without_a_caption_is_in_the_section_but_not_in_the_text() -> None:
    result = compiled("a", image(png(750, 1)), "b")
    assert result.content == "a\n\nb"
    assert result.sections[1].fragment_ids == tuple(one.fragment_id for one in result.decisions)
    assert result.insights.tokens_out == 1 + 1 + 1 + 1  # a, the blank line, b and the image


def test_empty_fragments_are_emitted_without_a_cost() -> None:
    result = compiled("", "a", "", budget=2)
    assert result.content == "a"
    assert result.risk == "low"
    assert result.sections[1].fragment_ids == (result.decisions[1].fragment_id,)


@pytest.mark.parametrize(
    ("query", "relevance"),
    [
        ("", 0.0),
        (" ?! ", 0.0),
        ("oil", 1.0),
        ("OIL oil Oil", 1.0),
        ("oil pump", 0.5),
        ("oil pump 42 bar", 0.75),
        ("oi", 0.0),
        ("oil_change", 1 / 2),
        ("Öl", 0.0),
    ],
)
def test_relevance_is_the_share_of_the_words_of_the_query(query: str, relevance: float) -> None:
    result = compiled("The oil-pressure is 42 BAR.", query=query)
    assert result.decisions[0].relevance == relevance
