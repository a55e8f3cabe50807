"""Every error the package raises, as one tree.

    PlugmemError
    ├── InvalidInputError      (ValueError)    the value breaks a stated rule
    │   ├── WrongTypeError     (TypeError)     the value is of another type
    │   ├── TooLargeError                      the value is over a stated limit
    │   ├── InvalidFilterError                 a `where` filter that cannot be read
    │   └── StaleCursorError                   a page cursor of another listing
    ├── ConfigError            (ValueError)    an unknown knob, or one out of range
    ├── NotFoundError          (KeyError)      no such fact or entity here
    ├── ClosedFactError        (ValueError)    the fact has already been revised
    ├── ConflictError          (ValueError)    somebody else revised it first
    ├── VectorSpaceError       (ValueError)    vectors of another dimension or model
    ├── BusyError              (TimeoutError)  another writer held the file too long
    ├── ReadOnlyError          (PermissionError)
    ├── ClosedError            (ValueError)    the handle is closed, or belongs to a parent process
    ├── EmbedderError          (RuntimeError)  the embedder failed, or broke its contract
    ├── MissingExtraError      (ImportError)   a package of an extra is not installed
    ├── ServiceError           (RuntimeError)  an extractor or a reranker failed
    └── StorageError           (OSError)       the file cannot be used
        └── CorruptError                       the file is damaged

Each is also the builtin a caller would catch anyway, so `except ValueError`
keeps working:

    try:
        memory.revise(42, text="…")
    except NotFoundError as error:
        print(error)
"""

from reprlib import repr as _short


class PlugmemError(Exception):
    """The root of every error raised by this package.

    Attributes:
        place: Which of many facts it is about, by its place in the list given; `None` when
            it is about something else. The cause, if any, is the error as of that fact alone.
    """

    place: int | None = None


class InvalidInputError(PlugmemError, ValueError):
    """A value breaks a stated rule; nothing was stored."""


class WrongTypeError(InvalidInputError, TypeError):
    """A value has a type that is not accepted; nothing was stored."""


class TooLargeError(InvalidInputError):
    """A value is over a stated limit; nothing was stored."""


class InvalidFilterError(InvalidInputError):
    """A `where` filter has an unknown operator or an operand of the wrong type."""


class StaleCursorError(InvalidInputError):
    """A page cursor does not belong to this listing."""


class ConfigError(PlugmemError, ValueError):
    """A configuration has an unknown knob or a value out of range."""


class NotFoundError(PlugmemError, KeyError):
    """No fact or entity with this identity exists in this scope."""

    def __str__(self) -> str:
        # KeyError shows the repr of its argument; a message should read as one.
        return str(self.args[0]) if self.args else ""


class ClosedFactError(PlugmemError, ValueError):
    """The fact has already been revised; revise its successor instead."""


class ConflictError(PlugmemError, ValueError):
    """Another version of the fact is current than the one that was expected."""


class VectorSpaceError(PlugmemError, ValueError):
    """Vectors of another dimension or embedding model than the file's."""


class BusyError(PlugmemError, TimeoutError):
    """Another writer held the file for longer than `busy_timeout`."""


class ReadOnlyError(PlugmemError, PermissionError):
    """A write was asked of a handle opened with `read_only=True`."""


class ClosedError(PlugmemError, ValueError):
    """The handle is closed, or was opened by the parent of this process."""


class EmbedderError(PlugmemError, RuntimeError):
    """The embedder failed where nothing goes without it, or returned what cannot be used."""


class MissingExtraError(PlugmemError, ImportError):
    """Something was asked for that needs a package of an extra; the message names the extra."""


class ServiceError(PlugmemError, RuntimeError):
    """A part the service was given, such as an extractor or a reranker, failed."""


class StorageError(PlugmemError, OSError):
    """The file cannot be opened, read or written."""


class CorruptError(StorageError):
    """The file is damaged, or is not a memory at all."""


def shown(value: object) -> str:
    """Return a value as messages show it: its repr, shortened."""
    try:
        return _short(value)
    except ValueError:  # Python refuses to write integers of thousands of digits
        return "a value with an integer too long to show"
