"""Stores that are wrong, each in one way, and the tests of the suite that have to catch it."""

import asyncio
import fnmatch
import itertools
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from langgraph.store.base import (
    NOT_PROVIDED,
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)
from langgraph.store.base.batch import AsyncBatchedBaseStore
from model_store import ModelStore, Path, Row, Vector

Store = TypeVar("Store", bound=type[BaseStore])
PATIENCE = 0.1
"""Seconds. A store that hangs does so for five times as long."""


class Wrong(NamedTuple):
    """A wrong store, the tests that have to fail, and the calls by which they do."""

    store: type[BaseStore]
    tests: tuple[str, ...]
    way: str


WRONG: list[Wrong] = []


def caught_by(*tests: str, way: str = "sync") -> Callable[[Store], Store]:
    """Note the tests that have to fail, named without their `test_`."""

    def note(store: Store) -> Store:
        WRONG.append(Wrong(store, tests, way))
        return store

    return note


# Items


@caught_by("an_overwrite_replaces_the_whole_value")
class Merges(ModelStore):
    def row_of(self, op: PutOp) -> Row | PutOp:
        old = self.rows.get((op.namespace, op.key))
        if op.value is not None and old is not None:
            op = op._replace(value=self.decode(old.value) | dict(op.value))
        return super().row_of(op)


@caught_by("an_overwrite_keeps_created_at")
class ResetsCreatedAt(ModelStore):
    def created_at(self, old: Row | None) -> float:
        return self.now


@caught_by("an_overwrite_advances_updated_at")
class ForgetsUpdatedAt(ModelStore):
    def row_of(self, op: PutOp) -> Row | PutOp:
        row = super().row_of(op)
        if isinstance(row, Row):
            row.updated_at = row.created_at
        return row


@caught_by("times_are_aware")
class TellsNaiveTimes(ModelStore):
    def instant(self, minutes: float) -> datetime:
        return super().instant(minutes).replace(tzinfo=None)


@caught_by("what_is_not_json_is_refused")
class KeepsWhatJsonMakesOfIt(ModelStore):
    def encode(self, value: Mapping[str, Any]) -> str:
        return json.dumps(dict(value), default=str)


@caught_by("any_mapping_is_a_value")
class TakesOnlyDicts(ModelStore):
    def encode(self, value: Mapping[str, Any]) -> str:
        return json.dumps(value, allow_nan=False)


@caught_by("values_keep_every_kind_of_json", "whole_numbers_compare_exactly")
class RoundsNumbers(ModelStore):
    def decode(self, text: str) -> Any:
        return json.loads(text, parse_int=float)


@caught_by(
    "changing_what_get_returned_changes_no_item", "changing_what_search_returned_changes_no_item"
)
class SharesWhatItReads(ModelStore):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.decoded: dict[str, Any] = {}

    def decode(self, text: str) -> Any:
        return self.decoded.setdefault(text, super().decode(text))


@caught_by("changing_what_was_put_changes_no_item")
class SharesWhatIsPut(ModelStore):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.given: dict[str, Mapping[str, Any]] = {}

    def encode(self, value: Mapping[str, Any]) -> str:
        text = super().encode(value)
        self.given[text] = value
        return text

    def decode(self, text: str) -> Any:
        return json.loads(json.dumps(dict(self.given[text])))


@caught_by("namespaces_are_not_joined_labels")
class JoinsLabels(ModelStore):
    def slot(self, namespace: Path, key: str) -> tuple[Path, str]:
        return ("/".join(namespace),), key


@caught_by("keys_are_exact")
class FoldsKeys(ModelStore):
    def slot(self, namespace: Path, key: str) -> tuple[Path, str]:
        return namespace, key.lower()


@caught_by("labels_are_exact")
class StripsLabels(ModelStore):
    def slot(self, namespace: Path, key: str) -> tuple[Path, str]:
        return tuple(label.strip() for label in namespace), key


@caught_by("unicode_survives_everywhere")
class KnowsLatinOnly(ModelStore):
    def encode(self, value: Mapping[str, Any]) -> str:
        text = json.dumps(json.loads(super().encode(value)), ensure_ascii=False)
        return text.encode("latin-1", "replace").decode("latin-1")


