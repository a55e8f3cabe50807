"""`LLMExtractor`: a language model finds facts and relations for a memory."""

from inspect import unwrap
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.llms import LLM, CustomLLM
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.tools import FunctionTool

from plugmem_core.errors import ServiceError
from plugmem_core.extraction import Graph
from plugmem_core.extraction.protocol import check_passage
from plugmem_core.extraction.replies import (
    INSTRUCTIONS,
    GraphReply,
    is_answer,
    material,
    read_answer,
    read_reply,
)
from plugmem_core.extraction.running import FaultsOf
from plugmem_core.inputs import check_type
from plugmem_core.verbs.base import twin


class LLMExtractor:
    """Lets any LlamaIndex `LLM` find the facts, relations and attributes in a passage.

    A model that calls functions is given the schema of the answer as one. Of any other, and
    where that fails, the text of the reply is read: the first whole JSON object that has the
    shape of an answer. Items that say nothing usable are left out. The passage is delimited
    and is never a template; a blank one is not shown to the model. `Settings` is not used.

    The model is called once a passage; whether it is tried again is for the model to say.

    Args:
        llm: The model.
        structured: Whether to use function calls where the model says it makes them.

    Raises:
        WrongTypeError: An argument has another type.

    >>> from llama_index.core.llms import MockLLM
    >>> LLMExtractor(MockLLM()).extract(" ")
    Graph(facts=(), relations=(), attributes=())
    """

    def __init__(self, llm: LLM, *, structured: bool = True) -> None:
        check_type(llm, LLM, "llm", "a LlamaIndex LLM")
        check_type(structured, bool, "structured", "True or False")
        self.llm = llm
        self._caller: FunctionCallingLLM | None = None
        if structured and isinstance(llm, FunctionCallingLLM):
            self._caller = llm if llm.metadata.is_function_calling_model else None

    def extract(self, text: str) -> Graph:
        """Return what the model finds in a passage.

        Raises:
            WrongTypeError: It is no `str`.
            InvalidInputError: It has a lone surrogate or a NUL character.
            TooLargeError: It is too long.
            ServiceError: The model failed, or its reply has no answer in it.
        """
        if not check_passage(text).strip():
            return Graph()
        with FaultsOf(self.llm):
            if self._caller is None:
                reply = self.llm.chat(_messages(text))
            else:
                reply = self._caller.chat_with_tools(**_call(text))
            return self._read(reply)

    async def aextract(self, text: str) -> Graph:
        """`extract` by the model's own coroutine, or in a worker thread if it has none."""
        if not check_passage(text).strip():
            return Graph()
        if unwrap(type(self.llm).achat) is unwrap(CustomLLM.achat):  # which calls `chat` and blocks
            return await twin(self.extract)(text)
        with FaultsOf(self.llm):
            if self._caller is None:
                reply = await self.llm.achat(_messages(text))
            else:
                reply = await self._caller.achat_with_tools(**_call(text))
            return self._read(reply)

    def _read(self, reply: ChatResponse) -> Graph:
        broken: Exception | None = None
        try:
            for call in self._calls(reply):
                if is_answer(call.tool_kwargs):
                    return read_answer(call.tool_kwargs)
        except Exception as error:  # noqa: BLE001 - of whatever kind: the text may have the answer
            broken = error
        try:
            return read_reply(reply.message.content or "", type(self.llm).__name__)
        except ServiceError as error:
            raise error from broken

    def _calls(self, reply: ChatResponse) -> list[ToolSelection]:
        if self._caller is None:
            return []
        return self._caller.get_tool_calls_from_response(reply, error_on_no_tool_call=False)


def _messages(text: str) -> list[ChatMessage]:
    return [
        ChatMessage(role=MessageRole.SYSTEM, content=INSTRUCTIONS),
        ChatMessage(role=MessageRole.USER, content=material(text)),
    ]


def _call(text: str) -> dict[str, Any]:
    # Only the schema is used: the function is called by nobody.
    tool = FunctionTool.from_defaults(
        fn=GraphReply,
        name="record_graph",
        description=GraphReply.__doc__,
        fn_schema=GraphReply,
    )
    return {"tools": [tool], "chat_history": _messages(text), "tool_required": True}
