"""Which keys of a document's metadata say more than metadata does."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from plugmem_core.errors import PlugmemError
from plugmem_core.text import entity_key

SUBJECTS = ("speaker", "title", "document_title", "heading", "Header 1", "Header 2")
"""Where loaders and splitters put names."""

LONGEST_NAME = 200
"""Characters of a title that is a name; a longer one is a text."""

_FIELDS = ("entity", "tags", "links", "valid_from")


class FieldKeys(BaseModel):
    """The metadata keys that are fields of the fact as well, in every framework.

    Attributes:
        entity: The key under which a document names its subject.
        tags: The key of its labels, a list.
        links: The key of its `(relation, target)` pairs, edges from the subject.
        valid_from: The key of the instant at which it became true: ISO-8601 text or Unix
            milliseconds.
        subjects: The keys of which the first that has a name gives the subject, where `entity`
            says nothing: who speaks, or the title or heading that a text stands under. So
            facts that mention that name lead to it. `()` switches that off.

    `None` switches one off. All of them stay in the metadata, too.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    entity: str | None = "fact_entity"
    tags: str | None = "fact_tags"
    links: str | None = "fact_links"
    valid_from: str | None = "fact_valid_from"
    subjects: tuple[str, ...] = Field(default=SUBJECTS, strict=False)  # JSON has no tuples

    def said_in(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Return what metadata says of the fact, by the names of `Memory.remember`.

        >>> FieldKeys(entity="speaker").said_in({"speaker": "Mara", "page": 3})
        {'entity': 'Mara'}
        """
        keys = {field: getattr(self, field) for field in _FIELDS}
        said = {field: metadata.get(key) for field, key in keys.items() if key is not None}
        if said.get("entity") is None:
            said["entity"] = next(filter(_is_name, map(metadata.get, self.subjects)), None)
        return {field: value for field, value in said.items() if value is not None}


def _is_name(value: object) -> bool:
    """Whether something of metadata can be the name of an entity, and is as short as one."""
    if not isinstance(value, str) or len(value) > LONGEST_NAME:
        return False
    try:
        entity_key(value)
    except PlugmemError:
        return False
    return True
