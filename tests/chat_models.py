"""Chat models that answer as told and keep what they were shown."""

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any, Self

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.outputs import ChatResult
from pydantic import Field


class ScriptedChatModel(GenericFakeChatModel):
    """Gives one answer after another; `seen` has the messages of each call."""

    seen: list[list[BaseMessage]] = Field(default_factory=list)

    def bind_tools(self, tools: Any, **kwargs: Any) -> Self:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.seen.append(messages)
        return super()._generate(messages, *args, **kwargs)

    @property
    def told(self) -> list[str]:
        """The system message of each call; empty where there was none."""
        return [
            "\n".join(message.text for message in messages if isinstance(message, SystemMessage))
            for messages in self.seen
        ]


def scripted(*answers: AIMessage | str) -> ScriptedChatModel:
    """Return a model that gives these answers, then no more."""
    return ScriptedChatModel(messages=iter(answers))


def saying(answer: str) -> ScriptedChatModel:
    """Return a model that gives one answer again and again; threads may share it."""
    endless: Iterator[AIMessage | str] = repeat(answer)
    return ScriptedChatModel(messages=endless)


def unreachable() -> ScriptedChatModel:
    """Return a model that cannot be reached."""

    def answers() -> Iterator[AIMessage | str]:
        yield from ()
        raise ConnectionError("the model is down")

    return ScriptedChatModel(messages=answers())


def calling(name: str, arguments: dict[str, Any], call: str = "call-1") -> AIMessage:
    """Return an answer that calls one tool."""
    return calling_many([(name, arguments, call)])


def calling_many(calls: Sequence[tuple[str, dict[str, Any], str]]) -> AIMessage:
    """Return an answer that calls tools: their names, arguments and ids of the calls."""
    tool_calls = [{"name": name, "args": args, "id": call} for name, args, call in calls]
    return AIMessage("", tool_calls=tool_calls)