@caught_by(
    "an_item_needs_a_namespace",
    "the_root_langgraph_is_reserved",
    "keys_become_text",
    "bad_labels_are_refused",
)
class TrustsCallers(ModelStore):
    def check_labels(self, op: Op) -> None:
        pass

    def get(self, namespace: Path, key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        [item] = self.batch([GetOp(namespace, key)])
        assert item is None or isinstance(item, Item)
        return item

    def put(
        self, namespace: Path, key: str, value: Any, index: Any = None, *, ttl: Any = None
    ) -> None:
        self.batch([PutOp(namespace, key, value, index)])


@caught_by("a_missing_item_is_none", "a_fresh_store_answers")
class RaisesWhenMissing(ModelStore):
    def find(self, op: GetOp) -> Item | None:
        found = super().find(op)
        if found is None:
            raise KeyError(op.key)
        return found


@caught_by("an_item_comes_back_as_it_was_put")
class ShortensNamespaces(ModelStore):
    def parts(self, row: Row) -> dict[str, Any]:
        return super().parts(row) | {"namespace": row.namespace[-1:]}


@caught_by("an_empty_value_is_an_item")
class TakesEmptyForNothing(ModelStore):
    def row_of(self, op: PutOp) -> Row | PutOp:
        return super().row_of(op if op.value else op._replace(value=None))


@caught_by("a_deleted_item_is_found_by_no_route", "deleting_what_is_missing_is_no_error")
class HidesFromGetOnly(ModelStore):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.hidden: set[tuple[Path, str]] = set()

    def write(self, row: Row | PutOp) -> None:
        slot = (row.namespace, row.key)
        if isinstance(row, Row):
            self.hidden.discard(slot)
            super().write(row)
        else:
            self.hidden.add(slot)

    def find(self, op: GetOp) -> Item | None:
        return None if (op.namespace, op.key) in self.hidden else super().find(op)


@caught_by("a_deleted_key_can_be_put_again")
class NeverForgetsADelete(HidesFromGetOnly):
    def write(self, row: Row | PutOp) -> None:
        if (row.namespace, row.key) not in self.hidden:
            super().write(row)


@caught_by("the_same_key_elsewhere_is_another_item")
class KnowsKeysOnly(ModelStore):
    def slot(self, namespace: Path, key: str) -> tuple[Path, str]:
        return (), key


@caught_by("index_is_accepted_without_an_index")
class RefusesIndex(ModelStore):
    def check(self, op: Op) -> None:
        super().check(op)
        if isinstance(op, PutOp) and op.index is not None and self.embeddings is None:
            raise ValueError("there is no index")


# Batches


@caught_by("reads_see_the_state_before_the_batch")
class SeesItsOwnBatch(ModelStore):
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return [result for op in [*ops] for result in super(SeesItsOwnBatch, self).batch([op])]


@caught_by("results_stand_in_the_order_of_the_operations")
class ReadsFirst(ModelStore):
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return super().batch(sorted(ops, key=lambda op: isinstance(op, PutOp)))


@caught_by(
    "the_last_put_of_a_key_wins",
    "a_put_then_a_delete_leaves_nothing",
    "a_delete_then_a_put_leaves_the_put",
    "the_last_put_of_a_batch_is_ranked",
)
class KeepsTheFirstPut(ModelStore):
    def last_puts(self, ops: list[Op]) -> list[PutOp]:
        return super().last_puts(ops[::-1])


@caught_by("a_batch_takes_any_iterable")
class TakesNoIterable(ModelStore):
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return super().batch(ops[:])  # type: ignore[index] # that is what is wrong


@caught_by(
    "a_bad_operation_leaves_nothing_written", "a_failing_embedder_leaves_nothing_half_written"
)
class WritesBeforeItChecks(ModelStore):
    def check(self, op: Op) -> None:
        super().check(op)
        if isinstance(op, PutOp):
            self.write(self.row_of(op))


@caught_by("bad_labels_are_refused_in_a_batch")
class TrustsLabels(ModelStore):
    def check_labels(self, op: Op) -> None:
        pass


@caught_by("conditions_of_an_operation_are_all_met", "conditions_match_whole_labels")
class TakesOneConditionOnly(ModelStore):
    def namespaces(self, op: ListNamespacesOp) -> list[Path]:
        return super().namespaces(op._replace(match_conditions=(op.match_conditions or ())[:1]))


@caught_by("the_same_key_in_two_namespaces_is_put_twice")
class PutsEachKeyOnce(ModelStore):
    def last_puts(self, ops: list[Op]) -> list[PutOp]:
        return [*{op.key: op for op in super().last_puts(ops)}.values()]


@caught_by("an_empty_batch_gives_nothing")
class NeedsAnOperation(ModelStore):
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        ops = list(ops)
        return super().batch([ops[0], *ops[1:]])


# Searches


@caught_by("a_prefix_is_whole_labels", "a_ranking_stays_below_its_prefix")
class MatchesPartsOfLabels(ModelStore):
    def is_below(self, namespace: Path, prefix: Path) -> bool:
        return "/".join(namespace).startswith("/".join(prefix))


@caught_by("a_prefix_is_case_sensitive")
class FoldsPrefixes(ModelStore):
    def is_below(self, namespace: Path, prefix: Path) -> bool:
        return super().is_below(
            tuple(label.lower() for label in namespace), tuple(label.lower() for label in prefix)
        )


@caught_by("a_prefix_has_no_wildcards")
class MatchesWildcards(ModelStore):
    def is_below(self, namespace: Path, prefix: Path) -> bool:
        pattern = "/".join(prefix).replace("%", "*").replace("_", "?")
        whole = "/".join(namespace[: len(prefix)])
        return fnmatch.fnmatchcase(whole, pattern)


@caught_by("a_prefix_keeps_a_trailing_newline")
class IgnoresATrailingNewline(ModelStore):
    def is_below(self, namespace: Path, prefix: Path) -> bool:
        start = namespace[: len(prefix)]
        return len(start) == len(prefix) and all(
            re.match(f"{re.escape(label)}$", one) for label, one in zip(prefix, start, strict=True)
        )


@caught_by(
    "pages_partition_what_a_filter_finds",
    "a_filter_comes_before_the_ranking",
    "the_limit_takes_the_best",
)
class LimitsBeforeItFilters(ModelStore):
    def candidates(self, op: SearchOp) -> list[Row]:
        rows = super().candidates(op._replace(filter=None))[: op.offset + op.limit]
        return [row for row in rows if self.matches(self.decode(row.value), op.filter or {})]


@caught_by(
    "negative_bounds_are_refused",
    "negative_bounds_are_refused_with_a_query",
    "negative_bounds_of_a_listing_are_refused",
)
class SlicesWithNegativeBounds(ModelStore):
    def check_bounds(self, op: SearchOp | ListNamespacesOp) -> None:
        pass


@caught_by(
    "pages_partition_a_listing", "pages_partition_a_ranking", "an_offset_past_the_end_finds_nothing"
)
class OverlapsPages(ModelStore):
    def page(self, ranked: list[Any], op: SearchOp) -> list[Any]:
        return super().page(ranked, op._replace(offset=max(0, op.offset - 1)))


@caught_by("a_listing_has_no_scores", "an_empty_query_is_no_query", "an_empty_query_ranks_nothing")
class ScoresListings(ModelStore):
    def search_rows(self, op: SearchOp) -> list[SearchItem]:
        found = super().search_rows(op)
        for item in found:
            item.score = item.score if op.query else 0.0
        return found


@caught_by("ranges_compare_numbers")
class ComparesText(ModelStore):
    def compare(self, value: Any, operator: str, bound: Any) -> bool:
        if operator in ("$eq", "$ne") or not self.comparable(value, bound):
            return super().compare(value, operator, bound)
        return super().compare(str(value), operator, str(bound))


@caught_by("whole_numbers_compare_exactly")
class ComparesFloats(ModelStore):
    def compare(self, value: Any, operator: str, bound: Any) -> bool:
        if operator in ("$eq", "$ne") or isinstance(bound, str):
            return super().compare(value, operator, bound)
        return self.comparable(value, bound) and super().compare(
            float(value), operator, float(bound)
        )


@caught_by("no_kind_of_value_breaks_a_comparison")
class ComparesAnything(ModelStore):
    def comparable(self, value: Any, bound: Any) -> bool:
        return True


@caught_by("an_unknown_operator_is_refused", "an_unknown_operator_is_refused_with_a_query")
class IgnoresUnknownOperators(ModelStore):
    def check_operator(self, operator: str) -> None:
        pass

    def compare(self, value: Any, operator: str, bound: Any) -> bool:
        return operator not in ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte") or super().compare(
            value, operator, bound
        )


