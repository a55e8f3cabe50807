"""`PlugmemMemory`: a classic memory of LangChain's that lasts."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from langchain_classic.base_memory import BaseMemory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, get_buffer_string
from pydantic import ConfigDict, Field, StrictBool, StrictInt, model_validator

from langchain_plugmem._messages import MessageLog, to_message
from plugmem_core import InvalidInputError, Memory, RecalledFact
from plugmem_core.inputs import check_namespace, check_type
from plugmem_core.recall import make_query
from plugmem_core.recall.selection import select
from plugmem_core.verbs.base import twin


class PlugmemMemory(BaseMemory):
    """Gives a classic chain what was said before: what matters now, and the last turns.

    Setup:
        ```bash
        pip install "plugmem-core[classic]"
        ```

    Every turn is stored in a log that outlives the chain, as `PlugmemChatMessageHistory`
    stores it, and a later chain over the same file and namespace goes on with it. A chain
    is given the messages recalled for its input, the oldest first, and after them the
    `recent` last ones. Both come from that one log; nothing is summarised or given twice.

    As text, every message begins a line with its speaker, and its further lines are
    indented, so that no message can pose as a turn of another speaker.

    Key init args:
        memory: The open memory. Copies, deep ones too, share it; closing it remains the
            caller's task.
        namespace: Where this conversation is stored. What lies above or below is another's.
        memory_key: The variable that the prompt calls the memory by.
        input_key: Which input the user said; needed if the chain has several.
        output_key: Which output the chain said; needed if it has several.
        return_messages: Whether to give messages, for chat prompts, instead of one text.
        k: Most messages to recall.
        recent: How many last messages are always there, recalled or not; two a turn.
        token_budget: Most tokens of the recalled messages together, a quarter of the bytes
            plus 8 for each; no limit by default. The last messages do not count.
        min_score: Recall nothing whose score is lower; see `Memory.recall`.
        human_prefix: The user, in the text.
        ai_prefix: The chain, in the text.

    Raises:
        pydantic.ValidationError: A setting is unknown or breaks its rule; a `ValueError`.

    Instantiate and use:
        >>> from plugmem_core import Memory
        >>> memory = PlugmemMemory(memory=Memory.open(":memory:"), recent=2)
        >>> memory.save_context({"input": "My desk is on floor two"}, {"output": "Noted."})
        >>> memory.save_context({"input": "Is there coffee?"}, {"output": "In the kitchen."})
        >>> print(memory.load_memory_variables({"input": "Which floor is my desk on?"})["history"])
        Human: My desk is on floor two
        Human: Is there coffee?
        AI: In the kitchen.
    """

    model_config = ConfigDict(extra="forbid")

    memory: Memory = Field(exclude=True, repr=False)
    namespace: Sequence[str] = ("conversation",)
    memory_key: str = "history"
    input_key: str | None = None
    output_key: str | None = None
    return_messages: StrictBool = False
    k: StrictInt = 8
    recent: StrictInt = Field(default=4, ge=0)
    token_budget: StrictInt | None = None
    min_score: float | None = None
    human_prefix: str = "Human"
    ai_prefix: str = "AI"

    @model_validator(mode="after")
    def _check_settings(self) -> Self:
        make_query("", k=self.k, token_budget=self.token_budget, min_score=self.min_score)
        check_namespace(self.namespace)
        return self

    @property
    def memory_variables(self) -> list[str]:
        """The one variable that is given to the prompt."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the messages recalled for the input, and after them the last ones.

        Args:
            inputs: The inputs of the chain; without any, nothing is recalled.

        Raises:
            InvalidInputError: There are several inputs and `input_key` is not set, or the
                one it names is missing.
            WrongTypeError: The input is no text.
        """
        last = self._log.last(self.recent)
        recalled = self._recalled(inputs, last)
        messages = [to_message(fact) for fact in [*sorted(recalled), *last]]
        return {self.memory_key: messages if self.return_messages else self._text(messages)}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, str]) -> None:
        """Store what the user and the chain said, in one transaction.

        Args:
            inputs: The inputs of the chain.
            outputs: Its outputs.

        Raises:
            InvalidInputError: There is not one input or output, and `input_key` or
                `output_key` does not name one; or a message cannot be stored.
            WrongTypeError: The input or the output is no text.
            BusyError: Another process wrote for longer than `busy_timeout`.
        """
        said = _chosen(self._own_inputs(inputs), self.input_key, "input")
        answered = _chosen(outputs, self.output_key, "output")
        self._log.add([HumanMessage(said), AIMessage(answered)])

    def clear(self) -> None:
        """Forget the whole conversation, and nothing else."""
        self._log.clear()

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """`load_memory_variables` in a worker thread; the event loop runs on."""
        return await twin(self.load_memory_variables)(inputs)

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, str]) -> None:
        """`save_context` in a worker thread; the event loop runs on."""
        await twin(self.save_context)(inputs, outputs)

    async def aclear(self) -> None:
        """`clear` in a worker thread; the event loop runs on."""
        await self._log.aclear()

    @property
    def _log(self) -> MessageLog:
        return MessageLog(self.memory, check_namespace(self.namespace))

    def _recalled(self, inputs: dict[str, Any], last: Sequence[RecalledFact]) -> list[RecalledFact]:
        asked = self._own_inputs(inputs)
        if not asked:
            return []
        question = _chosen(asked, self.input_key, "input")
        found = self._log.recall(question, self.k, last, min_score=self.min_score)
        sizes = [(at, fact.score, 0, len(fact.text.encode())) for at, fact in enumerate(found)]
        return found[: len(select(sizes, self.k, self.token_budget).rows)]

    def _own_inputs(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        # Chains pass the variables of the memory back, and "stop" is meant for the model.
        return {name: one for name, one in inputs.items() if name not in (self.memory_key, "stop")}

    def _text(self, messages: Sequence[BaseMessage]) -> str:
        return "\n".join(
            "\n  ".join(get_buffer_string([one], self.human_prefix, self.ai_prefix).splitlines())
            for one in messages
        )


def _chosen(values: Mapping[str, Any], key: str | None, kind: str) -> str:
    """Return the one text among the inputs or outputs of a chain that was said."""
    if key is None and len(values) == 1:
        [key] = values
    if key is None or key not in values:
        named = ", ".join(map(repr, values)) or "none"
        wanted = f"{kind}_key is {key!r}" if key else f"one {kind} was expected"
        raise InvalidInputError(f"{wanted}, and given are {named}; name one with {kind}_key")
    check_type(values[key], str, f"{kind} {key!r}", "a text")
    return str(values[key])
