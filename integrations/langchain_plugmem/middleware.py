"""`PlugmemMiddleware`: a memory for agents made by `create_agent`."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, TypeAlias, get_args

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import PrivateStateAttr, TracePolicy
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langgraph.channels import UntrackedValue
from langgraph.config import get_config
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from langchain_plugmem._scopes import check_scope, resolve_scope
from plugmem_core import (
    InvalidInputError,
    Memory,
    Namespace,
    RecalledFact,
    RecallResult,
    TooLargeError,
)
from plugmem_core.adapters.recollection import PREAMBLE
from plugmem_core.errors import shown
from plugmem_core.inputs import check_tags, check_type
from plugmem_core.recall import make_query
from plugmem_core.recall.render import render
from plugmem_core.recall.selection import select
from plugmem_core.text import check_fact_text

Role = Literal["human", "ai"]
"""Whose messages are saved."""


class _Turn(BaseModel):
    """What a run recalled and has to save; a dump, a repr or a trace of it shows neither."""

    block: str = Field(exclude=True, repr=False)
    facts: list[dict[str, Any]] = Field(exclude=True, repr=False)


class _State(AgentState[Any]):
    # By name of the middleware. Never in a checkpoint, in the input or in the result.
    plugmem_turns: NotRequired[Annotated[dict[str, _Turn], UntrackedValue, PrivateStateAttr]]


_Request: TypeAlias = ModelRequest[Any]
_Response: TypeAlias = ModelResponse[Any]


class PlugmemMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Gives an agent a memory: it recalls before the model is called, and saves afterwards.

    Setup:
        ```bash
        pip install "plugmem-core[agents]"
        ```

    Once a turn it asks the memory what bears on the latest human message, and shows the
    model the answer below the system message. The answer is never stored, neither in the
    thread's messages nor in a checkpoint. Messages that the model sees anyway are not
    recalled, and what was said often is told once. After the turn, its human messages and the
    final answer become facts, in one transaction, in the namespace that was asked. Neither
    needs a tool call.

    A saved message is a fact with the text of the message, tagged `human` or `ai`. Its key is
    `message:` and the message's id, so that saving it twice is saving it once, and its
    metadata has that id under `message`. A message without text is not saved.

    Nothing that fails is hidden: an error of the memory ends the run and reaches its caller.
    So does a message too long for a fact; if it is the user's, before any model is called.

    Several may serve one agent under different names, and one may serve many agents and
    threads at once: it keeps nothing of a run.

    Traces show no recalled text in the spans of the middleware, but they do in that of the
    model, which was told it; `hide_inputs` of LangSmith's client leaves it out there.

    Args:
        memory: The open memory. Closing it remains the caller's task.
        namespace: The scope to recall from and to save to. A label in braces, such as
            `"{user_id}"`, is filled from the run's context, or from `config["configurable"]`
            when there is none. If it cannot be filled, that is an error, never a wider
            scope; let it be something that users cannot choose.
        k: Most facts to recall.
        token_budget: Most tokens of what is recalled, as `Memory.recall` counts them;
            `None` for no limit.
        tags: Only facts with all of these tags are recalled.
        any_tags: Only facts with one of these at least.
        not_tags: Only facts with none of these.
        where: A filter over metadata; see `plugmem_core.filters`.
        min_score: Leave out facts whose score is lower.
        save: Whose messages to save, of `"human"` and `"ai"`; `()` saves nothing.
        prompt: What stands above the recalled facts.
        name: Its name within an agent.
        trace_policy: What the spans of its hooks record of the agent's state, as
            LangChain describes it; `TracePolicy(process_inputs=omit_payload)` leaves
            the conversation out.

    Raises:
        InvalidInputError: An argument breaks its rule.

    Instantiate and use:
        >>> from langchain.agents import create_agent
        >>> from langchain_core.language_models.fake_chat_models import FakeListChatModel
        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> middleware = PlugmemMiddleware(memory, namespace=("users", "{user_id}"))
        >>> model = FakeListChatModel(responses=["Noted."])
        >>> agent = create_agent(model, middleware=[middleware])
        >>> turn = {"messages": [("human", "I drink green tea")]}
        >>> _ = agent.invoke(turn, context={"user_id": "ann"})
        >>> [(fact.text, fact.tags) for fact in memory.list_facts(namespace=("users", "ann"))]
        [('I drink green tea', ('human',)), ('Noted.', ('ai',))]
    """

    state_schema = _State

    def __init__(
        self,
        memory: Memory,
        *,
        namespace: Sequence[str] = (),
        k: int = 8,
        token_budget: int | None = 512,
        tags: Iterable[str] = (),
        any_tags: Iterable[str] = (),
        not_tags: Iterable[str] = (),
        where: Mapping[str, Any] | None = None,
        min_score: float | None = None,
        save: Iterable[Role] = ("human", "ai"),
        prompt: str = PREAMBLE,
        name: str = "PlugmemMiddleware",
        trace_policy: TracePolicy | None = None,
    ) -> None:
        super().__init__()
        check_type(memory, Memory, "memory", "an open Memory")
        check_type(prompt, str, "prompt", "the instruction as text")
        check_type(name, str, "name", "a name as text")
        self._memory = memory
        self._scope = check_scope(namespace)
        self._settings: dict[str, Any] = {
            "k": k,
            "token_budget": token_budget,
            "tags": check_tags(tags),
            "any_tags": check_tags(any_tags, "any_tags"),
            "not_tags": check_tags(not_tags, "not_tags"),
            "min_score": min_score,
        }
        self._where = where
        make_query("", where=self._where_beside([]), **self._settings)
        self._roles = _check_roles(save)
        self._prompt = prompt
        self._name = name
        self.trace_policy = trace_policy

    @property
    def name(self) -> str:
        """Its name within an agent."""
        return self._name

    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any]:
        """Recall what bears on the latest human message."""
        facts = self._facts_of(state["messages"], runtime)
        block = self._recall(state["messages"], runtime)
        return self._begun(state, _Turn(block=block, facts=facts))

    async def abefore_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any]:
        """Recall what bears on the latest human message."""
        facts = self._facts_of(state["messages"], runtime)
        block = await self._arecall(state["messages"], runtime)
        return self._begun(state, _Turn(block=block, facts=facts))

    def wrap_model_call(
        self, request: _Request, handler: Callable[[_Request], _Response]
    ) -> _Response:
        """Show the model what was recalled."""
        turn = self._turn(request.state)
        # A run that goes on after an interrupt begins in the middle.
        block = turn.block if turn else self._recall(request.messages, request.runtime)
        return handler(_with_block(request, block))

    async def awrap_model_call(
        self, request: _Request, handler: Callable[[_Request], Awaitable[_Response]]
    ) -> _Response:
        """Show the model what was recalled."""
        turn = self._turn(request.state)
        block = turn.block if turn else await self._arecall(request.messages, request.runtime)
        return await handler(_with_block(request, block))

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Save the turn."""
        facts = self._to_save(state, runtime)
        if facts:
            self._memory.remember_many(facts)

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Save the turn."""
        facts = self._to_save(state, runtime)
        if facts:
            await self._memory.aremember_many(facts)

    def _recall(self, messages: Sequence[AnyMessage], runtime: Runtime[Any]) -> str:
        question = self._question(messages, runtime)
        if question is None:
            return ""
        result = self._memory.recall(**question)
        while self._wants_more(result):
            question["k"] *= 2
            result = self._memory.recall(**question)
        return self._block(result)

    async def _arecall(self, messages: Sequence[AnyMessage], runtime: Runtime[Any]) -> str:
        question = self._question(messages, runtime)
        if question is None:
            return ""
        result = await self._memory.arecall(**question)
        while self._wants_more(result):
            question["k"] *= 2
            result = await self._memory.arecall(**question)
        return self._block(result)

    def _question(
        self, messages: Sequence[AnyMessage], runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Return the arguments of the recall, or `None` when nothing was asked."""
        asked = next((one for one in reversed(messages) if _role(one) == "human"), None)
        text = "" if asked is None else str(asked.text)
        if not text.strip():
            return None
        shown_anyway = [message.id for message in messages if message.id is not None]
        return {
            "text": text,
            "where": self._where_beside(shown_anyway),
            "namespace": self._namespace(runtime),
            **self._settings,
            "token_budget": None,  # the block has one; what is left out of it costs nothing
        }

    def _where_beside(self, messages: list[str]) -> dict[str, Any]:
        """Return the filter that also leaves out the facts that are these messages."""
        others = {"message": {"$nin": messages}}
        return others if self._where is None else {"$and": [self._where, others]}

    def _wants_more(self, result: RecallResult) -> bool:
        """Whether facts that say the same took the places of others."""
        return result.truncated and len(_distinct(result.facts)) < self._settings["k"]

    def _block(self, result: RecallResult) -> str:
        facts = _distinct(result.facts)
        sizes = [(at, fact.score, 0, len(fact.text.encode())) for at, fact in enumerate(facts)]
        chosen = select(sizes, self._settings["k"], self._settings["token_budget"])
        rendered = render(facts[: len(chosen.rows)], result.edges)
        return f"{self._prompt}\n\n{rendered}".strip() if rendered else ""

    def _namespace(self, runtime: Runtime[Any]) -> Namespace:
        configurable = get_config().get("configurable", {})
        return resolve_scope(self._scope, runtime.context, configurable)

    def _begun(self, state: Mapping[str, Any], turn: _Turn) -> dict[str, Any]:
        return {"plugmem_turns": {**state.get("plugmem_turns", {}), self._name: turn}}

    def _turn(self, state: Mapping[str, Any]) -> _Turn | None:
        turns: dict[str, _Turn] = state.get("plugmem_turns", {})
        return turns.get(self._name)

    def _to_save(self, state: AgentState[Any], runtime: Runtime[Any]) -> list[dict[str, Any]]:
        # Messages may have been cut out of the thread meanwhile, by a summary for example.
        turn = self._turn(state)
        facts = [*(turn.facts if turn else ()), *self._facts_of(state["messages"], runtime)]
        return list({fact["key"] or fact["text"]: fact for fact in facts}.values())

    def _facts_of(
        self, messages: Sequence[AnyMessage], runtime: Runtime[Any]
    ) -> list[dict[str, Any]]:
        """Return what is to be saved of the turn that these messages end with."""
        namespace = self._namespace(runtime)
        facts = []
        for message in _last_turn(messages):
            role, text = _role(message), str(message.text)
            if role not in self._roles or not text.strip():
                continue
            self._check_length(text, message.id, role)
            facts.append(
                {
                    "text": text,
                    "key": None if message.id is None else f"message:{message.id}",
                    "tags": [role],
                    "metadata": {"message": message.id},
                    "namespace": namespace,
                }
            )
        return facts

    def _check_length(self, text: str, message: str | None, role: str) -> None:
        try:
            name = f"message {message!r}"
            check_fact_text(text, name, max_bytes=self._memory.config.max_text)
        except TooLargeError as error:
            raise TooLargeError(
                f"{error}, open the memory with a larger max_text, or leave {role!r} out of save"
            ) from None


def _distinct(facts: Iterable[RecalledFact]) -> list[RecalledFact]:
    """Return the best of the facts that say the same; what is asked often is saved often."""
    said: dict[tuple[str | None, tuple[str, ...], str], RecalledFact] = {}
    for fact in facts:
        said.setdefault((fact.entity, fact.tags, fact.text), fact)
    return list(said.values())


def _check_roles(save: Iterable[Role]) -> list[Role]:
    roles = [] if isinstance(save, str) else list(save)
    if isinstance(save, str) or any(role not in get_args(Role) for role in roles):
        raise InvalidInputError(
            f"save is {shown(save)}; give a list of the roles to save, of {get_args(Role)}"
        )
    return roles


def _role(message: AnyMessage) -> Role | None:
    """Return who said it; `None` for what is neither a human's words nor an answer to them."""
    if isinstance(message, HumanMessage):
        # LangChain poses summaries and the like as human messages, and marks them so.
        return None if "lc_source" in message.additional_kwargs else "human"
    if isinstance(message, AIMessage):
        return None if message.tool_calls else "ai"
    return None


def _last_turn(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return what came after the last answer but the one that ends the messages, if one does."""
    turn: list[AnyMessage] = []
    for message in reversed(messages):
        if turn and _role(message) == "ai":
            break
        turn.append(message)
    return turn[::-1]


def _with_block(request: _Request, block: str) -> _Request:
    if not block:
        return request
    system = request.system_message
    if system is None:
        return request.override(system_message=SystemMessage(block))
    content: str | list[str | dict[str, Any]]
    if isinstance(system.content, str):
        content = f"{system.content}\n\n{block}"
    else:
        content = [*system.content, {"type": "text", "text": block}]
    return request.override(system_message=system.model_copy(update={"content": content}))
