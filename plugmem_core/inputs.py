"""What callers pass, checked once and brought into the form the rest works with.

Every rule about an argument lives here or in `text`, `clock` and `filters`; every
error names the value, the rule and what to do instead.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from plugmem_core.clock import MAX_MS
from plugmem_core.errors import (
    InvalidInputError,
    TooLargeError,
    VectorSpaceError,
    WrongTypeError,
    shown,
)
from plugmem_core.model import Namespace
from plugmem_core.text import check_text, entity_key

MAX_COLLECTION_BYTES = 1_024
MAX_DIM = 4_096
MAX_ID = 2**32 - 2
MAX_KEY_BYTES = 1_024
MAX_LABEL_BYTES = 1_024
MAX_LABELS = 32
MAX_NAMES = 1_024
MAX_RELATION_BYTES = 1_024
MAX_TAG_BYTES = 1_024
MAX_JSON_DEPTH = 64
MAX_INT_BITS = 2_048  # 617 digits; Python may be set to refuse reading more than 640

VectorLike: TypeAlias = Sequence[float] | npt.NDArray[Any]
"""What a caller may pass for a vector."""

Link: TypeAlias = tuple[str, str]
"""A relation and the name of the entity it leads to."""

Keyed: TypeAlias = tuple[Namespace, str]
"""A namespace and a key in it."""


def check_type(value: object, kind: type | tuple[type, ...], name: str, wanted: str) -> None:
    """Refuse a value of another type; `bool` does not pass for `int`."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise WrongTypeError(f"{name} is {shown(value)} ({type(value).__name__}); give {wanted}")


def check_count(value: object, name: str, *, least: int = 1, most: int = MAX_ID) -> int:
    """Return an integer within bounds."""
    if type(value) is int and least <= value <= most:
        return value
    check_type(value, int, name, "an integer")
    assert isinstance(value, int)  # noqa: S101 - for the type checker; checked above
    if not least <= value <= most:
        raise InvalidInputError(f"{name} is {shown(value)}; give an integer from {least} to {most}")
    return value


def check_id(value: object, name: str = "id") -> int:
    """Return a fact id."""
    return check_count(value, name, least=0)


def check_ids(values: Iterable[int], name: str = "ids") -> list[int]:
    """Return a list of fact ids."""
    _refuse_text(values, name, "a list of fact ids")
    ids = _iterated(values, name, "a list of fact ids")
    return [check_id(value, f"{name}[{place}]") for place, value in enumerate(ids)]


def check_key(value: object) -> str | None:
    """Return a caller's own id for a fact; a blank one is refused."""
    return None if value is None else _required_key(value, "key")


def check_keys(values: Iterable[str], name: str = "keys") -> list[str]:
    """Return callers' own ids of facts, each once, in the order given."""
    _refuse_text(values, name, "a list of keys")
    keys = _iterated(values, name, "a list of keys")
    return list(dict.fromkeys(_required_key(key, f"{name}[{at}]") for at, key in enumerate(keys)))


def check_keyed(values: Iterable[Keyed], name: str) -> list[Keyed]:
    """Return pairs of a namespace and a key in it."""
    if _is_default(values):
        return []
    wanted = 'a list of pairs, [(("users", "ann"), "drink")]'
    _refuse_text(values, name, wanted)
    checked = []
    for at, pair in enumerate(_iterated(values, name, wanted)):
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise WrongTypeError(f"{name}[{at}] is {shown(pair)}; give a (namespace, key) pair")
        namespace = check_namespace(pair[0], f"{name}[{at}][0]")
        checked.append((namespace, _required_key(pair[1], f"{name}[{at}][1]")))
    return checked


def check_namespace(value: object, name: str = "namespace") -> Namespace:
    """Return a namespace: a tuple of labels, each a non-empty text."""
    if _is_default(value):
        return ()
    _refuse_text(value, name, 'a tuple of labels, for example ("users", "ann")')
    labels = tuple(_iterated(value, name, "a tuple of labels"))
    if len(labels) > MAX_LABELS:
        raise TooLargeError(
            f"{name} has {len(labels)} labels, over the limit of {MAX_LABELS}; nest less"
        )
    for place, label in enumerate(labels):
        text = check_text(label, f"{name}[{place}]", max_bytes=MAX_LABEL_BYTES)
        if not text:
            raise InvalidInputError(f"{name}[{place}] is empty; leave it out or give a label")
    return labels


def check_name(value: object, name: str) -> tuple[str, str]:
    """Return an entity's name and its key."""
    check_type(value, str, name, "a name")
    assert isinstance(value, str)  # noqa: S101 - for the type checker; checked above
    return value, entity_key(value, name)


def check_names(values: Iterable[str], name: str) -> list[tuple[str, str]]:
    """Return entity names and their keys."""
    _refuse_text(values, name, "a list of names")
    names = list(_iterated(values, name, "a list of names"))
    if len(names) > MAX_NAMES:
        raise TooLargeError(
            f"{name} has {len(names)} names, over the limit of {MAX_NAMES}; give fewer"
        )
    return [check_name(value, f"{name}[{place}]") for place, value in enumerate(names)]


