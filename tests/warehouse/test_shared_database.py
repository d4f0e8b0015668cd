"""The Postgres side of a shared store, against a scripted server and, where needed, a real one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from warehouse import WarehouseError

pytest.importorskip("psycopg", reason="the extra `shared` is not installed")
import psycopg

from warehouse.shared import database, patience
from warehouse.shared.database import Database, HeldLock, Version
from warehouse.shared.store import SharedStore

URL = "postgresql://reader:a-secret@db.example:5433/culture"
PLACE = "postgresql://reader@db.example:5433/culture"
FIRST, SECOND = Version(1, "a" * 64), Version(2, "b" * 64)


class Connection:
    """A connection that answers by the beginning of a statement; an exception is raised once."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers, self.statements, self.closed = answers, list[tuple[str, Any]](), False
        self.info = SimpleNamespace(backend_pid=7)

    def execute(self, statement: str | bytes, values: object = None) -> Any:
        text = " ".join((statement.decode() if isinstance(statement, bytes) else statement).split())
        self.statements.append((text, values))
        key = next((key for key in self.answers if text.startswith(key)), None)
        answer = self.answers[key] if key is not None else []
        if isinstance(answer, Exception):
            del self.answers[str(key)]
            raise answer
        return SimpleNamespace(
            fetchall=lambda: answer, fetchone=lambda: answer[0] if answer else None, rowcount=len(answer)
        )

    def transaction(self) -> Any:
        return database.suppress()

    def close(self) -> None:
        self.closed = True

    def values_of(self, beginning: str) -> list[Any]:
        return [values for text, values in self.statements if text.startswith(beginning)]


class Server:
    """The results of successive calls of `psycopg.connect`: connections or errors."""

    def __init__(self) -> None:
        self.results: list[Connection | Exception] = []
        self.pauses: list[float] = []
        self.options: dict[str, Any] = {}

    def connect(self, url: str, **options: Any) -> Connection:
        assert url == URL
        self.options = options
        result = self.results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    """A scripted server; no connection of another test is kept, and waits take no time."""
    script = Server()
    monkeypatch.setattr(psycopg, "connect", script.connect)
    monkeypatch.setattr(patience.time, "sleep", script.pauses.append)
    monkeypatch.setenv(patience.VARIABLE, "1.5")
    monkeypatch.setattr(database, "_idle", {})
    monkeypatch.setattr(database, "_thread", database.threading.local())
    return script


@pytest.fixture
def store(server: Server) -> Database:
    return Database(URL, "s3://bucket/parts")


def newest(*row: object) -> dict[str, Any]:
    return {"SELECT s.parts": [row]}


@pytest.mark.parametrize(
    ("url", "place"),
    [
        (URL, PLACE),
        ("postgresql://db/culture?password=a-secret", "postgresql://db/culture"),
        ("host=db dbname=culture password=a-secret", "postgresql://db/culture"),
        ("postgresql:///culture", "postgresql:///culture"),
    ],
)
def test_the_place_of_a_database_shows_no_password(url: str, place: str) -> None:
    assert Database(url, "").place == place


def test_a_wrong_address_is_refused_without_showing_its_password() -> None:
    with pytest.raises(WarehouseError, match=r"CULTUREMETER_WAREHOUSE is not a valid") as refused:
        Database("mysql://reader:a-secret@db/culture", "")
    assert "a-secret" not in str(refused.value)


@pytest.mark.parametrize(("named", "url"), [(PLACE, URL), (PLACE + "2", PLACE + "2")])
def test_a_store_named_without_a_password_gets_that_of_the_same_database_in_the_environment(
    named: str, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CULTUREMETER_WAREHOUSE", URL)
    store = SharedStore.from_command_line(tmp_path, named, "s3://bucket/parts")
    assert (store.database.url, store.root) == (url, "s3://bucket/parts")


def test_a_store_named_with_a_password_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match="set PGPASSWORD") as refused:
        SharedStore.from_command_line(tmp_path, URL, "s3://bucket/parts")
    assert "a-secret" not in str(refused.value)