@caught_by("a_filter_for_an_empty_value_is_a_filter")
class IgnoresEmptyValues(ModelStore):
    def matches(self, value: Any, wanted: Any) -> bool:
        return wanted in (0, "", False) or super().matches(value, wanted)


@caught_by("all_conditions_of_a_filter_are_met", "an_object_in_a_filter_excludes_others")
class TakesAnyCondition(ModelStore):
    def matches(self, value: Any, wanted: Any) -> bool:
        if not isinstance(wanted, dict) or any(name.startswith("$") for name in wanted):
            return super().matches(value, wanted)
        return not wanted or any(
            self.matches(value.get(field), inner) for field, inner in wanted.items()
        )


@caught_by("a_filter_works_or_is_refused")
class FindsNothingByPath(ModelStore):
    def check_filter(self, condition: Mapping[str, Any]) -> None:
        super().check_filter({field: one for field, one in condition.items() if "." not in field})


@caught_by("a_filter_works_or_is_refused")
class ComparesObjectsWhole(ModelStore):
    def candidates(self, op: SearchOp) -> list[Row]:
        return [
            row
            for row in super().candidates(op)
            for value in [self.decode(row.value)]
            if all(
                not isinstance(wanted, dict)
                or any(name.startswith("$") for name in wanted)
                or value.get(field) == wanted
                for field, wanted in (op.filter or {}).items()
            )
        ]