def check_collection(value: object) -> str:
    """Return the name of a key-value collection, verbatim; a blank one is refused."""
    name = check_text(value, "collection", max_bytes=MAX_COLLECTION_BYTES)
    if not name.strip():
        raise InvalidInputError(f"collection is {name!r}, which is blank; name the collection")
    return name


def check_relation(value: object) -> str:
    """Return a relation, verbatim; a blank one is refused."""
    relation = check_text(value, "relation", max_bytes=MAX_RELATION_BYTES)
    if not relation.strip():
        raise InvalidInputError(f"relation is {relation!r}, which is blank; name the relation")
    return relation


def check_tag(value: object, name: str = "tag") -> str:
    """Return a tag, verbatim; a blank one is refused."""
    tag = check_text(value, name, max_bytes=MAX_TAG_BYTES)
    if not tag.strip():
        raise InvalidInputError(f"{name} is {tag!r}, which is blank; leave it out or name it")
    return tag


def check_tags(values: Iterable[str], name: str = "tags", *, most: int = MAX_NAMES) -> list[str]:
    """Return tags without repeats, in the order given; `most` counts repeats too."""
    if _is_default(values):
        return []
    _refuse_text(values, name, "a list of tags")
    tags = list(_iterated(values, name, "a list of tags"))
    if len(tags) > most:
        raise TooLargeError(f"{name} has {len(tags)} tags, over the limit of {most}; give fewer")
    return list(dict.fromkeys(check_tag(tag, f"{name}[{place}]") for place, tag in enumerate(tags)))


def check_links(values: Iterable[Link], *, most: int) -> list[tuple[str, tuple[str, str]]]:
    """Return links as relations and the names and keys they lead to."""
    if _is_default(values):
        return []
    _refuse_text(values, "links", "a list of (relation, target) pairs")
    links = list(_iterated(values, "links", "a list of (relation, target) pairs"))
    if len(links) > most:
        raise TooLargeError(f"links has {len(links)} pairs, over the limit of {most}; give fewer")
    checked = []
    for place, link in enumerate(links):
        name = f"links[{place}]"
        if isinstance(link, str) or not isinstance(link, Sequence) or len(link) != 2:
            raise WrongTypeError(f"{name} is {shown(link)}; give a (relation, target) pair")
        checked.append((check_relation(link[0]), check_name(link[1], f"{name}[1]")))
    return checked


def check_metadata(value: Mapping[str, Any] | None, name: str, *, max_bytes: int) -> str | None:
    """Return metadata as JSON text, sorted by key; `None` when there is none.

    Raises:
        WrongTypeError: It is no mapping, has a key that is no text, or a value JSON cannot hold.
        InvalidInputError: It holds NaN or an infinity, is nested too deeply or in itself.
        TooLargeError: Its JSON is longer than `max_bytes`.
    """
    if value is None:
        return None
    check_type(value, Mapping, name, "a mapping with text keys")
    if not value:
        return None
    plain = _plain_json(value, name, 1, _proper_text)
    return _json_text(plain, name, max_bytes, sort_keys=True)


def check_json(value: object, name: str, *, max_bytes: int) -> str:
    """Return a JSON value as text; its keys keep their order, and its texts may be any.

    Raises:
        WrongTypeError: It holds what JSON cannot.
        InvalidInputError: It holds NaN or an infinity, is nested too deeply or in itself.
        TooLargeError: Its JSON is longer than `max_bytes`.
    """
    plain = _plain_json(value, name, 1, _any_text)
    try:
        return _json_text(plain, name, max_bytes, sort_keys=False)
    except UnicodeEncodeError:  # lone surrogates, which only escapes can hold
        return _json_text(plain, name, max_bytes, sort_keys=False, ensure_ascii=True)


def check_vector(value: VectorLike, name: str, dim: int) -> npt.NDArray[np.float32]:
    """Return a vector as float32 components.

    Args:
        value: Finite numbers, not all zero.
        name: The argument's name, for the message of an error.
        dim: How many components the file's vectors have; 0 when it has none yet.

    Raises:
        WrongTypeError: It is no flat sequence of numbers.
        VectorSpaceError: It has another dimension.
        InvalidInputError: A component is NaN or infinite, or all are zero.
    """
    if isinstance(value, str | bytes):
        raise WrongTypeError(f"{name} is {shown(value)}; give a sequence of numbers")
    try:
        given = np.asarray(value)
        if given.dtype.kind == "O":
            np.asarray(value, dtype=np.float64)  # says so of an integer beyond floating point
    except OverflowError:
        raise InvalidInputError(
            f"{name} has a component beyond floating point; check the embedder"
        ) from None
    except (TypeError, ValueError):
        raise WrongTypeError(f"{name} is {shown(value)}; give a sequence of numbers") from None
    if given.ndim != 1 or given.dtype.kind not in "fiu":
        raise WrongTypeError(f"{name} is {shown(value)}; give a flat sequence of numbers")
    with np.errstate(over="ignore"):  # an overflow is refused as infinite below
        array = given.astype(np.float32)
        norm = float(np.vdot(array, array))
    if not 0 < len(array) <= MAX_DIM:
        raise InvalidInputError(f"{name} has {len(array)} components; give from 1 to {MAX_DIM}")
    if dim and len(array) != dim:
        raise VectorSpaceError(
            f"{name} has {len(array)} components, the vectors of this memory have {dim}; "
            "use the embedder they were made with"
        )
    if norm == 0.0 or not math.isfinite(norm):
        if not np.isfinite(array).all():
            raise InvalidInputError(f"{name} has a NaN or infinite component; check the embedder")
        raise InvalidInputError(
            f"{name} has length {math.sqrt(norm)} in single precision, so it has no direction; "
            "give components of ordinary size, not all zero"
        )
    return np.ascontiguousarray(array)


