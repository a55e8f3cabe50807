"""The result of a plan: its text, and an account of every fragment."""

from collections.abc import Mapping
from dataclasses import dataclass

from plugmem_core.context.handles import handle_of
from plugmem_core.context.logs import collapse
from plugmem_core.context.plan import Plan
from plugmem_core.context.request import ContextRequest, Pricing, RuleId
from plugmem_core.context.result import (
    RISKS,
    CompiledContext,
    ContextWarning,
    Decision,
    Id,
    Insights,
    RetrievalHandle,
    Risk,
    Section,
    SourceRef,
)
from plugmem_core.context.rules import DUPLICATE, EXTERNALIZE, NEAR_DUPLICATE, SUPERSEDED


@dataclass(frozen=True, slots=True)
class MemoryNote:
    """What is known of a fragment because a pulled memory says the same.

    Attributes:
        memory_id: The memory.
        relevance: Its score from 0 to 1, in place of the share of words.
        reason: How it came to be pulled.
    """

    memory_id: int
    relevance: float
    reason: str


@dataclass(frozen=True, slots=True)
class _Outcome:
    action: str
    rule_id: RuleId
    risk: Risk
    reason: str
    has_handle: bool


class Writer:
    """Writes the result of one plan."""

    def __init__(self, plan: Plan, notes: Mapping[int, MemoryNote], warn_from: float) -> None:
        """Prepare.

        Args:
            plan: What to write.
            notes: About memories, by the hash of their content.
            warn_from: The relevance from which on an omission is warned about.
        """
        self._plan = plan
        self._notes = notes
        self._warn_from = warn_from

    def result(self, request: ContextRequest, pricing: Pricing | None) -> CompiledContext:
        """Return the result."""
        plan = self._plan
        decisions = self.decisions()
        left_out = [place for place, one in enumerate(decisions) if one.action == "retrieve"]
        slim = plan.policy.slim_response
        return CompiledContext(
            content=plan.content(),
            sections=() if slim else (self._section(cached=True), self._section(cached=False)),
            decisions=() if slim else tuple(decisions),
            sources=tuple(
                self._source(place) for place in range(len(decisions)) if place not in plan.twins
            ),
            retrieval_handles=tuple(self._retrieval(place) for place in left_out),
            insights=self._insights(decisions, request.target_model, pricing),
            risk=max((one.risk for one in decisions), key=RISKS.index, default="low"),
            warnings=tuple(
                self._warning(decisions[place], place)
                for place in left_out
                if decisions[place].relevance >= self._warn_from
            ),
        )

    def decisions(self) -> list[Decision]:
        """Return what became of each fragment."""
        return [self._decision(place) for place in range(len(self._plan.pieces))]

    def _id(self, value: int) -> Id:
        return str(value) if self._plan.policy.ids_as_strings else value

    def _fragment_id(self, place: int) -> Id:
        return self._id(self._plan.pieces[place].fragment_id)

    def _handle(self, place: int) -> str:
        return handle_of(self._plan.pieces[place].content_hash)

    def _note(self, place: int) -> MemoryNote | None:
        piece = self._plan.pieces[place]
        return self._notes.get(piece.content_hash) if piece.data is None else None

    def _memory_id(self, place: int) -> Id | None:
        note = self._note(place)
        return None if note is None else self._id(note.memory_id)

    def _decision(self, place: int) -> Decision:
        outcome = self._outcome(place)
        note = self._note(place)
        return Decision.model_validate(
            {
                "fragment_id": self._fragment_id(place),
                "content_hash": self._id(self._plan.pieces[place].content_hash),
                "action": outcome.action,
                "rule_id": outcome.rule_id,
                "relevance": note.relevance if note else self._plan.relevances[place],
                "risk": outcome.risk,
                "reason": f"{outcome.reason} {note.reason}" if note else outcome.reason,
                "memory_id": self._memory_id(place),
                "handle": self._handle(place) if outcome.has_handle else None,
            }
        )

    def _outcome(self, place: int) -> _Outcome:
        plan, rule = self._plan, self._plan.rules[place]
        if place in plan.twins:
            return self._duplicate(place)
        if place in plan.superseded:
            reason = "A later screenshot of the same target replaces it."
            return _Outcome("retrieve", SUPERSEDED, "medium", reason, has_handle=True)
        reason = self._reason(place)
        if plan.is_full(place):
            risk: Risk = "medium" if rule.action == "abstract" else "low"
            return _Outcome(rule.action, rule.id, risk, reason, has_handle=False)
        risk = "high" if rule.critical else "medium"
        fitting, chunks = plan.taken[place], len(plan.parcels[place].chunks)
        if fitting:
            reason = f"{reason} {fitting} of its {chunks} chunks fit into the budget."
            return _Outcome(rule.action, rule.id, risk, reason, has_handle=True)
        reason = f"{reason} It did not fit into the budget."
        return _Outcome("retrieve", EXTERNALIZE, risk, reason, has_handle=True)

    def _duplicate(self, place: int) -> _Outcome:
        plan, twin = self._plan, self._plan.twins[place]
        reason = f"Fragment {twin.place} " + (
            "differs only in case or whitespace." if twin.near else "is the same."
        )
        one, other = plan.pieces[place].fragment, plan.pieces[twin.place].fragment
        if one.media is not None and one.content != other.content:
            reason += " Its caption is another."
        risk: Risk = "low"
        if not plan.is_full(twin.place):
            is_critical = plan.rules[place].critical or plan.rules[twin.place].critical
            risk = "high" if is_critical else "medium"
            reason += " That one is not here in full."
        rule = NEAR_DUPLICATE if twin.near else DUPLICATE
        return _Outcome("drop", rule, risk, reason, has_handle=True)

    def _reason(self, place: int) -> str:
        plan, rule = self._plan, self._plan.rules[place]
        if rule.action != "abstract":
            return rule.reason
        content = plan.pieces[place].fragment.content
        merged = collapse(content, normalize=False).merged
        if not plan.policy.normalize_log_timestamps:
            return f"{rule.reason} {merged} of them are counted instead of shown."
        masked = collapse(content, normalize=True).merged
        told = f"{rule.reason} {masked} of them are counted instead of shown"
        more = masked - merged
        return f"{told}, {more} because timestamps are passed over." if more else f"{told}."

    def _section(self, *, cached: bool) -> Section:
        return Section(
            kind="cache" if cached else "body",
            content=self._plan.text(cached=cached),
            fragment_ids=tuple(map(self._fragment_id, self._plan.places(cached=cached))),
        )

    def _source(self, place: int) -> SourceRef:
        return SourceRef(
            fragment_id=self._fragment_id(place),
            handle=self._handle(place),
            memory_id=self._memory_id(place),
        )

    def _retrieval(self, place: int) -> RetrievalHandle:
        return RetrievalHandle(
            handle=self._handle(place),
            fragment_id=self._fragment_id(place),
            estimated_tokens=self._plan.costs[place],
        )

    def _warning(self, decision: Decision, place: int) -> ContextWarning:
        handle = self._handle(place)
        return ContextWarning(
            fragment_id=decision.fragment_id,
            handle=handle,
            relevance=decision.relevance,
            message=(
                f"Fragment {place} was left out, with a relevance of {decision.relevance:.2f}; "
                f"it can be retrieved from {handle}."
            ),
        )

    def _insights(
        self, decisions: list[Decision], model: str | None, pricing: Pricing | None
    ) -> Insights:
        plan = self._plan
        tokens_in, tokens_out = sum(plan.costs), plan.total()
        saved = max(0, tokens_in - tokens_out)
        by_rule: dict[RuleId, int] = {}
        for place, decision in enumerate(decisions):
            less = plan.costs[place] - plan.tokens(place)
            if less > 0:
                by_rule[decision.rule_id] = by_rule.get(decision.rule_id, 0) + less
        price = None if pricing is None or model is None else pricing.models.get(model)
        if pricing is None or price is None:
            return _insights(tokens_in, tokens_out, saved, by_rule)
        return _insights(tokens_in, tokens_out, saved, by_rule).model_copy(
            update={
                "estimated_cost_saved_micros": saved * price // 1_000_000,
                "currency": pricing.currency,
                "pricing_version": pricing.version,
            }
        )


def _insights(tokens_in: int, tokens_out: int, saved: int, by_rule: dict[RuleId, int]) -> Insights:
    return Insights(
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        tokens_saved=saved,
        tokens_saved_by_rule=by_rule,
    )
