"""Scopes: labels are literal or whole names in braces, and values are whole labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from langchain_plugmem._scopes import check_scope, resolve_scope
from plugmem_core import InvalidInputError, Memory, WrongTypeError

USER = ("users", "{user_id}")


@dataclass
class Ann:
    user_id: str = "ann"


class Model(BaseModel):
    user_id: str = "ann"


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")


class Person(StrEnum):
    ANN = "ann"


class Number(IntEnum):
    ANN = 7


@pytest.mark.parametrize(
    "context",
    [
        Ann(),
        Model(),
        Open.model_validate({"user_id": "ann"}),
        {"user_id": "ann"},
        MappingProxyType({"user_id": "ann"}),
        SimpleNamespace(user_id="ann"),
    ],
    ids=lambda context: type(context).__name__,
)
def test_a_label_is_filled_from_any_kind_of_context(context: object) -> None:
    assert resolve_scope(USER, context, {"user_id": "somebody else"}) == ("users", "ann")


def test_a_label_is_filled_from_the_configuration_when_there_is_no_context() -> None:
    assert resolve_scope(USER, None, {"user_id": "ann"}) == ("users", "ann")


def test_labels_without_braces_stand_for_themselves() -> None:
    assert resolve_scope(("users", "user_id"), {"user_id": "ann"}, {}) == ("users", "user_id")
    assert resolve_scope((), None, {}) == ()


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("a/b", "a/b"),
        ("a.b", "a.b"),
        ("{user_id}", "{user_id}"),
        ("{other}", "{other}"),
        ("%", "%"),
        (" ", " "),
        (7, "7"),
        (-1, "-1"),
        (Person.ANN, "ann"),
        (Number.ANN, "7"),
    ],
)
def test_a_value_is_taken_whole_and_never_read_again(value: object, label: str) -> None:
    namespace = resolve_scope(USER, {"user_id": value, "other": "x"}, {"other": "y"})
    assert namespace == ("users", label)
    assert type(namespace[1]) is str


@pytest.mark.parametrize("value", [None, "", True, 1.5, b"ann", ["ann"], {"ann": 1}, object()])
@pytest.mark.parametrize("in_context", [True, False])
def test_a_value_that_is_no_label_is_refused(value: object, *, in_context: bool) -> None:
    given = {"user_id": value}
    context, configurable = (given, {}) if in_context else (None, given)
    with pytest.raises(InvalidInputError, match=r"'\{user_id\}' cannot be filled"):
        resolve_scope(USER, context, configurable)


@pytest.mark.parametrize("value", ["a\x00b", "\ud800", "x" * 1025])
def test_a_value_that_breaks_the_rules_of_labels_is_refused(value: str) -> None:
    with pytest.raises(InvalidInputError, match=r"namespace\[1\]"):
        resolve_scope(USER, {"user_id": value}, {})


@pytest.mark.parametrize(
    ("context", "configurable", "place"),
    [
        (None, {}, r'config\["configurable"\]'),
        ({}, {"user_id": "ann"}, "the runtime context"),
        (Open(), {"user_id": "ann"}, "the runtime context, a Open"),
    ],
)
def test_a_missing_value_is_refused_and_the_place_is_named(
    context: object, configurable: Mapping[str, Any], place: str
) -> None:
    with pytest.raises(InvalidInputError, match=f"'user_id' in {place} is missing"):
        resolve_scope(USER, context, configurable)


@pytest.mark.parametrize(
    "label", ["{}", "{a", "a}", "}a{", "{a}{b}", "{{a}}", "user-{a}", "{a} ", "{a}.{b}"]
)
def test_braces_around_anything_but_a_whole_label_are_refused(label: str) -> None:
    with pytest.raises(InvalidInputError, match=r"namespace\[1\] is .*whole label"):
        check_scope(("users", label))


@pytest.mark.parametrize("scope", ["users", b"users", {"users": 1}, 3, [1], [None]])
def test_a_scope_that_is_no_list_of_labels_is_refused(scope: Any) -> None:
    with pytest.raises(WrongTypeError):
        check_scope(scope)


LABELS = st.one_of(
    st.sampled_from(["a", "A", "a.b", "a/b", "ab", "%", "_", "a%", "*", "{user_id}", "а", "ａ"]),
    st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=5),
)


@given(st.sets(LABELS, min_size=2, max_size=5))
def test_no_value_leads_to_the_facts_of_another(users: set[str]) -> None:
    with Memory.open(":memory:") as memory:
        for user in users:
            memory.remember("note", namespace=resolve_scope(USER, {"user_id": user}, {}))
        for user in users:
            found = memory.recall("note", namespace=resolve_scope(USER, {"user_id": user}, {}))
            assert [fact.namespace for fact in found] == [("users", user)]
