"""Values by key: what belongs to an application's state, and is never recalled."""

from collections.abc import Iterable, Mapping
from typing import Any

from plugmem_core.inputs import (
    check_collection,
    check_json,
    check_keys,
    check_namespace,
    check_type,
)
from plugmem_core.model import Namespace
from plugmem_core.store import dump_json, load_json
from plugmem_core.verbs.base import Verbs, twin


class ValueVerbs(Verbs):
    """Verbs over collections of values; a namespace sees only its own, not those below it."""

    def put_values(
        self, collection: str, values: Mapping[str, Any], *, namespace: Namespace = ()
    ) -> None:
        """Store values in one transaction; what is under a key already is replaced.

        Unlike facts, values have no history, and no recall finds them.

        Args:
            collection: Where the keys live; made on first use.
            values: JSON values by key, each at most `max_value` bytes.
            namespace: The scope they live in.

        Raises:
            InvalidInputError: An argument breaks its rule; nothing was stored.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> memory.put_values("settings", {"theme": "dark", "fonts": ["serif"]})
        >>> memory.get_values("settings", ["theme"])
        {'theme': 'dark'}
        """
        name, scope = check_collection(collection), dump_json(check_namespace(namespace))
        check_type(values, Mapping, "values", "a mapping of keys to JSON values")
        most = self._engine.config.max_value
        written = {
            key: check_json(values[key], f"values[{key!r}]", max_bytes=most)
            for key in check_keys(values.keys(), "values")
        }
        with self._engine.writing() as transaction:
            transaction.put_values(name, written, transaction.namespace(scope))

    def get_values(
        self,
        collection: str,
        keys: Iterable[str] | None = None,
        *,
        namespace: Namespace = (),
    ) -> dict[str, Any]:
        """Return values by key, in the order in which they were first stored.

        Args:
            collection: Where the keys live; an unknown one is empty.
            keys: Which, unknown ones are left out; all by default.
            namespace: The scope they live in.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> memory.put_values("settings", {"theme": "dark", "columns": 2})
        >>> memory.get_values("settings"), memory.get_values("settings", ["font"])
        ({'theme': 'dark', 'columns': 2}, {})
        """
        name, scope = check_collection(collection), dump_json(check_namespace(namespace))
        wanted = None if keys is None else check_keys(keys)
        stored = self._ready().store.values(scope, name, wanted)
        return {key: load_json(value) for key, value in stored.items()}

    def delete_values(
        self, collection: str, keys: Iterable[str], *, namespace: Namespace = ()
    ) -> int:
        """Remove values in one transaction; unknown keys are passed over.

        Args:
            collection: Where the keys live.
            keys: Which.
            namespace: The scope they live in.

        Returns:
            How many were there.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> memory.put_values("settings", {"theme": "dark"})
        >>> memory.delete_values("settings", ["theme", "font"]), memory.get_values("settings")
        (1, {})
        """
        name, scope = check_collection(collection), dump_json(check_namespace(namespace))
        wanted = check_keys(keys)
        with self._engine.writing() as transaction:
            space = transaction.find_namespace(scope)
            return 0 if space is None else transaction.delete_values(name, wanted, space)

    aput_values = twin(put_values)
    aget_values = twin(get_values)
    adelete_values = twin(delete_values)
