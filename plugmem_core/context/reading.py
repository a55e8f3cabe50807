"""How what callers hand in is read: pydantic checks it, the package's own errors report it."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, StrictStr, ValidationError
from pydantic_core import ErrorDetails

from plugmem_core.errors import InvalidInputError, TooLargeError, WrongTypeError, shown

MAX_U64 = 2**64 - 1
MAX_COUNT = 2**53
"""The largest count taken from outside: what JSON readers without big integers can hold."""


def check_writable(text: str) -> str:
    """Return a text that UTF-8 can write.

    Raises:
        InvalidInputError: It has a lone surrogate.
    """
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidInputError(
                f"{shown(text)} has a lone surrogate at {error.start}, which UTF-8 cannot write; "
                "decode the bytes it came from with the right encoding"
            ) from None
    return text


Text = Annotated[StrictStr, AfterValidator(check_writable)]
"""A text that UTF-8 can write."""


class Record(BaseModel):
    """Frozen data that knows no field beyond its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")


R = TypeVar("R", bound=Record)


def read(model: type[R], value: object, name: str) -> R:
    """Return a record for what a caller passed: one already, or a mapping of its fields.

    Raises:
        WrongTypeError: It, or a field of it, has another type.
        TooLargeError: A text is too long.
        InvalidInputError: A field is missing, unknown or out of range.
    """
    if isinstance(value, model):
        return value
    if not isinstance(value, Mapping):
        raise WrongTypeError(
            f"{name} is {shown(value)} ({type(value).__name__}); "
            f"give a {model.__name__} or a mapping of its fields"
        )
    try:
        return model.model_validate(dict(value))
    except ValidationError as error:
        raise _own_error(error.errors(include_url=False)[0], name) from None


def read_id(value: object, name: str) -> int:
    """Return an unsigned 64-bit id given as an integer or as its decimal digits.

    Spaces around the digits and a leading `+` are passed over.

    >>> read_id(" +42 ", "fragment_id")
    42
    """
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise WrongTypeError(
            f"{name} is {shown(value)} ({type(value).__name__}); give an integer or its digits"
        )
    number = _from_digits(value) if isinstance(value, str) else value
    if number is None or not 0 <= number <= MAX_U64:
        raise InvalidInputError(
            f"{name} is {shown(value)}; give an integer from 0 to {MAX_U64}, or its digits"
        )
    return number


def _from_digits(text: str) -> int | None:
    digits = text.strip().removeprefix("+")
    # Longer text is no such id, and Python may refuse to read it.
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 64 else None


def _own_error(problem: ErrorDetails, name: str) -> InvalidInputError:
    place = name + "".join(_step(part) for part in problem["loc"])
    kind = problem["type"]
    if kind == "missing":
        return InvalidInputError(f"{place} is missing; give it")
    if kind == "extra_forbidden":
        return InvalidInputError(f"{place} is no known field; leave it out")
    cause: Any = problem.get("ctx", {}).get("error")
    if isinstance(cause, InvalidInputError):
        return type(cause)(f"{place}: {cause}")
    message = f"{place} is {shown(problem['input'])}: {problem['msg']}"
    if kind == "string_too_long":
        return TooLargeError(message)
    return WrongTypeError(message) if kind.endswith("_type") else InvalidInputError(message)


def _step(part: int | str) -> str:
    return f"[{part}]" if isinstance(part, int) else f".{part}"
