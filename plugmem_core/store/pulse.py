"""`Pulse`: notices commits to a file."""

import sqlite3


class Pulse:
    """A connection that does nothing but count the commits of others.

    SQLite lets other threads run while it looks. If they shared one connection, each recall
    would wait for the others, asleep more often than not.

    Attributes:
        opened: Which opening of the store the connection belongs to; 0 before the first.
        seen: The count that its user has taken in.
    """

    __slots__ = ("_connection", "_cursor", "opened", "seen")

    def __init__(self) -> None:
        self._connection: sqlite3.Connection | None = None
        self._cursor: sqlite3.Cursor | None = None
        self.opened = 0
        self.seen = -1

    def open(self, connection: sqlite3.Connection, opened: int) -> None:
        """Count by another connection from now on."""
        self.close()
        self._connection, self._cursor = connection, connection.cursor()
        self.opened = opened

    def count(self) -> int:
        """Return a number that changes whenever another connection has committed."""
        assert self._cursor is not None  # noqa: S101 - for the type checker; opened before
        count: int = self._cursor.execute("PRAGMA data_version").fetchone()[0]
        return count

    def close(self) -> None:
        """Let go of the file; closing twice is fine."""
        if self._connection is not None:
            self._connection.close()
