"""What a store is asked to do: which operations are accepted, and what their filters mean."""

from collections.abc import Mapping
from typing import Any

from langgraph.store.base import (
    GetOp,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
    validate_op_namespace,
)

from plugmem_core import InvalidInputError, Namespace, WrongTypeError
from plugmem_core.errors import shown
from plugmem_core.filters import parse_filter
from plugmem_core.inputs import check_count, check_key, check_type


def check_op(op: Op) -> None:
    """Refuse an operation that breaks a rule, before anything of its batch is done."""
    _check_place(op)
    validate_op_namespace(op)
    if isinstance(op, GetOp | PutOp):
        check_type(op.key, str, "key", "a str")
        check_key(op.key)
        if isinstance(op, PutOp):
            _check_put(op)
    elif isinstance(op, SearchOp | ListNamespacesOp):
        check_count(op.limit, "limit", least=0)
        check_count(op.offset, "offset", least=0)
        if isinstance(op, SearchOp):
            _check_search(op)
        else:
            _check_listing(op)
    else:
        raise WrongTypeError(f"{shown(op)} is no operation of a store")


def _check_place(op: Op) -> None:
    # A str would pass for the labels it is made of.
    if isinstance(op, GetOp | PutOp):
        check_type(op.namespace, tuple, "namespace", 'a tuple of labels, such as ("users", "ann")')
    elif isinstance(op, SearchOp):
        accepted = (tuple, list)
        check_type(op.namespace_prefix, accepted, "namespace_prefix", "a tuple of labels")


def _check_put(op: PutOp) -> None:
    if op.value is not None and not isinstance(op.value, Mapping):
        raise WrongTypeError(
            f"the value of {op.key!r} is {shown(op.value)} ({type(op.value).__name__}); "
            "give a mapping, or None to delete the item"
        )
    if op.index is not None and op.index is not False:
        check_paths(op.index, "index")
    if op.ttl is not None and (
        isinstance(op.ttl, bool)
        or not isinstance(op.ttl, int | float)
        or not 0 < op.ttl < float("inf")
    ):
        raise InvalidInputError(f"ttl is {shown(op.ttl)}; give minutes, more than 0, or None")


def _check_search(op: SearchOp) -> None:
    if op.query is not None and not isinstance(op.query, str):
        raise WrongTypeError(f"query is {shown(op.query)} ({type(op.query).__name__}); give a str")
    where = where_of(op.filter)
    if where is not None:
        parse_filter(where)


def _check_listing(op: ListNamespacesOp) -> None:
    if op.max_depth is not None:
        check_count(op.max_depth, "max_depth")
    for condition in op.match_conditions or ():
        if condition.match_type not in ("prefix", "suffix"):
            raise InvalidInputError(
                f"match_type is {shown(condition.match_type)}; give 'prefix' or 'suffix'"
            )


def check_paths(paths: object, name: str) -> list[str]:
    if not isinstance(paths, list | tuple) or not all(isinstance(path, str) for path in paths):
        raise WrongTypeError(f"{name} is {shown(paths)}; give a list of paths, such as ['$']")
    return list(paths)


def where_of(given: object) -> dict[str, Any] | None:
    """Return a store's filter as a filter over the metadata of its facts."""
    if not given:
        return None
    if not isinstance(given, Mapping):
        raise WrongTypeError(f"filter is {shown(given)}; give a mapping")
    return {"$and": [_condition("value", name, wanted) for name, wanted in given.items()]}


def _condition(path: str, name: object, wanted: object) -> dict[str, Any]:
    if not isinstance(name, str):
        raise WrongTypeError(f"a field of the filter is {shown(name)}; give a str")
    if name in ("$and", "$or"):
        parts = wanted if isinstance(wanted, list | tuple) else [wanted]
        return {name: [where_of(part) or {} for part in parts]}
    if name == "$not":
        return {name: (where_of(wanted) or {}) if isinstance(wanted, Mapping) else wanted}
    if name.startswith("$"):
        return {name: wanted}  # which the engine refuses, naming what it takes
    field = f"{path}.{name}"
    if wanted is None:
        return {"$or": [{field: None}, {field: {"$exists": False}}]}
    if isinstance(wanted, Mapping) and wanted:
        if any(isinstance(key, str) and key.startswith("$") for key in wanted):
            return {field: wanted}
        return {"$and": [_condition(field, key, value) for key, value in wanted.items()]}
    return {field: {"$eq": wanted}}


def matches(condition: MatchCondition, namespace: Namespace) -> bool:
    path = tuple(condition.path)
    end = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :]
    return not path or (
        len(end) == len(path)
        and all(label in ("*", own) for label, own in zip(path, end, strict=True))
    )
