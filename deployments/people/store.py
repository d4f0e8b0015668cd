"""People and their answers in SQLite: one row per saved revision, committed before it is acknowledged.

Tokens are stored only as SHA-256. Addresses and user agents are never stored.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tasks.people.study import Entry, Role, Value, make_private

FILE = "answers.sqlite"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS person (
    annotator TEXT PRIMARY KEY, role TEXT NOT NULL, language TEXT NOT NULL, link TEXT UNIQUE,
    session TEXT UNIQUE, csrf TEXT, prolific TEXT UNIQUE, consented TEXT, finished TEXT, withdrawn TEXT
) STRICT;
CREATE TABLE IF NOT EXISTS opened (
    annotator TEXT NOT NULL, item TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (annotator, item)
) STRICT;
CREATE TABLE IF NOT EXISTS answer (
    annotator TEXT NOT NULL, item TEXT NOT NULL, field TEXT NOT NULL, revision INTEGER NOT NULL,
    value TEXT NOT NULL, status TEXT NOT NULL, saved TEXT NOT NULL,
    PRIMARY KEY (annotator, item, field, revision)
) STRICT;
CREATE TABLE IF NOT EXISTS given (
    annotator TEXT NOT NULL, item TEXT NOT NULL, content TEXT NOT NULL, PRIMARY KEY (annotator, item)
) STRICT;
"""


@dataclass(frozen=True)
class Who:
    """The person of a session."""

    annotator: str
    role: Role
    language: str
    csrf: str
    consented: str | None
    finished: str | None
    withdrawn: str | None


@dataclass(frozen=True)
class Saved:
    """The last revision of one field."""

    value: Value
    status: str
    revision: int


