"""Which keys of a document's metadata say more than metadata does."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict


class FieldKeys(BaseModel):
    """The metadata keys that are fields of the fact as well, in every framework.

    Attributes:
        entity: The key under which a document names its subject.
        tags: The key of its labels, a list.
        links: The key of its `(relation, target)` pairs, edges from the subject.
        valid_from: The key of the instant at which it became true: ISO-8601 text or Unix
            milliseconds.

    `None` switches one off. All of them stay in the metadata, too.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    entity: str | None = "fact_entity"
    tags: str | None = "fact_tags"
    links: str | None = "fact_links"
    valid_from: str | None = "fact_valid_from"

    def said_in(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Return what metadata says of the fact, by the names of `Memory.remember`.

        >>> FieldKeys(entity="speaker").said_in({"speaker": "Mara", "page": 3})
        {'entity': 'Mara'}
        """
        said = {field: metadata[key] for field, key in self if key is not None and key in metadata}
        return {field: value for field, value in said.items() if value is not None}
