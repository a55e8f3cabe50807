"""`ContextDesk`: a compiler with a store and, if it is given one, a memory."""

from collections.abc import Mapping
from typing import Any

from plugmem_core.clock import Clock, checked, system_clock
from plugmem_core.context.budgets import BudgetSuggestion, Windows, suggest_budget
from plugmem_core.context.compiler import (
    Compilation,
    ContextCompiler,
    choose,
    without_side_effects,
)
from plugmem_core.context.importance import Pull, ask, blend, to_fragment
from plugmem_core.context.output import MemoryNote
from plugmem_core.context.reading import read
from plugmem_core.context.request import ContextRequest, MemoryScope, Request, TranscriptRequest
from plugmem_core.context.result import CompiledContext, CompiledTranscript, Decision
from plugmem_core.context.savings import ContextSavings, SavingsLog
from plugmem_core.context.sources import RetrievedSource, Sources, distinct_pieces
from plugmem_core.context.values import Age, ValueStore
from plugmem_core.context.working import (
    LoadedWorkingContext,
    WorkingContext,
    WorkingContexts,
    WorkingSession,
)
from plugmem_core.errors import InvalidInputError, TooLargeError, WrongTypeError, shown
from plugmem_core.inputs import check_namespace, check_type
from plugmem_core.model import Namespace
from plugmem_core.text import check_text
from plugmem_core.text.fnv import fnv1a64


