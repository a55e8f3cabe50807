"""Namespaces that depend on who asks: one rule for what is read and what is written.

A scope is a sequence of labels. A label that is a name in braces and nothing else, such as
`"{user_id}"`, stands for a value of the run; every other label stands for itself. The value
becomes one label, whole: dots, slashes and braces in it mean nothing, so no value can lead
out of its place in the scope.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from plugmem_core import InvalidInputError, Namespace
from plugmem_core.errors import shown
from plugmem_core.inputs import check_namespace

_MISSING: Final = object()


def check_scope(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the labels of a scope.

    Raises:
        InvalidInputError: A label breaks a rule of namespaces, or has braces but is not just
            a name in braces: taken literally, it would be one namespace for everybody.

    >>> check_scope(["users", "{user_id}"])
    ('users', '{user_id}')
    """
    scope = check_namespace(labels)
    for place, label in enumerate(scope):
        if ("{" in label or "}" in label) and not _name_in(label):
            raise InvalidInputError(
                f"namespace[{place}] is {shown(label)}; braces stand for a whole label, "
                'as in "{user_id}": give the text around them labels of its own'
            )
    return scope


def resolve_scope(
    scope: Iterable[str], context: object, configurable: Mapping[str, Any]
) -> Namespace:
    """Return the namespace of a run, each name in braces replaced by its value.

    Args:
        scope: What `check_scope` returned.
        context: The run's context: a mapping, or an object with attributes.
        configurable: `config["configurable"]`; asked only when there is no context.

    Raises:
        InvalidInputError: A value is missing, empty, or neither text nor an integer, or
            cannot be a label.

    >>> resolve_scope(["users", "{user_id}"], {"user_id": "a/b"}, {})
    ('users', 'a/b')
    """
    return check_namespace(
        [_filled(label, _name_in(label), context, configurable) for label in scope]
    )


def _name_in(label: str) -> str:
    """Return the name a label stands for; empty for a label that stands for itself."""
    inside = label[1:-1]
    is_template = label == "{" + inside + "}" and "{" not in inside and "}" not in inside
    return inside if is_template else ""


def _filled(label: str, name: str, context: object, configurable: Mapping[str, Any]) -> str:
    if not name:
        return label
    if context is None:
        value, place = configurable.get(name, _MISSING), 'config["configurable"]'
    elif isinstance(context, Mapping):
        value, place = context.get(name, _MISSING), "the runtime context"
    else:
        value = getattr(context, name, _MISSING)
        place = f"the runtime context, a {type(context).__name__}"
    return _as_label(value, f"{name!r} in {place}", label)


def _as_label(value: object, source: str, label: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(int(value))
    if isinstance(value, str) and value:
        return str.__str__(value)  # of an enum, its value and not its name
    problem = "is missing" if value is _MISSING else f"is {shown(value)} ({type(value).__name__})"
    raise InvalidInputError(
        f"the namespace label {label!r} cannot be filled: {source} {problem}; "
        "pass a text that is not empty, or an integer"
    )