@caught_by("a_filter_for_none_finds_null_and_missing")
class NeedsTheField(ModelStore):
    def matches(self, value: Any, wanted: Any) -> bool:
        if isinstance(value, dict) and isinstance(wanted, dict):
            fields = {name for name in wanted if not name.startswith("$")}
            return fields <= value.keys() and super().matches(value, wanted)
        return super().matches(value, wanted)


@caught_by("hostile_values_are_data")
class ReadsPatternsInValues(ModelStore):
    def matches(self, value: Any, wanted: Any) -> bool:
        if isinstance(wanted, str) and isinstance(value, str):
            return fnmatch.fnmatchcase(value, wanted.replace("%", "*").replace("_", "?"))
        return super().matches(value, wanted)


@caught_by("a_search_gives_whole_items", "a_ranking_gives_whole_items")
class FindsLessThanItGets(ModelStore):
    def search_rows(self, op: SearchOp) -> list[SearchItem]:
        found = super().search_rows(op)
        for item in found:
            item.created_at = item.created_at.replace(year=1)
        return found


@caught_by("the_empty_prefix_finds_everything")
class NeedsAPrefix(ModelStore):
    def is_below(self, namespace: Path, prefix: Path) -> bool:
        return bool(prefix) and super().is_below(namespace, prefix)


@caught_by("the_limit_is_ten_unless_given")
class IgnoresTheLimit(ModelStore):
    def page(self, ranked: list[Any], op: SearchOp) -> list[Any]:
        return ranked[op.offset :]


@caught_by("an_empty_store_finds_nothing", "a_ranking_of_nothing_is_empty")
class DividesByTheNumberOfItems(ModelStore):
    def candidates(self, op: SearchOp) -> list[Row]:
        rows = super().candidates(op)
        return rows if 1 / len(rows) else []


@caught_by("a_filter_compares_for_equality")
class ComparesWords(ModelStore):
    def matches(self, value: Any, wanted: Any) -> bool:
        if isinstance(value, dict) or isinstance(wanted, dict):
            return super().matches(value, wanted)
        return str(value) == str(wanted)


@caught_by("ne_leaves_out_what_is_equal")
class NegatesWords(ModelStore):
    def compare(self, value: Any, operator: str, bound: Any) -> bool:
        if operator == "$ne":
            return str(value) != str(bound)
        return super().compare(value, operator, bound)


@caught_by("whole_and_broken_numbers_are_one_kind")
class TellsKindsOfNumbersApart(ModelStore):
    def matches(self, value: Any, wanted: Any) -> bool:
        if isinstance(wanted, float) and type(value) is not float:
            return False
        return super().matches(value, wanted)


@caught_by("an_empty_filter_is_no_filter")
class TakesNoFilterForNothing(ModelStore):
    def candidates(self, op: SearchOp) -> list[Row]:
        return [] if op.filter == {} else super().candidates(op)


