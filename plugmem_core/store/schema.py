"""The schema, its version, and the way from older versions to it."""

import sqlite3
from uuid import uuid4

from plugmem_core.errors import CorruptError, StorageError

APPLICATION_ID = 0x504D454D  # "PMEM", in SQLite's header of the file
SCHEMA_VERSION = 6

ANALYZER = "english"
"""The analyser of a new file."""

SCHEMA = f"""
CREATE TABLE state (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    uuid TEXT NOT NULL,
    change INTEGER NOT NULL,        -- of the last transaction
    next_fact INTEGER NOT NULL,     -- ids are given once, also after a purge
    next_entity INTEGER NOT NULL,
    next_edge INTEGER NOT NULL,
    dim INTEGER NOT NULL,           -- of every vector; 0 until the first one
    space TEXT,                     -- the embedder that made them, if one did
    checkpoint TEXT,                -- token of the index checkpoint that belongs to this file
    -- how words are brought together
    analyzer TEXT NOT NULL DEFAULT '{ANALYZER}'
);
CREATE TABLE namespaces (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE
);
CREATE TABLE entities (
    id INTEGER PRIMARY KEY,
    namespace INTEGER NOT NULL REFERENCES namespaces (id),
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    seen INTEGER NOT NULL,
    change INTEGER NOT NULL,
    UNIQUE (namespace, key)
);
CREATE INDEX entities_change ON entities (change);
CREATE INDEX entities_key ON entities (key);
CREATE TABLE aliases (
    namespace INTEGER NOT NULL REFERENCES namespaces (id),
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    entity INTEGER NOT NULL REFERENCES entities (id),
    change INTEGER NOT NULL,
    PRIMARY KEY (namespace, key)
) WITHOUT ROWID;
CREATE TABLE relations (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    rank INTEGER NOT NULL,
    change INTEGER NOT NULL
);
CREATE TABLE facts (
    id INTEGER PRIMARY KEY,
    namespace INTEGER NOT NULL REFERENCES namespaces (id),
    key TEXT,
    entity INTEGER REFERENCES entities (id),
    text TEXT NOT NULL,
    tags TEXT,
    metadata TEXT,
    recorded_at INTEGER NOT NULL,
    valid_from INTEGER NOT NULL,
    valid_to INTEGER,
    closed_at INTEGER,
    expires_at INTEGER,
    revises INTEGER,
    forgotten_at INTEGER,
    digest INTEGER NOT NULL,
    vector INTEGER NOT NULL,
    change INTEGER NOT NULL,
    mentions TEXT,
    CHECK ((valid_to IS NULL) = (closed_at IS NULL))
);
CREATE INDEX facts_change ON facts (change);
CREATE UNIQUE INDEX facts_key ON facts (namespace, key)
    WHERE key IS NOT NULL AND valid_to IS NULL AND forgotten_at IS NULL;
CREATE INDEX facts_keyed ON facts (key) WHERE key IS NOT NULL;
CREATE INDEX facts_digest ON facts (digest);
CREATE UNIQUE INDEX facts_revises ON facts (revises) WHERE revises IS NOT NULL;
CREATE INDEX facts_pending ON facts (id) WHERE vector = 2;
CREATE INDEX facts_expiring ON facts (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX facts_forgotten ON facts (id) WHERE forgotten_at IS NOT NULL;
CREATE TABLE vectors (
    fact INTEGER PRIMARY KEY REFERENCES facts (id),
    data BLOB NOT NULL                -- little-endian float32
);
CREATE TABLE staged (
    fact INTEGER NOT NULL REFERENCES facts (id),
    space TEXT NOT NULL,            -- the embedder that made it; see staging.py
    data BLOB,                      -- as in vectors; null for a text without direction
    PRIMARY KEY (fact, space)
);
CREATE TABLE edges (
    id INTEGER PRIMARY KEY,
    namespace INTEGER NOT NULL REFERENCES namespaces (id),
    src INTEGER NOT NULL REFERENCES entities (id),
    relation INTEGER NOT NULL REFERENCES relations (id),
    dst INTEGER NOT NULL REFERENCES entities (id),
    provenance INTEGER,
    properties TEXT,
    recorded_at INTEGER NOT NULL,
    valid_from INTEGER NOT NULL,
    valid_to INTEGER,
    closed_at INTEGER,
    change INTEGER NOT NULL,
    CHECK ((valid_to IS NULL) = (closed_at IS NULL))
);
CREATE INDEX edges_change ON edges (change);
CREATE UNIQUE INDEX edges_open ON edges (src, relation, dst) WHERE valid_to IS NULL;
CREATE INDEX edges_properties ON edges (id) WHERE properties IS NOT NULL;
CREATE INDEX edges_src ON edges (src);
CREATE INDEX edges_dst ON edges (dst);
CREATE TABLE purges (
    fact INTEGER PRIMARY KEY,
    change INTEGER NOT NULL
);
CREATE INDEX purges_change ON purges (change);
CREATE TABLE kv (
    id INTEGER PRIMARY KEY,         -- in the order of first insertion
    namespace INTEGER NOT NULL REFERENCES namespaces (id),
    collection TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (namespace, collection, key)
);
INSERT INTO namespaces (id, path) VALUES (0, '[]');
"""

