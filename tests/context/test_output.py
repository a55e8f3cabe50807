"""The account of a compile: risks, handles, warnings, savings and costs."""

import json
from typing import Any

import pytest

from context.asking import compiled, outcomes, request
from plugmem_core import InvalidInputError
from plugmem_core.context import ContextCompiler, Pricing, compile_context
from plugmem_core.text.fnv import fnv1a64

PLAIN = "word " * 100  # 500 bytes, 200 tokens; the first 256 bytes cost 51 * 2 + 1 = 103
NEVER = "never" + " word" * 100


@pytest.mark.parametrize(
    ("fragment", "budget", "expected", "has_handle"),
    [
        (PLAIN, 201, "preserve preserve.default low", False),
        (PLAIN, 104, "preserve preserve.default medium", True),
        (PLAIN, 103, "retrieve budget.externalize medium", True),
        (NEVER, 900, "preserve preserve.negative_constraint low", False),
        (NEVER, 104, "preserve preserve.negative_constraint high", True),
        (NEVER, 50, "retrieve budget.externalize high", True),
    ],
)
def test_each_outcome_has_its_risk_and_handle(
    fragment: str, budget: int, expected: str, has_handle: bool
) -> None:
    result = compiled(fragment, budget=budget, chunk={"max_chunk_bytes": 256})
    assert outcomes(result) == [expected]
    handle = f"ctx://source/{fnv1a64(fragment)}"
    assert result.decisions[0].handle == (handle if has_handle else None)
    assert result.risk == expected.split()[-1]


def test_the_risk_is_the_highest_of_all() -> None:
    assert compiled().risk == "low"
    log = {"content": "up\nup", "kind": "log"}
    assert compiled("a", log).risk == "medium"
    assert compiled("never " * 10, log, budget=9).risk == "high"


def test_every_fragment_is_a_source_unless_it_is_a_duplicate() -> None:
    result = compiled("pump", "valve", "pump", "Pump", budget=4)
    assert [one.handle for one in result.sources] == [
        f"ctx://source/{fnv1a64('pump')}",
        f"ctx://source/{fnv1a64('valve')}",
    ]


def test_what_is_left_out_has_a_handle_and_its_cost() -> None:
    result = compiled("a", "word " * 10, budget=3)
    (left,) = result.retrieval_handles
    assert left.handle == f"ctx://source/{fnv1a64('word ' * 10)}"
    assert left.estimated_tokens == 20
    assert left.fragment_id == result.decisions[1].fragment_id


def test_an_id_is_the_content_hash_unless_it_is_given() -> None:
    result = compiled("pump", {"content": "valve", "id": 7}, {"content": "oil", "id": " +8 "})
    assert [one.fragment_id for one in result.decisions] == [fnv1a64("pump"), 7, 8]
    assert [one.content_hash for one in result.decisions] == [
        fnv1a64("pump"),
        fnv1a64("valve"),
        fnv1a64("oil"),
    ]


def test_fragments_of_one_id_have_handles_of_their_own() -> None:
    one, other = ({"content": text * 20, "id": 7} for text in ("pump ", "valve "))
    handles = {left.handle for left in compiled(one, other, budget=1).retrieval_handles}
    assert len(handles) == 2


def test_ids_can_be_written_as_texts() -> None:
    result = compiled(
        "pump " * 30, {"content": "a", "id": 2**64 - 1}, budget=3, ids_as_strings=True
    )
    assert result.sections[1].fragment_ids == (str(2**64 - 1),)
    assert result.decisions[0].content_hash == str(fnv1a64("pump " * 30))
    assert isinstance(result.retrieval_handles[0].fragment_id, str)
    assert isinstance(result.sources[0].fragment_id, str)


def test_what_is_relevant_and_left_out_is_warned_about() -> None:
    words = " ".join(f"w{'abcdefghijklmnopqrst'[at]}" for at in range(20))
    seven = " ".join(words.split()[:7]) + " more" * 40
    six = " ".join(words.split()[:6]) + " less" * 40
    result = compiled(seven, six, budget=5, query=words)
    assert [one.relevance for one in result.decisions] == [0.35, 0.3]
    (warning,) = result.warnings
    assert (warning.fragment_id, warning.relevance) == (fnv1a64(seven), 0.35)
    assert warning.handle == f"ctx://source/{fnv1a64(seven)}"
    assert warning.handle in warning.message


def test_parts_and_abstracts_are_not_warned_about() -> None:
    log = {"content": "word\nword", "kind": "log"}
    result = compiled(PLAIN, log, budget=109, query="word", chunk={"max_chunk_bytes": 256})
    assert [one.risk for one in result.decisions] == ["medium", "medium"]
    assert result.warnings == ()


