"""The messages of one session: a log of facts, and the values of those that are large."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.storage.chat_store.base_db import MessageStatus

from llama_index_plugmem._messages import (
    LARGE,
    STATUS,
    Draft,
    archived,
    check_messages,
    check_status,
    is_message,
    json_in,
    to_draft,
    to_message,
)
from plugmem_core import Fact, Memory, Namespace
from plugmem_core.adapters.log import FactLog
from plugmem_core.clock import MAX_MS
from plugmem_core.verbs.listing import every


class MessageLog:
    """The messages of one session, in order, each with a status.

    Args:
        memory: The open memory.
        namespace: That of the session; what lies below it is another's.
    """

    def __init__(self, memory: Memory, namespace: Namespace) -> None:
        self._memory = memory
        self._namespace = namespace
        self._log = FactLog(memory, namespace, is_message)

    def facts(self, status: MessageStatus | None = None) -> list[Fact]:
        """Return the facts of the messages with a status, or of all."""
        facts = self._log.read()
        if status is None:
            return facts
        wanted = check_status(status).value
        return [fact for fact in facts if fact.metadata[STATUS] == wanted]

    def read(self, status: MessageStatus | None = None) -> list[ChatMessage]:
        """Return the messages with a status, or all; each is the caller's own."""
        return self._messages(self.facts(status))

    def add(
        self, messages: Iterable[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Append messages in one transaction: all of them or none."""
        drafts = self._drafts(messages, status)
        several_writes = any(draft.is_large for draft in drafts)
        with self._memory.transaction() if several_writes else nullcontext():
            self._store(drafts)

    def replace(
        self, messages: Iterable[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Make these the messages, in one transaction; what they begin with alike stays."""
        wanted = self._drafts(messages, status)
        with self._memory.transaction():
            there = self.facts()
            same = self._common_start(there, wanted)
            self._forget(there[same:])
            self._store(wanted[same:])

    def archive_oldest(self, count: int) -> list[ChatMessage]:
        """Archive the oldest active messages and return them."""
        with self._memory.transaction():
            oldest = self.facts(MessageStatus.ACTIVE)[:count]
            self._log.add(map(archived, oldest))
            return self._messages(oldest)

    def forget_oldest(self, count: int) -> list[ChatMessage]:
        """Forget the oldest active messages and return them."""
        with self._memory.transaction():
            return self._take(self.facts(MessageStatus.ACTIVE)[:count])

    def forget_at(self, place: int) -> ChatMessage | None:
        """Forget one of the active messages and return it; `None` when there is none there."""
        with self._memory.transaction():
            active = self.facts(MessageStatus.ACTIVE)
            chosen = active[place : place + 1] if place >= 0 else []
            return next(iter(self._take(chosen)), None)

    def clear(self, status: MessageStatus | None = None) -> None:
        """Forget the messages with a status, or all."""
        with self._memory.transaction():
            if status is not None:
                self._forget(self.facts(status))
                return
            self._log.clear()
            # All of them: the fact of one may have been forgotten by hand.
            large = self._memory.get_values(LARGE, namespace=self._namespace)
            self._memory.delete_values(LARGE, list(large), namespace=self._namespace)

    def _drafts(self, messages: Iterable[ChatMessage], status: MessageStatus) -> list[Draft]:
        given, config = check_messages(messages), self._memory.config
        check_status(status)
        return [to_draft(one, place, status, config) for place, one in enumerate(given)]

    def _store(self, drafts: Sequence[Draft]) -> None:
        self._log.add(draft.fact for draft in drafts)
        large = {draft.fact["key"]: draft.json for draft in drafts if draft.is_large}
        if large:
            self._memory.put_values(LARGE, large, namespace=self._namespace)

    def _take(self, facts: Sequence[Fact]) -> list[ChatMessage]:
        messages = self._messages(facts)
        self._forget(facts)
        return messages

    def _forget(self, facts: Iterable[Fact]) -> None:
        keys = [fact.key for fact in facts if fact.key is not None]
        self._memory.write(forget=[(self._namespace, key) for key in keys])
        self._memory.delete_values(LARGE, keys, namespace=self._namespace)

    def _messages(self, facts: Sequence[Fact]) -> list[ChatMessage]:
        stored = self._json(facts)
        # Without its text, another process has removed the message meanwhile.
        return [to_message(fact, stored[fact.key]) for fact in facts if fact.key in stored]

    def _json(self, facts: Iterable[Fact]) -> dict[str | None, str]:
        """Return the JSON texts of messages by their keys."""
        found = {fact.key: json_in(fact.metadata) for fact in facts}
        large: list[Any] = [key for key, text in found.items() if text is None]
        values = self._memory.get_values(LARGE, large, namespace=self._namespace) if large else {}
        return {key: text for key, text in found.items() if text is not None} | values

    def _common_start(self, there: Sequence[Fact], wanted: Sequence[Draft]) -> int:
        """Return how many messages both begin with."""
        stored = self._json(there[: len(wanted)])
        same = 0
        for fact, draft in zip(there, wanted, strict=False):
            as_stored = (fact.text, fact.metadata, stored.get(fact.key))
            if as_stored != (draft.fact["text"], draft.fact["metadata"], draft.json):
                break
            same += 1
        return same


def forget_below(memory: Memory, namespace: Namespace, *marks: str) -> None:
    """Forget what is marked as ours in a namespace and below, every version, in one transaction.

    Args:
        memory: The open memory.
        namespace: The scope.
        marks: Keys of metadata; a fact that has one of them is ours.
    """
    options: dict[str, Any] = {"closed": True, "valid_at": MAX_MS, "namespace": namespace}
    with memory.transaction():
        keys: defaultdict[Namespace, set[str]] = defaultdict(set)
        for fact in every(memory.list_facts, **options):
            if fact.key is not None and not fact.metadata.keys().isdisjoint(marks):
                keys[fact.namespace].add(fact.key)
        memory.write(forget=[(space, key) for space, own in keys.items() for key in own])
        for space, own in keys.items():
            memory.delete_values(LARGE, own, namespace=space)
