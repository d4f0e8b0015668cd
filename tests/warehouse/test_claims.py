"""Units that several machines want are claimed before they are sent, and free again after a kill."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from pathlib import Path

import pytest

from tests.warehouse.rows import logprobs
from warehouse import Warehouse, claims, write_part
from warehouse.claims import claimed

pytest.importorskip("psycopg", reason="the extra `shared` is not installed")
from warehouse.shared.store import SharedStore
from warehouse.shared.tables import PostgresLeases

KIND = "item_logprob"
FR, IT, JP = ("q1", "FR"), ("q1", "IT"), ("q1", "JP")


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Name the machine that this thread is."""
    here = threading.local()
    monkeypatch.setattr(claims, "holder", lambda: here.name)
    return lambda name: setattr(here, "name", name)


def answered(warehouse: Warehouse, share: Collection[tuple[str, str]]) -> None:
    codes = " ".join(sorted(unit for _, unit in share))
    warehouse.register(write_part(warehouse.store, KIND, codes.replace(" ", "-"), logprobs(codes, "q1")))


def test_a_local_store_gives_all_units_at_once(warehouse: Warehouse) -> None:
    assert list(claimed(warehouse, KIND, [FR, IT])) == [[FR, IT]]


@pytest.mark.slow
def test_two_machines_complete_each_unit_once(
    shared: Warehouse, names: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    names("first")
    first = claimed(shared, KIND, [FR, IT])
    assert next(first) == [FR, IT]
    names("second")
    second = claimed(shared, KIND, [IT, JP])
    assert next(second) == [JP], "the other machine has IT"
    answered(shared, [JP])

    def meanwhile(seconds: float) -> None:
        """Let the first machine end while the second waits."""
        answered(shared, [FR, IT])

    monkeypatch.setattr(claims.time, "sleep", meanwhile)
    assert list(second) == [], "IT is answered, and not asked again"
    assert shared.query("SELECT count(*) FROM part_unit").item() == 3
    names("first")
    assert list(first) == []


@pytest.mark.slow
def test_leases_of_a_killed_machine_expire(
    shared: Warehouse, names: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    leases = shared.store.leases
    assert isinstance(leases, PostgresLeases)
    assert leases.take([FR, IT], "killed", -1) == {FR, IT}, "it has run out a second ago"
    names("next")
    monkeypatch.setattr(claims, "LEASE_S", -0.5)  # and the server has not just started
    assert leases.take([FR], "next", -0.5) == {FR}
    assert leases.take([FR], "third", 3600) == set(), "a server that has just started waits for all holders"
    assert leases.take([JP], "third", 60) == {JP}
    assert leases.take([JP], "next", 60) == set()
    leases.renew("third", 60)
    leases.release([JP], "next")
    assert leases.take([JP], "next", 60) == set(), "nobody gives free what another has"
    leases.release([JP], "third")
    assert leases.take([JP], "next", 60) == {JP}


@pytest.mark.slow
def test_a_failure_releases_its_units_at_once(shared: Warehouse, names: Callable[[str], None]) -> None:
    names("first")
    share = claimed(shared, KIND, [FR])
    assert next(share) == [FR]
    share.close()  # as an error in the loop over the share does
    names("second")
    assert next(claimed(shared, KIND, [FR])) == [FR]


@pytest.mark.slow
def test_a_store_without_the_lease_table_gets_it(shared: Warehouse, tmp_path: Path) -> None:
    store = shared.store
    assert isinstance(store, SharedStore)
    store.database.call(lambda connection: connection.execute("DROP TABLE culturemeter.lease"))
    assert store.leases.take([FR], "first", 60) == {FR}