class ContextDesk:
    """Compiles contexts, keeps their sources and savings, and working contexts between sessions.

    >>> from plugmem_core import Memory
    >>> desk = ContextDesk(Memory.open(":memory:"))
    >>> compiled = desk.compile_context({
    ...     "query": "oil", "token_budget": 5,
    ...     "fragments": [{"content": "The oil of the compressor is changed in spring."}],
    ... })
    >>> compiled.content, compiled.risk
    ('', 'medium')
    >>> desk.retrieve_context_source(compiled.retrieval_handles[0].handle).content
    'The oil of the compressor is changed in spring.'
    """

    def __init__(
        self,
        values: ValueStore,
        *,
        namespace: Namespace = (),
        clock: Clock = system_clock,
        compiler: ContextCompiler | None = None,
        pull: Pull | None = None,
        windows: Windows | None = None,
    ) -> None:
        """Set up a desk.

        Args:
            values: Where things are kept, such as a `Memory`.
            namespace: The scope they live in; nothing is read from another.
            clock: Tells Unix milliseconds.
            compiler: The estimator, prices, policy and limits to compile with.
            pull: Finds memories for requests with a `memory_scope`.
            windows: Further models for `suggest_budget`.

        Raises:
            WrongTypeError: An argument has another type.
        """
        check_type(values, ValueStore, "values", "a Memory, a DictValues or another ValueStore")
        scope = check_namespace(namespace)
        now = checked(clock)
        self._compiler = ContextCompiler() if compiler is None else compiler
        check_type(self._compiler, ContextCompiler, "compiler", "a ContextCompiler")
        if pull is not None and not callable(pull):
            raise WrongTypeError(f"pull is {shown(pull)}; give a callable that finds memories")
        self._values = values
        self._limits = self._compiler.limits
        self._pull = pull
        self._windows = windows
        self._sources = Sources(values, scope, now)
        self._savings = SavingsLog(values, scope, now)
        self._working = WorkingContexts(values, scope, now, self._limits.working_bytes)

    def compile_context(self, request: Request) -> CompiledContext:
        """Return the context for a request; store its sources and what it saved.

        All of it is stored in one transaction. In a transaction of the caller's, it is a part
        of that; two compiles in one may not see what each other stores of the same content, and
        the later one counts.

        Args:
            request: A `ContextRequest` or a mapping of its fields. With a `memory_scope`,
                memories join its fragments.

        Raises:
            WrongTypeError: A field has another type.
            TooLargeError: Something is over a limit.
            InvalidInputError: A field is refused, the budget leaves no room, or there is no
                memory to pull from.
            ServiceError: The estimator or the pull failed. In all of these cases, nothing was
                stored.
        """
        compilation = self._compiled(self._compiler.read(request))
        self._keep(compilation)
        return compilation.result

    def compile_transcript(
        self, request: TranscriptRequest | Mapping[str, Any]
    ) -> CompiledTranscript:
        """Return the context for a transcript; store its sources and what it saved.

        See `ContextCompiler.compile_transcript`.
        """
        asked = read(TranscriptRequest, request, "request")
        self._check_names(asked.project, asked.target_model)
        compilation, segmentation = self._compiler.run_transcript(asked)
        self._keep(compilation)
        return CompiledTranscript(context=compilation.result, segmentation=segmentation)

    def explain_compilation(
        self, request: Request, fragment_id: int | str, fragment_index: int | None = None
    ) -> Decision:
        """Return why a fragment is kept, cut or dropped; nothing is stored.

        See `ContextCompiler.explain`. With a `memory_scope`, the answer is about what the
        memory has now.
        """
        full = without_side_effects(self._compiler.read(request), self._compiler.policy)
        return choose(self._compiled(full).result, fragment_id, fragment_index)

    def retrieve_context_source(self, handle: str) -> RetrievedSource:
        """Return the original behind a handle, byte for byte.

        Raises:
            WrongTypeError: The handle is no text.
            NotFoundError: It is none, or nothing is stored under it, or not any more.
            ServiceError: What is stored is damaged.
        """
        return self._sources.retrieve(handle)

    def context_savings(self, project: str | None = None) -> ContextSavings:
        """Return what compiles have saved, in one project or in all."""
        self._check_names(project)
        return self._savings.total(project)

    def suggest_budget(self, model: str, reserve: int = 0) -> BudgetSuggestion:
        """Return the token budget to compile with for a model; see `suggest_budget`."""
        return suggest_budget(model, reserve, windows=self._windows)

    def save_working_context(
        self, project: str, session: str, working: WorkingContext | Mapping[str, Any]
    ) -> WorkingSession:
        """Save what a session was about; what it saved before is replaced.

        Args:
            project: Any name.
            session: Any name, within the project.
            working: A `WorkingContext` or a mapping of its fields.

        Raises:
            InvalidInputError: It says nothing, or a field is refused; what was saved stays.
            TooLargeError: It is too long; what was saved stays.

        >>> from plugmem_core import Memory
        >>> desk = ContextDesk(Memory.open(":memory:"))
        >>> _ = desk.save_working_context("farm", "monday", {"goal": "Repair the pump"})
        >>> desk.load_working_context("farm", "monday").working.goal
        'Repair the pump'
        """
        self._check_slot(project, session)
        return self._working.save(project, session, read(WorkingContext, working, "working"))

    def load_working_context(self, project: str, session: str) -> LoadedWorkingContext:
        """Return what a session was about, and which other sessions the project has.

        Raises:
            ServiceError: It is there, but damaged.
        """
        self._check_slot(project, session)
        return self._working.load(project, session)

    def list_working_contexts(self, project: str) -> tuple[WorkingSession, ...]:
        """Return which sessions of a project have a working context, newest first.

        Damaged ones come last, and say that they are.
        """
        self._check_slot(project)
        return self._working.sessions(project)

    def delete_working_context(self, project: str, session: str) -> bool:
        """Remove what a session was about; returns whether there was anything."""
        self._check_slot(project, session)
        return self._working.delete(project, session)

    def purge_sources(
        self,
        *,
        older_than: Age | None = None,
        project: str | None = None,
        handle: str | None = None,
    ) -> int:
        """Remove stored sources that meet all the criteria given, and those that have expired.

        Args:
            older_than: Those not compiled for so long: a `timedelta`, or seconds.
            project: Those of a project; what others use, too, stays for them.
            handle: That one.

        Returns:
            How many were removed.

        Raises:
            NotFoundError: The handle is none.
        """
        self._check_names(project)
        return self._sources.purge(older_than=older_than, project=project, handle=handle)

    def purge_savings(self, *, older_than: Age | None = None, project: str | None = None) -> int:
        """Remove counted savings that meet all the criteria given, and those that have expired.

        Args:
            older_than: Those recorded so long ago: a `timedelta`, or seconds.
            project: Those of a project.

        Returns:
            How many compiles do not count any more.
        """
        self._check_names(project)
        return self._savings.purge(older_than=older_than, project=project)

    def _compiled(self, request: ContextRequest) -> Compilation:
        self._check_names(request.project, request.target_model)
        if request.memory_scope is None:
            return self._compiler.run(request)
        if self._pull is None:
            raise InvalidInputError(
                "memory_scope asks for memories, but this desk has none; leave it out, or give "
                "the desk a pull"
            )
        self._compiler.check(request)
        return self._with_memories(request, request.memory_scope, self._pull)

    def _with_memories(
        self, request: ContextRequest, scope: MemoryScope, pull: Pull
    ) -> Compilation:
        room = self._limits.fragments - len(request.fragments)
        k = min(scope.k, self._limits.memories, room)
        pulled = ask(pull, request.query, scope.model_copy(update={"k": k})) if k else []
        policy = request.policy or self._compiler.policy
        blended = blend(pulled, policy.importance)
        notes: dict[int, MemoryNote] = {}
        for memory, note in blended:
            notes.setdefault(fnv1a64(memory.content), note)
        fragments = (*request.fragments, *(to_fragment(memory) for memory, _ in blended))
        return self._compiler.run(request.model_copy(update={"fragments": fragments}), notes)

    def _keep(self, compilation: Compilation) -> None:
        request, policy = compilation.request, compilation.plan.policy
        if not policy.store_sources and not policy.record_events:
            return  # also where nothing can be written
        distinct = distinct_pieces(compilation.plan.pieces) if policy.store_sources else {}
        try:
            with self._values.transaction():
                self._sources.store(
                    distinct, project=request.project, ttl_seconds=policy.source_ttl_seconds
                )
                if policy.record_events:
                    self._savings.record(
                        compilation.result.insights,
                        project=request.project,
                        model=request.target_model,
                        ttl_seconds=policy.event_ttl_seconds,
                    )
        except TooLargeError as error:
            raise TooLargeError(
                f"what this compile is to keep is too large for the store: {error}; compile "
                "smaller fragments, or with store_sources and record_events off"
            ) from error

    def _check_names(self, project: str | None, model: str | None = None) -> None:
        for value, name in ((project, "project"), (model, "target_model")):
            if value is not None:
                check_text(value, name, max_bytes=self._limits.name_bytes)

    def _check_slot(self, project: str, session: str = "") -> None:
        check_text(project, "project", max_bytes=self._limits.name_bytes)
        check_text(session, "session", max_bytes=self._limits.name_bytes)
