"""Identity of entity names: two spellings with the same tokens name the same entity."""

from plugmem_core.errors import InvalidInputError, shown
from plugmem_core.text.checks import check_text
from plugmem_core.text.tokenizer import tokenize

MAX_NAME_BYTES = 65_536


def entity_key(name: str, argument: str = "entity") -> str:
    """Return the normalised name of an entity: its tokens joined by one space.

    Case, accents on Latin letters and punctuation do not tell entities apart:
    `Café "A.B."` is `cafe a.b`.

    Args:
        name: The name as given; up to `MAX_NAME_BYTES` bytes of UTF-8.
        argument: The argument's name, for the message of an error.

    Raises:
        WrongTypeError: It is no `str`.
        InvalidInputError: It has a lone surrogate or a NUL, or no letter and no digit.
        TooLargeError: It is longer than `MAX_NAME_BYTES`.
    """
    key = " ".join(tokenize(check_text(name, argument, max_bytes=MAX_NAME_BYTES)))
    if not key:
        raise InvalidInputError(
            f"{argument} is {shown(name)}, which has no indexable characters; "
            "give a name with a letter or a digit"
        )
    return key