def test_savings_are_counted_by_rule() -> None:
    log = {"content": "up\n" * 9 + "up", "kind": "log"}
    result = compiled("a", "a", "A", log, "word " * 20, budget=10)
    # In: 1 + 1 + 1 + (10 + 9 newlines, 4.5, so 5) + 40. Out: "a", "up (x10)" = 1 + (1 + 3) and
    # a blank line.
    saved = result.insights
    assert result.content == "a\n\nup (x10)"
    assert (saved.tokens_in, saved.tokens_out, saved.tokens_saved) == (58, 6, 52)
    assert saved.tokens_saved_by_rule == {
        "drop.duplicate": 1,
        "drop.near_duplicate": 1,
        "abstract.log_dedup": 11,
        "budget.externalize": 40,
    }


def test_savings_are_never_negative() -> None:
    # Two blank lines join what costs 1 each: 3 in, 5 out.
    saved = compiled("a", "b", "c").insights
    assert (saved.tokens_in, saved.tokens_out, saved.tokens_saved) == (3, 5, 0)
    assert saved.tokens_saved_by_rule == {}


PRICES = {"version": "2026-07", "currency": "EUR", "models": {"big": 3_000_000, "small": 150_333}}


@pytest.mark.parametrize(("model", "cost"), [("big", 600), ("small", 30), ("other", None)])
def test_savings_have_a_price_for_the_model(model: str, cost: int | None) -> None:
    result = compiled("word " * 100, "a", budget=2, target_model=model, pricing=PRICES)
    assert result.insights.tokens_saved == 200
    assert result.insights.estimated_cost_saved_micros == cost  # 30.0666 rounded down
    assert result.insights.currency == ("EUR" if cost else None)
    assert result.insights.pricing_version == ("2026-07" if cost else None)


def test_the_prices_of_a_request_go_before_the_compilers() -> None:
    own = Pricing(version="1", currency="USD", models={"big": 1_000_000})
    asked = request("word " * 100, budget=2, target_model="big")
    assert compile_context(asked, pricing=own).insights.currency == "USD"
    asked_with_prices = asked | {"policy": {"pricing": PRICES}}
    assert compile_context(asked_with_prices, pricing=own).insights.currency == "EUR"
    assert compile_context(asked).insights.currency is None


def test_a_slim_response_leaves_out_sections_and_decisions_only() -> None:
    fragments = ("a", "word " * 20)
    full, slim = (compiled(*fragments, budget=4, slim_response=slim) for slim in (False, True))
    assert (slim.sections, slim.decisions) == ((), ())
    assert slim == full.model_copy(update={"sections": (), "decisions": ()})


def test_the_policy_of_a_request_replaces_the_compilers_as_a_whole() -> None:
    compiler = ContextCompiler(policy={"slim_response": True, "near_dup_dedup": False})
    assert compiler.compile(request("a")).decisions == ()
    result = compiler.compile(request("a", "A", policy={"record_events": False}))
    assert outcomes(result)[1] == "drop drop.near_duplicate low"


def test_a_result_is_json() -> None:
    read: Any = json.loads(compiled("a").model_dump_json())
    assert read["content"] == "a"
    assert read["decisions"][0]["rule_id"] == "preserve.default"


ASKED = request("pump", "pump", {"content": "valve", "id": 7}, slim_response=True)


def test_a_decision_can_be_explained() -> None:
    explain = ContextCompiler().explain
    assert explain(ASKED, 7).rule_id == "preserve.default"
    assert explain(ASKED, fnv1a64("pump")).rule_id == "preserve.default"
    assert explain(ASKED, fnv1a64("pump"), 1).rule_id == "drop.duplicate"
    assert explain(ASKED, 7, 1).rule_id == "drop.duplicate"  # the place goes before the id


def test_an_explanation_takes_the_ids_that_it_gives() -> None:
    asked = ASKED | {"policy": {"ids_as_strings": True}}
    explain = ContextCompiler().explain
    for fragment_id in ("7", " 7", 7):
        assert explain(asked, fragment_id).fragment_id == "7"


def test_explaining_what_is_not_there_is_refused() -> None:
    explain = ContextCompiler().explain
    for index in (3, -1):
        with pytest.raises(InvalidInputError, match="fragment_index"):
            explain(ASKED, 7, index)
    with pytest.raises(InvalidInputError, match="fragment_id is 8"):
        explain(ASKED, 8)
    with pytest.raises(InvalidInputError, match="fragment_id"):
        explain(ASKED, "seven")