def check_ttl(value: object, now: int) -> int | None:
    """Return when a fact expires, in Unix milliseconds, for a time to live.

    Args:
        value: Seconds, or a `timedelta`; positive. `None` means never.
        now: Unix milliseconds.
    """
    return None if value is None else now + check_duration(value, "ttl", longest=MAX_MS - now)


def check_duration(value: object, name: str, *, longest: int = MAX_MS) -> int:
    """Return a positive duration in milliseconds.

    Args:
        value: Seconds, or a `timedelta`.
        name: The argument's name, for the message of an error.
        longest: The most milliseconds there may be.
    """
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    check_type(seconds, (int, float), name, "seconds or a timedelta")
    assert isinstance(seconds, int | float)  # noqa: S101 - for the type checker
    most = longest / 1000
    if not 0.001 <= seconds <= most:
        raise InvalidInputError(f"{name} is {shown(value)}; give from 0.001 to {most:.0f} seconds")
    return int(seconds * 1000)


def _required_key(value: object, name: str) -> str:
    key = check_text(value, name, max_bytes=MAX_KEY_BYTES)
    if not key.strip():
        raise InvalidInputError(f"{name} is {key!r}, which is blank; leave it out or give an id")
    return key


def _json_text(
    plain: object, name: str, max_bytes: int, *, sort_keys: bool, ensure_ascii: bool = False
) -> str:
    text = json.dumps(plain, ensure_ascii=ensure_ascii, separators=(",", ":"), sort_keys=sort_keys)
    size = len(text.encode())
    if size > max_bytes:
        raise TooLargeError(
            f"{name} has {size} bytes of JSON, over the limit of {max_bytes}; "
            "keep large values elsewhere and store a reference"
        )
    return text


def _proper_text(text: str, name: str) -> str:
    return check_text(text, name, max_bytes=2**31)


def _any_text(text: str, _name: str) -> str:
    return str.__str__(text)


def _plain_json(value: object, name: str, depth: int, check: Callable[[str, str], str]) -> Any:
    if depth > MAX_JSON_DEPTH:
        raise InvalidInputError(f"{name} is nested over {MAX_JSON_DEPTH} levels; flatten it")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return check(value, name)
    if isinstance(value, int):
        return _plain_int(value, name)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInputError(f"{name} is {value}, which JSON cannot hold; use None")
        return float(value)
    if isinstance(value, Mapping):
        plain = {}
        for key, item in value.items():
            check_type(key, str, f"a key of {name}", "text keys")
            plain[check(key, f"a key of {name}")] = _plain_json(
                item, f"{name}.{shown(key)}", depth + 1, check
            )
        return plain
    if isinstance(value, list | tuple):
        return [_plain_json(item, f"{name}[{i}]", depth + 1, check) for i, item in enumerate(value)]
    raise WrongTypeError(
        f"{name} is {shown(value)} ({type(value).__name__}), which JSON cannot hold; "
        "give text, numbers, booleans, None, lists or objects"
    )


def _plain_int(value: int, name: str) -> int:
    if value.bit_length() > MAX_INT_BITS:
        raise InvalidInputError(
            f"{name} is an integer of {value.bit_length()} bits, over the limit of {MAX_INT_BITS}; "
            "give it as text"
        )
    return int(value)


def _is_default(values: object) -> bool:
    # Not `values == ()`, which compares arrays item by item.
    return isinstance(values, tuple) and not values


def _refuse_text(value: object, name: str, wanted: str) -> None:
    # A text is a sequence of texts, so a forgotten bracket would pass for a list of letters.
    if isinstance(value, str | bytes | Mapping):
        raise WrongTypeError(f"{name} is {shown(value)} ({type(value).__name__}); give {wanted}")


def _iterated(value: object, name: str, wanted: str) -> Iterable[Any]:
    if not isinstance(value, Iterable):
        raise WrongTypeError(f"{name} is {shown(value)} ({type(value).__name__}); give {wanted}")
    return value
