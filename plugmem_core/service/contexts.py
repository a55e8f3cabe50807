"""Verbs that compile contexts out of what a caller has and what the memory knows."""

from collections.abc import Mapping
from typing import Any

from plugmem_core.context import (
    BudgetSuggestion,
    CompiledContext,
    CompiledTranscript,
    ContextDesk,
    ContextRequest,
    ContextSavings,
    Decision,
    LoadedWorkingContext,
    RetrievedSource,
    TranscriptRequest,
    WorkingContext,
    WorkingSession,
)
from plugmem_core.context.values import Age
from plugmem_core.service.pulling import PullVerbs
from plugmem_core.verbs.base import twin


class ContextVerbs(PullVerbs):
    """The verbs of `ContextDesk`, over the memories and the store of a service."""

    _desk: ContextDesk

    def compile_context(self, request: ContextRequest | Mapping[str, Any]) -> CompiledContext:
        r"""Return the context for a request; see `ContextDesk.compile_context`.

        >>> from plugmem_core.service import MemoryService
        >>> service = MemoryService.open(":memory:")
        >>> _ = service.remember("the oil is changed in spring")
        >>> service.compile_context({
        ...     "query": "oil", "fragments": [{"content": "Oil is at 80 %."}],
        ...     "token_budget": 100, "memory_scope": {},
        ... }).content
        'Oil is at 80 %.\n\nthe oil is changed in spring'
        """
        return self._desk.compile_context(request)

    def compile_transcript(
        self, request: TranscriptRequest | Mapping[str, Any]
    ) -> CompiledTranscript:
        """Return the context for a transcript; see `ContextDesk.compile_transcript`."""
        return self._desk.compile_transcript(request)

    def explain_compilation(
        self,
        request: ContextRequest | Mapping[str, Any],
        fragment_id: int | str,
        fragment_index: int | None = None,
    ) -> Decision:
        """Return what became of a fragment and why; see `ContextDesk.explain_compilation`."""
        return self._desk.explain_compilation(request, fragment_id, fragment_index)

    def retrieve_context_source(self, handle: str) -> RetrievedSource:
        """Return the original behind a handle; see `ContextDesk.retrieve_context_source`."""
        return self._desk.retrieve_context_source(handle)

    def context_savings(self, project: str | None = None) -> ContextSavings:
        """Return what compiling has saved; see `ContextDesk.context_savings`."""
        return self._desk.context_savings(project)

    def suggest_budget(self, model: str, reserve: int = 0) -> BudgetSuggestion:
        """Return the budget to compile with for a model; see `ContextDesk.suggest_budget`."""
        return self._desk.suggest_budget(model, reserve)

    def save_working_context(
        self, project: str, session: str, working: WorkingContext | Mapping[str, Any]
    ) -> WorkingSession:
        """Save what a session was about; see `ContextDesk.save_working_context`."""
        return self._desk.save_working_context(project, session, working)

    def load_working_context(self, project: str, session: str) -> LoadedWorkingContext:
        """Return what a session was about; see `ContextDesk.load_working_context`."""
        return self._desk.load_working_context(project, session)

    def list_working_contexts(self, project: str) -> tuple[WorkingSession, ...]:
        """Return the sessions of a project; see `ContextDesk.list_working_contexts`."""
        return self._desk.list_working_contexts(project)

    def delete_working_context(self, project: str, session: str) -> bool:
        """Remove what a session was about; see `ContextDesk.delete_working_context`."""
        return self._desk.delete_working_context(project, session)

    def purge_sources(
        self,
        *,
        older_than: Age | None = None,
        project: str | None = None,
        handle: str | None = None,
    ) -> int:
        """Remove stored sources; see `ContextDesk.purge_sources`."""
        return self._desk.purge_sources(older_than=older_than, project=project, handle=handle)

    def purge_savings(self, *, older_than: Age | None = None, project: str | None = None) -> int:
        """Remove counted savings; see `ContextDesk.purge_savings`."""
        return self._desk.purge_savings(older_than=older_than, project=project)

    acompile_context = twin(compile_context)
    acompile_transcript = twin(compile_transcript)
    aexplain_compilation = twin(explain_compilation)
    aretrieve_context_source = twin(retrieve_context_source)
    acontext_savings = twin(context_savings)
    asuggest_budget = twin(suggest_budget)
    asave_working_context = twin(save_working_context)
    aload_working_context = twin(load_working_context)
    alist_working_contexts = twin(list_working_contexts)
    adelete_working_context = twin(delete_working_context)
    apurge_sources = twin(purge_sources)
    apurge_savings = twin(purge_savings)