def test_the_newest_version_is_read_over_a_kept_connection(server: Server, store: Database) -> None:
    server.results = [Connection(newest("s3://bucket/parts", *SECOND))]
    assert store.newest() == SECOND
    assert SECOND.name == f"00000002-{'b' * 64}.duckdb"
    assert server.options["autocommit"] is True
    kept = database._idle[os.getpid(), URL][0]
    kept.answers = newest("s3://bucket/parts", None, None)  # type: ignore[attr-defined]
    assert store.newest() is None  # over the same connection, because the scripted server has no other
    kept.answers = newest("s3://other", 1, "a")  # type: ignore[attr-defined]
    with pytest.raises(WarehouseError, match=f"parts of {PLACE} are at s3://other.*CULTUREMETER_PARTS"):
        store.newest()


def test_missing_tables_are_created_and_the_call_is_repeated(server: Server, store: Database) -> None:
    connection = Connection({"SELECT s.parts": psycopg.errors.UndefinedTable("no table")})
    made = database.Database._create

    def create(self: Database, connection: Any) -> None:
        made(self, connection)
        connection.answers = newest("s3://bucket/parts", None, None)

    server.results = [connection]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "_create", create)
        assert store.newest() is None
    texts = [text for text, _ in connection.statements]
    assert texts[1] == "SELECT pg_advisory_xact_lock(%s)"  # two machines may create the tables at once
    assert texts[2].startswith("-- The tables of a shared store")
    (row,) = connection.values_of("INSERT INTO culturemeter.store")
    assert row[1] == "s3://bucket/parts"


def test_a_call_is_repeated_on_a_new_connection_after_a_lost_one(server: Server, store: Database) -> None:
    ended = Connection({"SELECT s.parts": psycopg.OperationalError("the connection is lost")})
    others = [Connection({}) for _ in range(2)]
    database._idle[os.getpid(), URL] = [*others, ended]  # type: ignore[list-item]
    good = Connection(newest("s3://bucket/parts", *FIRST))
    server.results = [psycopg.OperationalError("the server is starting up"), good]
    assert store.newest() == FIRST
    assert ended.closed
    assert server.pauses == [0.2, 0.4]
    assert database._idle[os.getpid(), URL] == [good]  # the connections that were idle have ended too


@pytest.mark.parametrize(
    ("fault", "pauses"),
    [("the server is starting up", [0.2, 0.4, 0.8, 0.1]), ("password authentication failed: a-secret", [])],
)
def test_a_wrong_password_is_not_retried_and_a_starting_server_is(
    server: Server, store: Database, fault: str, pauses: list[float]
) -> None:
    server.results = [psycopg.OperationalError(fault) for _ in range(9)]
    message = f"{PLACE} (does not answer|returned an error).*PGPASSWORD"
    with pytest.raises(WarehouseError, match=message) as refused:
        store.newest()
    assert "a-secret" not in str(refused.value)
    assert server.pauses == pytest.approx(pauses)


def locked(store: Database, server: Server, answers: dict[str, Any] | None = None, **more: Any) -> Connection:
    """Return the connection of a lock that was held and released."""
    connection = Connection({"SELECT pg_backend_pid": [(7,)]} | (answers or {}))
    server.results = [connection]
    with store.lock("write", **more) as held:
        assert held == HeldLock(connection, 7, held.key, held.newest)  # type: ignore[arg-type]
        assert database._thread.locks == [held]
        assert not connection.closed
    return connection


def test_a_lock_has_its_own_connection_and_ends_with_it(server: Server, store: Database) -> None:
    connection = locked(store, server, patience_s=1.5)
    texts = [text for text, _ in connection.statements]
    assert "SET lock_timeout = 1500" in texts
    (key,) = connection.values_of("SELECT pg_advisory_lock")
    assert key == connection.values_of("SELECT pg_advisory_unlock")[0]
    assert 0 <= key[0] < 2**63  # a bigint
    # The key depends only on the name, on every machine.
    assert key == locked(store, server).values_of("SELECT pg_advisory_lock")[0]
    assert connection.closed
    assert database._thread.locks == []
    assert connection.statements[0][0].startswith("SELECT set_config")  # lifts the server's time limits


def test_a_held_lock_and_a_connection_pooler_are_refused(server: Server, store: Database) -> None:
    busy = {"SELECT pg_advisory_lock": psycopg.errors.LockNotAvailable("timeout")}
    with pytest.raises(WarehouseError, match=f"the lock 'write' of {PLACE} for 2 s.*pg_locks"):
        locked(store, server, busy, patience_s=2)
    with pytest.raises(WarehouseError, match=f"connection pooler answers at {PLACE}"):
        locked(store, server, {"SELECT pg_backend_pid": [(8,)]})
    assert database._thread.locks == []