@caught_by("a_field_may_have_any_ordinary_name")
class NeedsIdentifiers(ModelStore):
    def check_filter(self, condition: Mapping[str, Any]) -> None:
        super().check_filter(condition)
        if not all(field.isidentifier() for field in condition):
            raise ValueError("no identifier")


@caught_by("hostile_field_names_are_data")
class RunsFieldNames(ModelStore):
    def matches(self, value: Any, wanted: Any) -> bool:
        if isinstance(wanted, dict) and any("OR 1=1" in field for field in wanted):
            return True
        return super().matches(value, wanted)


# Ranking


@caught_by("an_empty_query_ranks_nothing")
class RanksAnEmptyQuery(ModelStore):
    def search_rows(self, op: SearchOp) -> list[SearchItem]:
        return super().search_rows(op._replace(query="tea") if op.query == "" else op)


@caught_by("the_best_match_comes_first", "the_limit_takes_the_best")
class RanksTheWorstFirst(ModelStore):
    def likeness(self, one: Vector, other: Vector) -> float:
        return 1 - super().likeness(one, other)


@caught_by("a_better_match_scores_higher", "the_best_match_comes_first")
class ScoresByDistance(ModelStore):
    def search_rows(self, op: SearchOp) -> list[SearchItem]:
        found = super().search_rows(op)
        for item in found:
            item.score = None if item.score is None else 1 - item.score
        return found


@caught_by(
    "an_item_that_is_not_indexed_is_kept_unranked", "an_item_without_the_fields_is_kept_unranked"
)
class PutsUnrankedItemsFirst(ModelStore):
    def rank(self, rows: list[Row], query: Vector) -> list[tuple[Row, float | None]]:
        return sorted(super().rank(rows, query), key=lambda pair: pair[1] is not None)


@caught_by("pages_partition_a_ranking_with_unranked_items")
class RepeatsUnrankedItems(ModelStore):
    def page(self, ranked: list[Any], op: SearchOp) -> list[Any]:
        scored = [pair for pair in ranked if pair[1] is not None]
        others = [pair for pair in ranked if pair[1] is None]
        found = super().page(scored, op)
        if not scored:
            return super().page(others, op)
        return found + others[: op.limit - len(found)]


@caught_by("an_item_comes_once", "equal_texts_in_one_item_are_found")
class RepeatsItems(ModelStore):
    def rank(self, rows: list[Row], query: Vector) -> list[tuple[Row, float | None]]:
        pairs = [(row, self.likeness(one, query)) for row in rows for one in row.vectors]
        return [*sorted(pairs, key=lambda pair: -pair[1])]


@caught_by("pages_partition_a_ranking_of_items_with_several_texts")
class CountsVectors(RepeatsItems):
    def page(self, ranked: list[Any], op: SearchOp) -> list[Any]:
        found = {id(row): (row, score) for row, score in super().page(ranked, op)[::-1]}
        return [*found.values()][::-1]


@caught_by("pages_partition_a_ranking")
class BreaksTiesByChance(ModelStore):
    turn = 1

    def rank(self, rows: list[Row], query: Vector) -> list[tuple[Row, float | None]]:
        self.turn = -self.turn
        return super().rank(rows[:: self.turn], query)


@caught_by("a_filter_comes_before_the_ranking")
class FiltersAfterItRanks(ModelStore):
    def candidates(self, op: SearchOp) -> list[Row]:
        return super().candidates(op._replace(filter=None) if op.query else op)

    def page(self, ranked: list[Any], op: SearchOp) -> list[Any]:
        return [
            (row, score)
            for row, score in super().page(ranked, op)
            if self.matches(self.decode(row.value), op.filter or {})
        ]


@caught_by(
    "a_ranking_stays_below_its_prefix", "a_query_without_an_index_lists_or_ranks_or_is_refused"
)
class RanksEverywhere(ModelStore):
    def candidates(self, op: SearchOp) -> list[Row]:
        return super().candidates(op._replace(namespace_prefix=()) if op.query else op)


@caught_by(
    "an_item_that_is_not_indexed_is_kept_unranked", "an_overwrite_without_index_leaves_the_ranking"
)
class IndexesInAnyCase(ModelStore):
    def vectors_of(self, op: PutOp, old: Row | None) -> list[Vector]:
        return super().vectors_of(op._replace(index=None) if op.index is False else op, old)


@caught_by("only_the_configured_fields_are_searched", "an_item_without_the_fields_is_kept_unranked")
class IndexesTheWholeValue(ModelStore):
    def texts_of(self, op: PutOp) -> list[str]:
        return super().texts_of(op._replace(index=["$"]))


