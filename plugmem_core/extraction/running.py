"""Asking an extractor, whoever wrote it, and what becomes of its faults."""

from types import TracebackType

from pydantic import TypeAdapter, ValidationError

from plugmem_core.errors import InvalidInputError, ServiceError, shown
from plugmem_core.extraction.kinship import orient_kinship
from plugmem_core.extraction.protocol import AsyncExtractor, Extractor, Graph
from plugmem_core.verbs.base import twin

_graphs = TypeAdapter(Graph)


def extract_graph(extractor: Extractor, text: str) -> Graph:
    r"""Return what an extractor finds in a passage, with kinship the right way round.

    Args:
        extractor: Whoever's.
        text: The passage.

    Raises:
        InvalidInputError: The extractor refuses the passage, as `OutlineExtractor` may.
        ServiceError: It failed otherwise, or returned something else than a `Graph`.

    >>> from plugmem_core.extraction import OutlineExtractor
    >>> text = "Tom has a sister, Lea | Tom, Lea\nedge: Tom | sister | Lea"
    >>> extract_graph(OutlineExtractor(), text).relations
    (Relation(subject='lea', predicate='sister', object='tom'),)
    """
    with FaultsOf(extractor):
        found = extractor.extract(text)
    return orient_kinship(text, _checked(found, extractor))


async def aextract_graph(extractor: Extractor, text: str) -> Graph:
    """The same without blocking the event loop: by `aextract`, or in a worker thread."""
    with FaultsOf(extractor):
        if isinstance(extractor, AsyncExtractor):
            found = await extractor.aextract(text)
        else:
            found = await twin(extractor.extract)(text)
    return await twin(orient_kinship)(text, _checked(found, extractor))


class FaultsOf:
    """A block in which what fails in a part that a caller gave is a fault of the service.

    Not a generator under `contextmanager`, which lets a `StopIteration` out as it was.

    Args:
        part: Its class is named in the message.

    Raises:
        InvalidInputError: As raised inside: the input was refused.
        ServiceError: Anything else went wrong; the cause says what.
    """

    def __init__(self, part: object) -> None:
        self._part = type(part).__name__

    def __enter__(self) -> None:
        """Nothing is prepared."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception) and not isinstance(error, InvalidInputError | ServiceError):
            raise ServiceError(
                f"{self._part} failed with {type(error).__name__}; its cause says more"
            ) from error


def _checked(found: object, extractor: Extractor) -> Graph:
    try:
        # Pydantic would fill in what a shorter one lacks, and take an empty one for a graph.
        is_whole = isinstance(found, list | tuple) and len(found) == len(Graph._fields)
        return _graphs.validate_python(found if is_whole else None)
    except ValidationError as error:
        raise ServiceError(
            f"{type(extractor).__name__} returned {shown(found)}; an extractor returns a Graph"
        ) from error
