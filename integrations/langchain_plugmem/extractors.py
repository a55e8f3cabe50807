"""`ChatModelExtractor`: a chat model finds facts and relations for a memory."""

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable

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


class ChatModelExtractor:
    """Lets any LangChain chat model find the facts, relations and attributes in a passage.

    A model with structured output is given the schema of the answer. Of any other, and where
    that fails, the text of the reply is read: the first whole JSON object that has the shape
    of an answer. Items that say nothing usable are left out. The passage is delimited and is
    never a template; a blank one is not shown to the model.

    The model is called once a passage and not tried again; `model.with_retry()`, or the
    model's own `max_retries`, does that.

    Args:
        model: The chat model, or a runnable around one, whose reply is read as text.
        structured: Whether to use structured output where the model's class has it. Say
            `False` for a model that does not call tools although its class could.

    Raises:
        WrongTypeError: An argument has another type.

    >>> from langchain_core.language_models import FakeListChatModel
    >>> reply = '{"relations": [{"subject": "Ines", "predicate": "works at", "object": "Acme"}]}'
    >>> extractor = ChatModelExtractor(FakeListChatModel(responses=[reply]))
    >>> extractor.extract("Ines works at Acme").relations
    (Relation(subject='Ines', predicate='works at', object='Acme'),)
    """

    def __init__(self, model: Runnable[Any, Any], *, structured: bool = True) -> None:
        check_type(model, Runnable, "model", "a LangChain chat model")
        check_type(structured, bool, "structured", "True or False")
        self.model = model
        self._asked = _with_schema(model) if structured else model

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
        with FaultsOf(self.model):
            reply = self._asked.invoke(_messages(text))
        return self._read(reply)

    async def aextract(self, text: str) -> Graph:
        """`extract` by the model's own coroutine."""
        if not check_passage(text).strip():
            return Graph()
        with FaultsOf(self.model):
            reply = await self._asked.ainvoke(_messages(text))
        return self._read(reply)

    def _read(self, reply: Any) -> Graph:
        structured = reply if isinstance(reply, dict) else {"raw": reply}
        answer = structured.get("parsed")
        if is_answer(answer):
            return read_answer(answer)
        try:
            return read_reply(_written(structured.get("raw")), type(self.model).__name__)
        except ServiceError as error:
            raise error from structured.get("parsing_error")


def _with_schema(model: Runnable[Any, Any]) -> Runnable[Any, Any]:
    if not isinstance(model, BaseChatModel):
        return model
    try:
        # The schema as a dictionary: a model of pydantic would refuse a whole answer for one item.
        return model.with_structured_output(GraphReply.model_json_schema(), include_raw=True)
    except NotImplementedError:
        return model


def _messages(text: str) -> list[BaseMessage]:
    return [SystemMessage(INSTRUCTIONS), HumanMessage(material(text))]


def _written(reply: object) -> str:
    """Return what a model wrote, also what it meant for a tool and got wrong."""
    if not isinstance(reply, BaseMessage):
        return str(reply)
    broken = reply.invalid_tool_calls if isinstance(reply, AIMessage) else []
    return "\n".join([reply.text, *(call["args"] or "" for call in broken)])