def published(store: Database, server: Server, inserted: object, then: Version | None) -> list[Any]:
    """Publish the second version under two locks. then: the newest version afterwards, if it is read."""
    pid = {"SELECT pg_backend_pid": [(7,)]}
    outer, write = Connection(dict(pid)), Connection(pid | {"INSERT INTO culturemeter.published": inserted})
    server.results = [outer, write, Connection(newest("s3://bucket/parts", *(then or (None, None))))]
    with store.lock("metrics"), store.lock("write") as held:
        store.publish(held, SECOND, size=10, folded=3)
    return write.values_of("INSERT INTO culturemeter.published")


def test_publishing_checks_all_locks_of_the_thread(server: Server, store: Database) -> None:
    (values,) = published(store, server, [()], None)
    assert (values["version"], values["sha256"], values["bytes"], values["folded"]) == (2, "b" * 64, 10, 3)
    assert values["n"] == len(set(values["keys"])) == 2
    assert values["pids"] == [7, 7]


@pytest.mark.parametrize(
    ("inserted", "then"),
    [
        ([], FIRST),
        (psycopg.OperationalError("a line broke"), FIRST),
        (psycopg.OperationalError("a line broke"), None),
        (psycopg.errors.UniqueViolation("there is one"), Version(2, "c" * 64)),
    ],
)
def test_publishing_without_becoming_the_newest_is_an_error(
    server: Server, store: Database, inserted: object, then: Version | None
) -> None:
    with pytest.raises(WarehouseError, match=f"a lock at {PLACE} was lost.*Nothing was published"):
        published(store, server, inserted, then)


def test_a_connection_lost_after_publishing_is_not_a_failure(server: Server, store: Database) -> None:
    assert published(store, server, psycopg.OperationalError("a line broke"), SECOND)


def test_a_change_under_a_lock_uses_the_connection_of_the_lock_only(server: Server, store: Database) -> None:
    free, mine = Connection({}), Connection({})
    server.results = [free]
    store.change("DELETE FROM t", ["a"], None)
    held = HeldLock(mine, 7, 1)  # type: ignore[arg-type]
    store.change("DELETE FROM t", ["b"], held)
    assert (free.values_of("DELETE"), mine.values_of("DELETE")) == ([["a"]], [["b"]])
    mine.answers = {"DELETE": psycopg.OperationalError("gone")}
    with pytest.raises(WarehouseError, match="was lost during the work"):
        store.change("DELETE FROM t", ["c"], held)
    assert not server.pauses  # never on another connection


@pytest.mark.slow
def test_a_real_server_publishes_versions_in_order_and_forgets_old_ones(postgres_url: str) -> None:
    store = Database(postgres_url, "s3://bucket/parts")
    assert store.newest() is None  # this call creates the tables
    with store.lock("write") as held:
        store.publish(held, FIRST, 10, 5)
        store.publish(held, SECOND, 10, 2)
        for version in (SECOND, Version(4, "c" * 64)):
            with pytest.raises(WarehouseError, match="another writer has published"):
                store.publish(held, version, 10, 5)
    assert store.newest() == SECOND
    with pytest.raises(WarehouseError, match="CULTUREMETER_PARTS"):
        Database(postgres_url, "s3://other").newest()

    def of(sql: str) -> Callable[[Any], Any]:
        return lambda connection: connection.execute(sql).fetchall()

    folded = "SELECT folded FROM culturemeter.published ORDER BY version"
    assert store.call(of(folded)) == [(5,), (5,)]  # the number never decreases
    assert store.replaced() == []
    aged = "UPDATE culturemeter.published SET published_at = published_at - interval '11 minutes'"
    store.call(of(f"{aged} RETURNING 1"))
    assert store.replaced() == [FIRST]
    store.forget([FIRST])
    assert store.call(of("SELECT version FROM culturemeter.published")) == [(2,)]


@pytest.mark.slow
def test_a_real_server_gives_a_lock_to_one_holder_at_a_time(postgres_url: str) -> None:
    store = Database(postgres_url, "")
    held = pytest.raises(WarehouseError, match="the lock 'a'")
    with store.lock("a"), store.lock("b"), held, store.lock("a", patience_s=0.05):
        pass
    with store.lock("a", patience_s=0.05):
        pass
