"""Rows of a damaged file, found page by page and put into a scratch database without rules.

The trees are followed from the roots as far as they lead. Where they are whole, their pages are
all there is. Where one is broken, every page that is not on the list of free ones is looked at,
and rows are told by their shape; of several versions of a row the newest counts.
"""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from plugmem_core.store.encoding import text_digest
from plugmem_core.store.pages import INNER, LEAF, Cell, DamageError, Page, Pages
from plugmem_core.store.rows import FactRow
from plugmem_core.store.shapes import INDEX_TABLE, TABLES, table_of, whole

_SCHEMA_COLUMNS = 5


class Damage(NamedTuple):
    """Something that cannot be read.

    Attributes:
        table: Where it stood; `"page"` or `"log"` when nobody can tell.
        first: The row's id, or the number of the page.
        last: The last of a range.
        reason: What is wrong.
    """

    table: str
    first: int | None
    last: int | None
    reason: str


class Scan:
    """Reads a file into a scratch database.

    Args:
        pages: The file.
        sql: The database, empty.
    """

    def __init__(self, pages: Pages, sql: sqlite3.Connection) -> None:
        self._pages = pages
        self._sql = sql
        self.damages: list[Damage] = []
        self.found: Counter[str] = Counter()
        self._owners: dict[int, str] = {}  # the table of each page that a tree leads to
        self._overflow: set[int] = set()
        self._broken = False
        for name, row in TABLES.items():
            columns = ", ".join(row._fields[1:])
            first = row._fields[0]
            key = "PRIMARY KEY (namespace, key)" if name == INDEX_TABLE else None
            declared = f"{first} INTEGER" + ("" if key else " PRIMARY KEY")
            sql.execute(f"CREATE TABLE {name} ({declared}, {columns}{f', {key}' if key else ''})")

    def run(self, progress: Callable[[int, int], object]) -> None:
        """Read every row that can be read.

        Args:
            progress: Called with the pages read and those there are.
        """
        pages = self._pages
        self._note_outside()
        self._follow_trees()
        numbers: Iterable[int] = self._owners
        if self._broken:
            free, sound = pages.free()
            if not sound:
                self._note(
                    "page",
                    None,
                    "the list of free pages is damaged, so what was deleted "
                    "since the file was last written anew may be back",
                )
            others = set(range(1, pages.count + 1)) - free - self._owners.keys()
            # What a tree leads to is the truth, so it comes last.
            numbers = [*sorted(others), *sorted(self._owners)]
        total = len(list(numbers))
        lost = []
        for done, number in enumerate(numbers):
            if not self._read_page(number):
                lost.append(number)
            if done % 256 == 0:
                progress(done, total)
        noted = {damage.first for damage in self.damages if damage.table == "page"}
        for number in lost:
            if number not in self._overflow and number not in noted:
                self._note("page", number, self._why(number))

    # -- following the trees

    def _note_outside(self) -> None:
        pages = self._pages
        for frame in pages.log.damaged:
            self._note("log", frame, "the frame of the log is damaged; older pages are used")
        declared = pages.log.size or pages.declared()
        if pages.count < declared <= 2**31:
            self._broken = True
            self.damages.append(
                Damage("page", pages.count + 1, declared, "the file is cut off before it")
            )

    def _follow_trees(self) -> None:
        roots: dict[str, int] = {}
        try:
            for cell in self._leaves(1, "schema"):
                values = cell.values or ()
                if len(values) == _SCHEMA_COLUMNS and values[0] == "table":
                    roots[str(values[1])] = int(values[3]) if isinstance(values[3], int) else 0
        except DamageError as error:
            self._break(1, error)
        self._owners.clear()  # the schema's own
        for table in TABLES:
            if table in roots:
                self._walk(roots[table], table)
            elif table != "kv":  # older files have none
                self._broken = True

    def _leaves(self, root: int, table: str) -> Iterator[Cell]:
        for number in self._tree(root, table):
            page = Page(self._pages.read(number), number)
            if page.kind == LEAF:
                for cell in self._pages.cells(page):
                    if isinstance(cell, DamageError):
                        self._break(number, cell)
                    else:
                        yield cell

    def _walk(self, root: int, table: str) -> None:
        for _ in self._tree(root, table):
            pass

    def _tree(self, root: int, table: str) -> Iterator[int]:
        """Yield the pages of a tree, noting whose they are and where it breaks."""
        waiting = [root]
        while waiting:
            number = waiting.pop()
            if number in self._owners:
                self._break(number, DamageError("two branches lead to it"))
                continue
            try:
                page = Page(self._pages.read(number), number)
                if page.is_index != (table == INDEX_TABLE):
                    raise DamageError("it is of another kind of tree")
            except DamageError as error:
                self._break(number, error)
                continue
            self._owners[number] = table
            if page.right is not None:
                waiting.append(page.right)
                for cell in self._pages.cells(page):
                    if isinstance(cell, DamageError):
                        self._break(number, cell)
                    elif cell.child is not None:
                        waiting.append(cell.child)
            yield number

    def _break(self, number: int, error: DamageError) -> None:
        self._broken = True
        self._note("page", number, f"a tree breaks here: {error}")

    # -- rows

    def _read_page(self, number: int) -> bool:
        """Put the rows of a page into the scratch database; `False` when it is no page of rows."""
        try:
            page = Page(self._pages.read(number), number)
        except DamageError:
            return False
        owner = self._owners.get(number)
        if page.kind == INNER:  # it leads to rows, but holds none
            return True
        for cell in _in_order(self._pages.cells(page)):
            if isinstance(cell, DamageError):
                if owner is not None or not page.is_index:
                    self._note("page", number, f"{owner or 'a table'}: {cell}")
                continue
            self._overflow.update(cell.pages)
            if cell.values is not None:
                self._keep(cell, page, owner)
        return True

    def _keep(self, cell: Cell, page: Page, owner: str | None) -> None:
        values = cell.values or ()
        if not page.is_index and values and values[0] is None and cell.rowid is not None:
            values = (cell.rowid, *values[1:])
        values = whole(values)
        table = table_of(values, index=page.is_index)
        if table is None or (owner is not None and table != owner):
            if owner is not None:
                self._note(owner, cell.rowid, f"the row, in page {page.number}, has another shape")
            return
        if table == "facts":
            fact = FactRow._make(values)
            if text_digest(fact.text) != fact.digest:
                self._note(
                    "facts", fact.id, f"the text does not match its digest: {fact.text[:200]!r}"
                )
                return
        self.found[table] += 1
        columns = TABLES[table]._fields
        marks = ", ".join("?" * len(columns))
        key = "(namespace, key)" if table == INDEX_TABLE else f"({columns[0]})"
        newer = "WHERE excluded.change >= change" if "change" in columns else ""
        changed = ", ".join(f"{column} = excluded.{column}" for column in columns)
        self._sql.execute(
            f"INSERT INTO {table} VALUES ({marks}) ON CONFLICT {key} DO UPDATE SET {changed} "
            f"{newer}",
            values,
        )

    # -- what is wrong

    def _why(self, number: int) -> str:
        if self._pages.is_cut_off(number):
            return "the file is cut off in it"
        try:
            Page(self._pages.read(number), number)
        except DamageError as error:
            return str(error)
        return "it cannot be read"

    def _note(self, table: str, at: int | None, reason: str) -> None:
        self.damages.append(Damage(table, at, at, reason))


def _in_order(cells: Iterable[Cell | DamageError]) -> Iterator[Cell | DamageError]:
    """Yield cells, but damage for those whose ids do not ascend as they do in a page."""
    whole = list(cells)
    ids = [None if isinstance(cell, DamageError) else cell.rowid for cell in whole]
    before = -(2**63) - 1
    for at, (cell, rowid) in enumerate(zip(whole, ids, strict=True)):
        after = ids[at + 1] if at + 1 < len(ids) else None
        if rowid is None:
            yield cell
        elif rowid <= before or (after is not None and before < after < rowid):
            yield DamageError(f"the row {rowid} is not in its place")
        else:
            yield cell
            before = rowid


def scan(path: Path, sql: sqlite3.Connection, progress: Callable[[int, int], object]) -> Scan:
    """Read a file into a scratch database.

    Raises:
        OSError: It cannot be read.
    """
    pages = Pages(path)
    try:
        found = Scan(pages, sql)
        found.run(progress)
    finally:
        pages.close()
    return found
