"""Which entities texts mention."""

from plugmem_core.errors import ConfigError, NotFoundError
from plugmem_core.inputs import check_id, check_namespace
from plugmem_core.model import Namespace
from plugmem_core.progress import Progress, silent
from plugmem_core.verbs.base import Verbs, twin

BATCH = 1_024
"""Facts that one transaction of `find_mentions` reads again."""


class MentionVerbs(Verbs):
    """Verbs over mentions: the entities whose names a text has.

    A new fact notes them by itself, if `MemoryConfig.mentions` is on: at each place of its text the
    longest name counts, in any case and in the English genitive; a title counts by its bare
    name, too, as "Ed Wood (film)" does by "Ed Wood". Numbers, and words such as "it" or "may", are
    met too often to count; names of more than 64 words are not looked for.
    `list_facts(mentions=…)` lists the facts that mention an entity, and the tuned ranking follows
    what the best facts mention.
    """

    def mentions(self, id: int, *, namespace: Namespace = ()) -> tuple[str, ...]:  # noqa: A002
        """Return the display names of the entities that the text of a fact mentions.

        Args:
            id: The fact.
            namespace: The scope in which to look for it.

        Raises:
            NotFoundError: No such fact here.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> _ = memory.remember("runs the bakery", entity="Nadia Fox")
        >>> receipt = memory.remember("Ivo met Nadia Fox at the market", entity="Ivo")
        >>> memory.mentions(receipt.id)
        ('Nadia Fox',)
        """
        fact = check_id(id)
        scope = check_namespace(namespace)
        engine = self._ready()
        with engine.gate:
            index = engine.index
            if not index.facts.admits(self._visible(scope), fact):
                raise NotFoundError(f"fact {fact} does not exist")
            shown = index.names.shown
            return tuple(shown[entity][0] for entity in index.mentions.entities.list(fact))

    def find_mentions(self, *, progress: Progress | None = None) -> int:
        """Look again for mentions in every text, as for entities that came after it.

        It goes in steps, each a transaction of its own; stopped on the way, it has done a part.

        Args:
            progress: Called with the facts looked at and those there are.

        Returns:
            How many facts mention others than before.

        Raises:
            ConfigError: The memory was opened with `mentions=False`.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> receipt = memory.remember("a letter from Nadia Fox came")
        >>> _ = memory.remember("runs the bakery", entity="Nadia Fox")
        >>> memory.find_mentions(), memory.mentions(receipt.id)
        (1, ('Nadia Fox',))
        """
        engine = self._ready()
        if not engine.config.mentions:
            raise ConfigError("mentions is False; open the memory with MemoryConfig(mentions=True)")
        tell = progress or silent
        total = engine.store.facts_stored()
        changed = looked_at = 0
        last = -1
        while True:
            with engine.writing() as transaction:
                rows = transaction.facts_after(last, BATCH)
                if rows:
                    changed += transaction.note_mentions(rows)
            if not rows:
                return changed
            last = rows[-1].id
            looked_at += len(rows)
            tell(looked_at, total)

    amentions = twin(mentions)
    afind_mentions = twin(find_mentions)