@caught_by(
    "a_put_indexes_the_path_it_names",
    "a_put_indexes_all_paths_it_names",
    "a_put_can_index_the_whole_value",
)
class IgnoresPathsOfPuts(ModelStore):
    def texts_of(self, op: PutOp) -> list[str]:
        return super().texts_of(op._replace(index=None))


@caught_by("each_element_is_matched_on_its_own")
class JoinsTexts(ModelStore):
    def texts_of(self, op: PutOp) -> list[str]:
        texts = super().texts_of(op)
        return [" ".join(texts)] if texts else []


@caught_by("a_put_can_index_the_whole_value")
class EscapesText(ModelStore):
    def texts_of(self, op: PutOp) -> list[str]:
        return [text.encode("ascii", "replace").decode() for text in super().texts_of(op)]


@caught_by(
    "an_item_that_is_not_indexed_is_kept_unranked", "an_item_without_the_fields_is_kept_unranked"
)
class DropsItemsWithoutText(ModelStore):
    def write(self, row: Row | PutOp) -> None:
        if not isinstance(row, Row) or row.vectors or not self.embeddings:
            super().write(row)


@caught_by(
    "an_overwrite_replaces_the_text",
    "an_overwrite_with_other_paths_drops_the_old_ones",
    "an_overwrite_drops_texts_that_are_gone",
    "an_overwrite_without_index_leaves_the_ranking",
)
class KeepsOldVectors(ModelStore):
    def vectors_of(self, op: PutOp, old: Row | None) -> list[Vector]:
        return super().vectors_of(op, old) + (old.vectors if old else [])


@caught_by(
    "an_overwrite_without_index_leaves_the_ranking", "an_overwrite_drops_texts_that_are_gone"
)
class KeepsVectorsOfWhatIsGone(ModelStore):
    def vectors_of(self, op: PutOp, old: Row | None) -> list[Vector]:
        return super().vectors_of(op, old) or (old.vectors if old else [])


@caught_by("a_deleted_item_is_not_ranked")
class RevivesDeletedVectors(ModelStore):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.graves: dict[tuple[Path, str], list[Vector]] = {}

    def write(self, row: Row | PutOp) -> None:
        slot = (row.namespace, row.key)
        if isinstance(row, Row):
            row.vectors = row.vectors or self.graves.get(slot, [])
        elif slot in self.rows:
            self.graves[slot] = self.rows[slot].vectors
        super().write(row)


@caught_by("equal_texts_in_one_batch_are_both_found", "equal_texts_in_one_item_are_found")
class NeedsDistinctTexts(ModelStore):
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        ops = list(ops)
        texts = Counter(
            text
            for op in ops
            if isinstance(op, PutOp) and isinstance(op.value, dict) and self.embeddings
            for text in self.texts_of(op)
        )
        if texts and max(texts.values()) > 1:
            raise ValueError("equal texts")
        return super().batch(ops)


@caught_by("searches_in_one_batch_answer_each_query")
class AnswersTheFirstQuery(ModelStore):
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        ops = list(ops)
        queries = [op.query for op in ops if isinstance(op, SearchOp)]
        return super().batch(
            op._replace(query=queries[0]) if isinstance(op, SearchOp) else op for op in ops
        )


@caught_by("a_failing_embedder_leaves_nothing_half_written")
class EmbedsAfterItWrites(ModelStore):
    def vectors_of(self, op: PutOp, old: Row | None) -> list[Vector]:
        assert op.value is not None
        value = self.encode(op.value)
        self.write(Row(op.namespace, op.key, value, self.now, self.now, [], None, None))
        return super().vectors_of(op, old)


# Namespaces


