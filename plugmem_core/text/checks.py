"""What is accepted as text: one place for the rules, one wording for the errors."""

from plugmem_core.errors import InvalidInputError, TooLargeError, WrongTypeError, shown


def check_text(value: object, name: str, *, max_bytes: int) -> str:
    """Return the value if it is text that can be stored and searched.

    Args:
        value: What a caller passed.
        name: The argument's name, for the message of an error.
        max_bytes: Longest text accepted, in bytes of UTF-8.

    Raises:
        WrongTypeError: It is no `str`.
        InvalidInputError: It has a lone surrogate, which UTF-8 cannot write, or a NUL
            character, at which other readers of the file would end it.
        TooLargeError: It is longer than `max_bytes`.
    """
    if not isinstance(value, str):
        raise WrongTypeError(f"{name} is {shown(value)} ({type(value).__name__}); give a str")
    if "\0" in value:
        raise InvalidInputError(
            f"{name} has a NUL character at {value.index(chr(0))}: {shown(value)}; remove it"
        )
    size = len(value) if value.isascii() else _utf8_size(value, name)
    if size > max_bytes:
        raise TooLargeError(
            f"{name} has {size} bytes of UTF-8, over the limit of {max_bytes}: {shown(value)}; "
            "shorten or split it"
        )
    return value


def check_fact_text(value: object, name: str = "text", *, max_bytes: int) -> str:
    """Return the value if it can be the text of a fact: as `check_text`, and not blank.

    Raises:
        WrongTypeError: As `check_text`.
        InvalidInputError: As `check_text`, or it is empty or only whitespace.
        TooLargeError: As `check_text`.
    """
    text = check_text(value, name, max_bytes=max_bytes)
    if not text or text.isspace():
        raise InvalidInputError(f"{name} is {shown(text)}, which is blank; say something")
    return text


def _utf8_size(text: str, name: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"{name} has a lone surrogate at {error.start}: {shown(text)}; decode the bytes it "
            "came from with the right encoding, or with errors='replace'"
        ) from None