MIGRATIONS = {
    1: """
DROP INDEX facts_digest;
CREATE INDEX facts_digest ON facts (digest);
""",
    2: """
CREATE TABLE kv (
    id INTEGER PRIMARY KEY,         -- in the order of first insertion
    namespace INTEGER NOT NULL REFERENCES namespaces (id),
    collection TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (namespace, collection, key)
);
""",
    3: f"ALTER TABLE state ADD COLUMN analyzer TEXT NOT NULL DEFAULT '{ANALYZER}';",
    4: "ALTER TABLE facts ADD COLUMN mentions TEXT;",
    # Where an embedder made vectors, most facts without one were to have none.
    5: """
CREATE TABLE staged (
    fact INTEGER NOT NULL REFERENCES facts (id),
    space TEXT NOT NULL,            -- the embedder that made it; see staging.py
    data BLOB,                      -- as in vectors; null for a text without direction
    PRIMARY KEY (fact, space)
);
UPDATE facts SET vector = 3 WHERE vector = 0 AND (SELECT space FROM state) IS NOT NULL;
""",
}
"""Statements that lead from a version to the next, by the version they start from."""


def prepare(connection: sqlite3.Connection, *, read_only: bool) -> None:
    """Make a new file a memory, or bring an older one to the current schema.

    Raises:
        StorageError: The file belongs to another application or a newer version.
        CorruptError: It is not a SQLite database, or has a version that never was.
    """
    if _identity(connection) == (APPLICATION_ID, SCHEMA_VERSION):
        return
    if read_only:
        _refuse_unless_ours(connection)
        raise StorageError(
            "the file is of an older version; open it once for writing to upgrade it"
        )
    connection.execute("BEGIN IMMEDIATE")
    try:
        _create_or_migrate(connection)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _create_or_migrate(connection: sqlite3.Connection) -> None:
    # Looked at again under the lock: another process may have been faster.
    application, version = _identity(connection)
    if application == 0 and version == 0 and _is_empty(connection):
        _run_script(connection, SCHEMA)
        connection.execute(
            "INSERT INTO state VALUES (1, ?, 0, 0, 0, 0, 0, NULL, NULL, ?)",
            (uuid4().hex, ANALYZER),
        )
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        return
    _refuse_unless_ours(connection)
    while version < SCHEMA_VERSION:
        _run_script(connection, MIGRATIONS[version])
        version += 1
        connection.execute(f"PRAGMA user_version = {version}")


def _refuse_unless_ours(connection: sqlite3.Connection) -> None:
    application, version = _identity(connection)
    if application != APPLICATION_ID:
        raise StorageError(
            "the file is a SQLite database of another application; give another path"
        )
    if version > SCHEMA_VERSION:
        raise StorageError(
            f"the file has schema version {version}, this package knows {SCHEMA_VERSION}; "
            "upgrade the package"
        )
    if version < 1:
        raise CorruptError(f"the file has schema version {version}, which no package ever wrote")


def _identity(connection: sqlite3.Connection) -> tuple[int, int]:
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise
        raise CorruptError(f"the file is not a memory: {error}") from error
    return application, version


def _is_empty(connection: sqlite3.Connection) -> bool:
    (objects,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return bool(objects == 0)


def _run_script(connection: sqlite3.Connection, script: str) -> None:
    # executescript() would commit the open transaction first.
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""
