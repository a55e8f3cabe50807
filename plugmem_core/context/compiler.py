"""`ContextCompiler`: fits fragments into a token budget, the same way every time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plugmem_core.context.estimate import Counter, Estimator, HeuristicEstimator, checked_estimator
from plugmem_core.context.limits import ContextLimits
from plugmem_core.context.output import MemoryNote, Writer
from plugmem_core.context.pieces import check_pieces
from plugmem_core.context.plan import Plan, make_plan, usable_tokens
from plugmem_core.context.reading import read, read_id
from plugmem_core.context.request import ContextRequest, Policy, Pricing, Request, TranscriptRequest
from plugmem_core.context.result import (
    CompiledContext,
    CompiledTranscript,
    Decision,
    SegmentationReport,
)
from plugmem_core.context.transcript import report, segment, to_request
from plugmem_core.errors import InvalidInputError, shown
from plugmem_core.inputs import check_type

_NO_NOTES: Mapping[int, MemoryNote] = {}


@dataclass(frozen=True, slots=True)
class Compilation:
    """A compile with its plan, for what is stored of it."""

    request: ContextRequest
    plan: Plan
    result: CompiledContext


class ContextCompiler:
    """Compiles contexts without a clock, a model or a store.

    Attributes:
        policy: For requests that have none.
        limits: What is refused as too large.
    """

    def __init__(
        self,
        *,
        estimator: Estimator | None = None,
        pricing: Pricing | Mapping[str, Any] | None = None,
        policy: Policy | Mapping[str, Any] | None = None,
        limits: ContextLimits | None = None,
    ) -> None:
        """Set up a compiler.

        Args:
            estimator: Tells the tokens of a text; the heuristic one by default.
            pricing: Prices for requests whose policy has none.
            policy: For requests that have none; the defaults of `Policy` by default.
            limits: What is refused as too large.

        Raises:
            WrongTypeError: An argument has another type.
            InvalidInputError: A field of the prices or the policy is refused.
        """
        self.policy = Policy() if policy is None else read(Policy, policy, "policy")
        self.limits = ContextLimits() if limits is None else limits
        self._estimator = checked_estimator(estimator or HeuristicEstimator())
        self._pricing = None if pricing is None else read(Pricing, pricing, "pricing")
        check_type(self.limits, ContextLimits, "limits", "a ContextLimits")

    def compile(self, request: Request) -> CompiledContext:
        """Return the context for a request; equal requests give equal bytes.

        Args:
            request: A `ContextRequest` or a mapping of its fields.

        Raises:
            WrongTypeError: A field has another type.
            TooLargeError: Something is over a limit.
            InvalidInputError: A field is refused, or the budget leaves no room.

        >>> compiled = ContextCompiler().compile({
        ...     "query": "pump pressure",
        ...     "fragments": [
        ...         {"content": "The pump runs at 4 bar.", "priority": 1},
        ...         {"content": "the  pump runs at 4 bar."},
        ...         {"content": "Never open the valve by hand."},
        ...     ],
        ...     "token_budget": 24,
        ... })
        >>> print(compiled.content)
        The pump runs at 4 bar.
        <BLANKLINE>
        Never open the valve by hand.
        >>> [decision.rule_id for decision in compiled.decisions]
        ['preserve.default', 'drop.near_duplicate', 'preserve.negative_constraint']
        """
        read_request = self.read(request)
        if read_request.memory_scope is not None:
            raise InvalidInputError(
                "memory_scope asks for memories, but no memory is attached; leave it out, or "
                "compile with a ContextDesk that can pull"
            )
        return self.run(read_request).result

    def explain(
        self, request: Request, fragment_id: int | str, fragment_index: int | None = None
    ) -> Decision:
        """Return why a fragment is kept, cut or dropped.

        Args:
            request: As for `compile`.
            fragment_id: The fragment, as decisions name it; the first one of that id.
            fragment_index: Its place among the fragments, from 0; goes before the id. Equal
                fragments have one id and are told apart by it.

        Raises:
            InvalidInputError: As for `compile`, or there is no such fragment.

        >>> request = {"query": "", "fragments": [{"id": 7, "content": "x"}], "token_budget": 9}
        >>> ContextCompiler().explain(request, 7).reason
        'No other rule applies.'
        """
        full = without_side_effects(self.read(request), self.policy)
        return choose(self.compile(full), fragment_id, fragment_index)

    def compile_transcript(
        self, request: TranscriptRequest | Mapping[str, Any]
    ) -> CompiledTranscript:
        r"""Return the context for a transcript, taken apart into turns, code and logs.

        Args:
            request: A `TranscriptRequest` or a mapping of its fields.

        Raises:
            InvalidInputError: As for `compile`, or the transcript cannot be read.

        >>> compiled = ContextCompiler().compile_transcript({
        ...     "query": "", "token_budget": 50,
        ...     "transcript": "System: Be brief.\nUser: Is the pump on?\n",
        ... })
        >>> [(one.role, one.byte_start, one.byte_end) for one in compiled.segmentation.segments]
        [('system', 0, 18), ('user', 18, 40)]
        """
        asked = read(TranscriptRequest, request, "request")
        compilation, segmentation = self.run_transcript(asked)
        return CompiledTranscript(context=compilation.result, segmentation=segmentation)

    def read(self, request: Request) -> ContextRequest:
        """Return a request as a record, its types checked."""
        return read(ContextRequest, request, "request")

    def check(self, request: ContextRequest) -> None:
        """Refuse what a compile of the request would refuse."""
        check_pieces(request, self.limits)
        usable_tokens(request, request.policy or self.policy, self.limits)

    def run(
        self, request: ContextRequest, notes: Mapping[int, MemoryNote] = _NO_NOTES
    ) -> Compilation:
        """Return a compile with its plan; notes are about memories, by the hash of their text."""
        policy = request.policy or self.policy
        plan = make_plan(request, policy, self.limits, Counter(self._estimator))
        writer = Writer(plan, notes, self.limits.warning_relevance)
        result = writer.result(request, policy.pricing or self._pricing)
        return Compilation(request, plan, result)

    def run_transcript(self, request: TranscriptRequest) -> tuple[Compilation, SegmentationReport]:
        """Return a compile of a transcript with its plan, and how it was taken apart."""
        segmented = segment(request, self.limits)
        done = self.run(to_request(request, segmented))
        return done, report(segmented, done.plan.pieces, done.plan.policy)


def without_side_effects(request: ContextRequest, default: Policy) -> ContextRequest:
    """Return a request that stores nothing and tells everything."""
    policy = (request.policy or default).model_copy(
        update={"record_events": False, "store_sources": False, "slim_response": False}
    )
    return request.model_copy(update={"policy": policy})


def choose(result: CompiledContext, fragment_id: int | str, fragment_index: int | None) -> Decision:
    """Return the decision about one fragment; see `ContextCompiler.explain`."""
    decisions = result.decisions
    if fragment_index is not None:
        check_type(fragment_index, int, "fragment_index", "an integer")
        if not 0 <= fragment_index < len(decisions):
            raise InvalidInputError(
                f"fragment_index is {shown(fragment_index)}, but there are {len(decisions)} "
                "fragments; count from 0"
            )
        return decisions[fragment_index]
    wanted = read_id(fragment_id, "fragment_id")
    for decision in decisions:
        if int(decision.fragment_id) == wanted:
            return decision
    raise InvalidInputError(
        f"fragment_id is {wanted}, which no fragment has; give one of a decision, or the "
        "fragment_index"
    )


def compile_context(
    request: Request,
    *,
    estimator: Estimator | None = None,
    pricing: Pricing | Mapping[str, Any] | None = None,
) -> CompiledContext:
    """Return the context for a request; a short form of `ContextCompiler.compile`.

    Args:
        request: A `ContextRequest` or a mapping of its fields.
        estimator: Tells the tokens of a text; the heuristic one by default.
        pricing: Prices for requests whose policy has none.

    >>> compile_context({"query": "", "fragments": [], "token_budget": 10}).risk
    'low'
    """
    return ContextCompiler(estimator=estimator, pricing=pricing).compile(request)