class RemembersNamespaces(ModelStore):
    """Lists what it was shown, too."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.shown: list[Path] = []

    def all_namespaces(self) -> Iterator[Path]:
        return itertools.chain(super().all_namespaces(), self.shown)


@caught_by("a_namespace_goes_with_its_last_item")
class KeepsEmptyNamespaces(RemembersNamespaces):
    def write(self, row: Row | PutOp) -> None:
        if isinstance(row, Row):
            self.shown.append(row.namespace)
        super().write(row)


@caught_by("a_get_makes_no_namespace")
class MakesNamespacesByGet(RemembersNamespaces):
    def find(self, op: GetOp) -> Item | None:
        self.shown.append(op.namespace)
        return super().find(op)


@caught_by("a_search_makes_no_namespace")
class MakesNamespacesBySearch(RemembersNamespaces):
    def candidates(self, op: SearchOp) -> list[Row]:
        self.shown.append(op.namespace_prefix)
        return super().candidates(op)


@caught_by("deleting_what_is_missing_makes_no_namespace")
class MakesNamespacesByDelete(RemembersNamespaces):
    def write(self, row: Row | PutOp) -> None:
        if isinstance(row, PutOp):
            self.shown.append(row.namespace)
        super().write(row)


@caught_by("every_namespace_with_items_is_listed_once", "pages_partition_the_namespaces")
class ListsInAnyOrder(ModelStore):
    def namespaces(self, op: ListNamespacesOp) -> list[Path]:
        every = super().namespaces(op._replace(offset=0, limit=1000))[::-1]
        return every[op.offset : op.offset + op.limit]


@caught_by("the_limit_of_a_listing_is_a_hundred_unless_given")
class ListsEverything(ModelStore):
    def namespaces(self, op: ListNamespacesOp) -> list[Path]:
        return super().namespaces(op._replace(limit=1000))


@caught_by("max_depth_merges_before_paging")
class PagesBeforeItCuts(ModelStore):
    def namespaces(self, op: ListNamespacesOp) -> list[Path]:
        return sorted(
            {path[: op.max_depth] for path in super().namespaces(op._replace(max_depth=None))}
        )


@caught_by("conditions_match_before_max_depth_cuts")
class CutsBeforeItMatches(ModelStore):
    def namespaces(self, op: ListNamespacesOp) -> list[Path]:
        cut = super().namespaces(ListNamespacesOp(None, op.max_depth, 1000))
        met = [
            path for path in cut if all(self.meets(path, one) for one in op.match_conditions or ())
        ]
        return met[op.offset : op.offset + op.limit]


@caught_by("max_depth_cuts_and_merges")
class RepeatsCutNamespaces(ModelStore):
    def namespaces(self, op: ListNamespacesOp) -> list[Path]:
        every = super().namespaces(op._replace(max_depth=None, offset=0, limit=1000))
        return [path[: op.max_depth] for path in every][op.offset : op.offset + op.limit]


@caught_by("a_star_in_a_condition_is_one_label")
class KnowsNoStar(ModelStore):
    def stands_for(self, pattern: str, label: str) -> bool:
        return pattern == label


@caught_by("conditions_have_no_other_wildcards")
class KnowsMoreWildcards(ModelStore):
    def stands_for(self, pattern: str, label: str) -> bool:
        return fnmatch.fnmatchcase(label, pattern.replace("%", "*").replace("_", "?"))


@caught_by("conditions_match_whole_labels")
class MatchesPartsOfConditions(ModelStore):
    def stands_for(self, pattern: str, label: str) -> bool:
        return pattern == "*" or label.startswith(pattern)


@caught_by("an_empty_store_has_no_namespaces")
class ListsTheRoot(ModelStore):
    def all_namespaces(self) -> Iterator[Path]:
        return itertools.chain([()], super().all_namespaces())


# Time to live


@caught_by("an_expired_item_is_found_by_no_route")
class ListsExpiredNamespaces(KeepsEmptyNamespaces):
    def write(self, row: Row | PutOp) -> None:
        super().write(row)
        if isinstance(row, PutOp):
            self.shown = [namespace for namespace in self.shown if namespace != row.namespace]


@caught_by("a_ttl_is_in_minutes")
class CountsSeconds(ModelStore):
    def row_of(self, op: PutOp) -> Row | PutOp:
        return super().row_of(op if op.ttl is None else op._replace(ttl=op.ttl / 60))


@caught_by("a_ttl_is_honoured_or_refused", "an_expired_item_is_found_by_no_route")
class DropsTtls(ModelStore):
    def row_of(self, op: PutOp) -> Row | PutOp:
        return super().row_of(op._replace(ttl=None))


@caught_by("a_ttl_in_a_batch_is_honoured_or_refused")
class DropsTtlsOfBatches(ModelStore):
    supports_ttl = False


@caught_by("an_expired_item_is_not_ranked")
class RanksTheExpired(ModelStore):
    def expire(self) -> None:
        before = dict(self.rows)
        super().expire()
        self.expired = before.keys() - self.rows.keys()
        self.rows = before

    def find(self, op: GetOp) -> Item | None:
        return None if (op.namespace, op.key) in self.expired else super().find(op)

    def candidates(self, op: SearchOp) -> list[Row]:
        rows = super().candidates(op)
        return [row for row in rows if op.query or (row.namespace, row.key) not in self.expired]


@caught_by("a_get_refreshes_the_ttl", "a_search_refreshes_the_ttl", "a_read_refreshes_by_default")
class NeverRefreshes(ModelStore):
    def refresh(self, row: Row, *, asked: bool) -> None:
        pass


@caught_by("a_read_need_not_refresh")
class RefreshesUnasked(ModelStore):
    def refresh(self, row: Row, *, asked: bool) -> None:
        super().refresh(row, asked=True)


@caught_by("a_search_refreshes_the_ttl")
class RefreshesByGetOnly(ModelStore):
    def search_rows(self, op: SearchOp) -> list[SearchItem]:
        return super().search_rows(op._replace(refresh_ttl=False))


@caught_by("a_search_refreshes_only_what_it_returns")
class RefreshesWhatItFiltersOut(ModelStore):
    def candidates(self, op: SearchOp) -> list[Row]:
        for row in super().candidates(op._replace(filter=None)):
            self.refresh(row, asked=op.refresh_ttl)
        return super().candidates(op)


@caught_by("an_overwrite_starts_the_ttl_anew", "an_overwrite_without_a_ttl_ends_it")
class KeepsTheFirstTtl(ModelStore):
    def row_of(self, op: PutOp) -> Row | PutOp:
        row = super().row_of(op)
        old = self.rows.get((op.namespace, op.key))
        if isinstance(row, Row) and old is not None and old.ttl is not None:
            row.ttl, row.expires_at = old.ttl, old.expires_at
        return row


@caught_by("no_ttl_is_always_accepted")
class RefusesEveryTtl(ModelStore):
    def put(
        self, namespace: Path, key: str, value: Any, index: Any = None, *, ttl: Any = NOT_PROVIDED
    ) -> None:
        if ttl is not NOT_PROVIDED:
            raise NotImplementedError("no ttl")
        super().put(namespace, key, value, index)


# Threads, tasks and event loops


@caught_by("concurrent_puts_lose_nothing", "concurrent_deletes_delete_all")
class LosesConcurrentWrites(ModelStore):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.lock = nullcontext()  # type: ignore[assignment] # that is what is wrong

    def write(self, row: Row | PutOp) -> None:
        before = dict(self.rows)
        time.sleep(0.001)
        self.rows = before
        super().write(row)


@caught_by("concurrent_overwrites_leave_one_value")
class FailsWhenBusy(ModelStore):
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        if not self.lock.acquire(blocking=False):
            raise RuntimeError("another thread writes")
        try:
            time.sleep(0.001)
            return super().batch(ops)
        finally:
            self.lock.release()


@caught_by("concurrent_reads_get_their_own_answers", "concurrent_queries_get_their_own_answers")
class SharesItsAnswer(ModelStore):
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        self.answer = super().batch(ops)
        time.sleep(0.001)
        return self.answer


@caught_by("a_bad_call_fails_alone", way="async")
class FailsWithItsNeighbours(AsyncBatchedBaseStore):
    def __init__(self) -> None:
        super().__init__()
        self.model = ModelStore()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return self.model.batch(ops)


@caught_by("sync_and_async_see_the_same_items", way="async")
class KeepsTwoStores(ModelStore):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.other = ModelStore(**options)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return self.other.batch(ops)


@caught_by("a_cancelled_call_leaves_the_store_usable", way="async")
class StaysLocked(ModelStore):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.gate = asyncio.Lock()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        await self.gate.acquire()
        await asyncio.sleep(0)
        results = self.batch(ops)
        self.gate.release()
        return results


@caught_by("a_fresh_store_answers")
class HangsAtFirst(ModelStore):
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        if not self.rows:
            time.sleep(5 * PATIENCE)
        return super().batch(ops)


@caught_by("a_sync_call_in_a_running_loop_returns")
class WaitsForItsOwnLoop(ModelStore):
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        if asyncio._get_running_loop() is not None:
            time.sleep(5 * PATIENCE)
        return super().batch(ops)