class StudyStore:
    """The database of one study; safe to share among threads."""

    def __init__(self, folder: Path) -> None:
        """Open the database; create it if there is none."""
        self._lock, self._reading = threading.Lock(), threading.Lock()
        make_private(folder / FILE)  # SQLite gives its journal files the same mode
        self._connection, self._reader = (
            sqlite3.connect(folder / FILE, check_same_thread=False, isolation_level=None) for _ in range(2)
        )
        self._connection.row_factory = self._reader.row_factory = sqlite3.Row
        # FULL: a commit is on the disk, whatever happens to the machine.
        for pragma in (
            "journal_mode = WAL",
            "synchronous = FULL",
            "secure_delete = ON",
            "busy_timeout = 10000",
        ):
            self._connection.execute(f"PRAGMA {pragma}")
        self._reader.execute("PRAGMA busy_timeout = 10000")
        self._connection.executescript(_SCHEMA)

    def close(self) -> None:
        self._reader.close()
        self._connection.close()

    def invite(self, annotator: str, role: Role, language: str) -> str:
        """Return a new one-time token for a person. It voids their earlier token and their session."""
        token = secrets.token_urlsafe(24)
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO person (annotator, role, language, link) VALUES (?, ?, ?, ?) ON CONFLICT "
                "(annotator) DO UPDATE SET link = excluded.link, session = NULL, csrf = NULL",
                (annotator, role, language, _hash(token)),
            )
        return token

    def enter(self, token: str) -> str | None:
        """Exchange a one-time token for a session's secret; None if the token is not valid."""
        return self._new_session("link = ?", (_hash(token),))

    def enter_prolific(self, participant: str, language: str) -> str | None:
        """Return a session for a participant from Prolific, who takes a free place; None if no place is free.

        A participant who came before gets None too: their browser holds their session, and an identifier in
        an address is no password.
        """
        free = (
            "annotator = (SELECT annotator FROM person WHERE session IS NULL AND prolific IS NULL AND role = "
            "'annotator' AND withdrawn IS NULL AND language = ? ORDER BY annotator LIMIT 1) "
            "AND NOT EXISTS (SELECT 1 FROM person WHERE prolific = ?)"
        )
        return self._new_session(free, (language, participant), participant)

    def who(self, session: str) -> Who | None:
        """Return the person of a session; None if it is unknown or has ended."""
        row = self._one(
            "SELECT annotator, role, language, csrf, consented, finished, withdrawn FROM person "
            "WHERE session = ?",
            (_hash(session),),
        )
        return None if row is None else Who(**row)

    def mark(self, annotator: str, what: str) -> None:
        """Store the time of "consented" or "finished", once."""
        if what not in ("consented", "finished"):
            raise ValueError(f"unknown step {what!r}; known: consented, finished")
        with self._transaction() as connection:
            connection.execute(
                f"UPDATE person SET {what} = ? WHERE annotator = ? AND {what} IS NULL", (_now(), annotator)
            )

    def open_page(self, annotator: str, item: str) -> None:
        """Store when a page was first opened."""
        with self._transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO opened VALUES (?, ?, ?)", (annotator, item, _now()))

    def save(self, annotator: str, item: str, field: str, entry: Entry) -> int:
        """Store a revision on disk and return its number. An unchanged value makes no new revision.

        Raises:
            PermissionError: the person has not consented, or has withdrawn.
        """
        value = json.dumps(entry.value, ensure_ascii=False)
        status = "complete" if entry.is_complete else "draft"
        with self._transaction() as connection:
            allowed = connection.execute(
                "SELECT 1 FROM person WHERE annotator = ? AND consented IS NOT NULL AND withdrawn IS NULL",
                (annotator,),
            ).fetchone()
            if allowed is None:
                raise PermissionError(f"{annotator} takes no part")
            last = connection.execute(
                "SELECT revision, value, status FROM answer WHERE annotator = ? AND item = ? AND field = ? "
                "ORDER BY revision DESC LIMIT 1",
                (annotator, item, field),
            ).fetchone()
            if last is not None and (last["value"], last["status"]) == (value, status):
                return int(last["revision"])
            revision = 1 if last is None else int(last["revision"]) + 1
            connection.execute("INSERT OR IGNORE INTO opened VALUES (?, ?, ?)", (annotator, item, _now()))
            connection.execute(
                "INSERT INTO answer VALUES (?, ?, ?, ?, ?, ?, ?)",
                (annotator, item, field, revision, value, status, _now()),
            )
        return revision

    def give(self, annotator: str, item: str, content: dict[str, str]) -> None:
        """Store texts that an interviewer drafted, as content of an item for one person."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO given VALUES (?, ?, ?)", (annotator, item, json.dumps(content))
            )

    def given(self, annotator: str, item: str) -> dict[str, str]:
        """Return the content that ``give`` stored; empty if there is none."""
        row = self._one("SELECT content FROM given WHERE annotator = ? AND item = ?", (annotator, item))
        return {} if row is None else dict(json.loads(row["content"]))

    def saved(self, annotator: str) -> dict[tuple[str, str], Saved]:
        """Return a person's last revisions: (item, field) -> revision."""
        rows = self._all(
            "SELECT item, field, value, status, max(revision) AS revision FROM answer WHERE annotator = ? "
            "GROUP BY item, field",
            (annotator,),
        )
        return {
            (r["item"], r["field"]): Saved(json.loads(r["value"]), r["status"], r["revision"]) for r in rows
        }

    def choices(self, item: str, field: str) -> dict[str, tuple[str, str]]:
        """Return each person's last complete text for a field, and the time of their first one."""
        rows = self._all(
            "SELECT annotator, value, saved FROM answer WHERE item = ? AND field = ? AND status = 'complete' "
            "ORDER BY revision",
            (item, field),
        )
        first: dict[str, str] = {}
        for row in rows:
            first.setdefault(row["annotator"], row["saved"])
        return {row["annotator"]: (str(json.loads(row["value"])), first[row["annotator"]]) for row in rows}

    def release(self, annotator: str) -> None:
        """Delete everything of a person who was turned away, so that the next person may take the code."""
        self._forget(
            annotator, "session = NULL, csrf = NULL, prolific = NULL, consented = NULL, finished = NULL"
        )

    def withdraw(self, annotator: str) -> None:
        """Delete a person's answers and identifying data; keep the fact that they withdrew."""
        self._forget(annotator, "withdrawn = ?, prolific = NULL, link = NULL, finished = NULL", _now())

    def _forget(self, annotator: str, changes: str, *values: str) -> None:
        """Delete a person's answers, also from the log, and apply SQL assignments to their row."""
        with self._transaction() as connection:
            for table in ("answer", "opened", "given"):
                connection.execute(f"DELETE FROM {table} WHERE annotator = ?", (annotator,))
            connection.execute(f"UPDATE person SET {changes} WHERE annotator = ?", (*values, annotator))
        with self._lock:
            # The write-ahead log still holds the deleted rows.
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def people(self) -> list[dict[str, Any]]:
        """Return everyone by code: role, language, whether they entered, number of complete fields."""
        return [
            dict(row)
            for row in self._all(
                "SELECT annotator, role, language, session IS NOT NULL AS entered, consented, finished, "
                "withdrawn, (SELECT count(*) FROM (SELECT status, max(revision) FROM answer AS a WHERE "
                "a.annotator = p.annotator GROUP BY item, field) WHERE status = 'complete') AS n_complete "
                "FROM person AS p ORDER BY annotator",
                (),
            )
        ]

    def revisions(self) -> Iterator[dict[str, Any]]:
        """Yield every revision of everyone, with the time at which its page was first opened."""
        for row in self._all(
            "SELECT a.*, o.at AS started FROM answer AS a JOIN opened AS o USING (annotator, item) "
            "ORDER BY annotator, item, field, revision",
            (),
        ):
            yield {**row, "value": json.loads(row["value"])}

    def _new_session(self, where: str, values: Sequence[str], prolific: str | None = None) -> str | None:
        session = secrets.token_urlsafe(32)
        with self._transaction() as connection:
            changed = connection.execute(
                "UPDATE person SET session = ?, csrf = ?, link = NULL, prolific = coalesce(?, prolific) "
                f"WHERE {where}",
                (_hash(session), secrets.token_urlsafe(24), prolific, *values),
            ).rowcount
        return session if changed else None

    def _one(self, sql: str, values: Sequence[str]) -> sqlite3.Row | None:
        rows = self._all(sql, values)
        return rows[0] if rows else None

    def _all(self, sql: str, values: Sequence[str]) -> list[sqlite3.Row]:
        # Readers use a separate connection, so that they need not wait for writes to reach the disk.
        with self._reading:
            return self._reader.execute(sql, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction that is committed when the block ends; other processes wait for it."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")


def _hash(secret: str) -> str:
    # Tokens have at least 192 random bits, so they need no salt and no slow hash.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
