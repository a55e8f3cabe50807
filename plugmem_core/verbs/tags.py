"""The catalogue of tags."""

from collections.abc import Callable

from plugmem_core.inputs import check_count, check_namespace, check_tag, check_type
from plugmem_core.model import Namespace, Tag, TagPage
from plugmem_core.text import check_text
from plugmem_core.verbs.base import MAX_PAGE, Verbs, decode_cursor, encode_cursor, first_page, twin


class TagVerbs(Verbs):
    """Verbs over tags."""

    def tags(
        self,
        prefix: str = "",
        *,
        namespace: Namespace = (),
        below: bool = True,
        limit: int = 64,
        cursor: str | None = None,
    ) -> TagPage:
        """Return the tags of current facts, by name, and how many facts carry each.

        Args:
            prefix: Only tags that start with this, case included.
            namespace: The scope: itself and what lies below it.
            below: Whether what lies below it is in the scope.
            limit: Most tags of the page, 1,000 at most.
            cursor: `next_cursor` of the page before.

        Raises:
            StaleCursorError: The cursor belongs to other arguments.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> _ = memory.remember("tomatoes were planted", tags=["garden", "spring"])
        >>> [(tag.name, tag.facts) for tag in memory.tags()]
        [('garden', 1), ('spring', 1)]
        """
        scope = check_namespace(namespace)
        start = check_text(prefix, "prefix", max_bytes=65_536)
        size = check_count(limit, "limit", most=MAX_PAGE)
        check_type(below, bool, "below", "True or False")
        listing = ("tags", start, scope, below)
        after = "" if cursor is None else decode_cursor(listing, cursor, str)
        engine = self._ready()
        with engine.gate:
            current = self._visible(scope, current=True, below=below)
            counts = engine.index.tags.counts(start, engine.index.facts, current)
        page, more = first_page((Tag(*one) for one in counts if one[0] > after), size)
        return TagPage(tuple(page), encode_cursor(listing, page[-1].name) if more else None)

    def rename_tag(self, tag: str, new_tag: str, *, namespace: Namespace = ()) -> int:
        """Rename a tag on every current fact; as of an earlier instant the old name stands.

        Args:
            tag: The tag.
            new_tag: Its new name; a fact that carries it already gets it once.
            namespace: The scope: itself and what lies below it.

        Returns:
            How many facts were revised.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> _ = memory.remember("tomatoes were planted", tags=["gardn"])
        >>> memory.rename_tag("gardn", "garden")
        1
        """
        old, new = check_tag(tag), check_tag(new_tag, "new_tag")
        if old == new:
            return 0

        def renamed(tags: list[str]) -> list[str]:
            return list(dict.fromkeys(new if one == old else one for one in tags))

        return self._retag(old, renamed, namespace)

    def remove_tag(self, tag: str, *, namespace: Namespace = ()) -> int:
        """Take a tag off every current fact; as of an earlier instant it is still there.

        Args:
            tag: The tag.
            namespace: The scope: itself and what lies below it.

        Returns:
            How many facts were revised.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> _ = memory.remember("tomatoes were planted", tags=["garden", "draft"])
        >>> memory.remove_tag("draft"), [tag.name for tag in memory.tags()]
        (1, ['garden'])
        """
        gone = check_tag(tag)
        return self._retag(gone, lambda tags: [one for one in tags if one != gone], namespace)

    atags = twin(tags)
    arename_tag = twin(rename_tag)
    aremove_tag = twin(remove_tag)

    def _retag(
        self, tag: str, change: Callable[[list[str]], list[str]], namespace: Namespace
    ) -> int:
        scope = check_namespace(namespace)
        engine = self._engine
        with engine.writing() as transaction:
            current = self._visible(scope, current=True)
            tagged = engine.index.facts.admitted(current, engine.index.tags.facts_of(tag))
            rows = [transaction.fact(fact) for fact in tagged]
            # Within a transaction, some may have been revised or forgotten before.
            standing = [row for row in rows if row.is_current and row.forgotten_at is None]
            return transaction.retag(standing, change)
