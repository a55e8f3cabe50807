"""What all families of the service's verbs share."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from plugmem_core.errors import InvalidInputError
from plugmem_core.extraction.protocol import Extractor
from plugmem_core.service.arguments import (
    check_floor,
    check_mode,
    check_question,
    check_where,
    clamp,
)
from plugmem_core.service.config import Mode, ServiceConfig
from plugmem_core.service.store import Hit, MemoryStore, Question


@dataclass(slots=True)
class Counters:
    """What became of the graphs that `remember` was to build, in this process."""

    dropped: int = 0
    failed: int = 0
    _lock: Lock = field(default_factory=Lock)

    def add(self, *, dropped: int = 0, failed: int = 0) -> None:
        """Count some more, whatever other threads do."""
        with self._lock:
            self.dropped += dropped
            self.failed += failed


class ServiceVerbs:
    """A family of verbs over one store."""

    _store: MemoryStore
    _extractor: Extractor | None
    _config: ServiceConfig
    _counters: Counters

    def _question(
        self,
        query: str,
        k: int,
        where: Mapping[str, Any] | None,
        mode: Mode | None,
        min_score: float | None,
        name: str = "query",
    ) -> Question:
        text = check_question(query, name)
        if not text:
            return Question("", 0, None, self._config.mode)
        chosen = self._config.mode if mode is None else check_mode(mode)
        if chosen == "vector" and self._store.embedder is None:
            raise InvalidInputError(
                'mode is "vector", but the memory has no embedder; '
                'give it one when opening, or use mode="fused"'
            )
        passing = check_where(where)
        most = self._config.max_recall
        return Question(text, clamp(k, "k", most, most), passing, chosen, check_floor(min_score))

    def _hits(self, question: Question) -> list[Hit]:
        return self._store.search(question) if question.k else []
